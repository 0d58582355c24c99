/** Compares links with the events that they commit to, where an export has both: what was judged is what was done. */
import {
  CHAIN_VERSION,
  type ChainLink,
  ChoiceKeys,
  linkContentOf,
  StreamEntry,
  versionOf,
} from "../record/conversation/index.ts";
import { canonicalJson, type JsonObject } from "../util/index.ts";
import { type Content, findObject, findText } from "./statement.ts";

/** What decisions are judged by. Whatever else a link says, a newer version may read otherwise. */
const JUDGED = [
  "type",
  "at",
  "id",
  "call",
  "action",
  "for",
  "for_any",
  "terms",
  "person_ids",
  "takes",
  "deadline",
  "answer_type",
  "allows_note",
  "shown",
  "decision",
  "by",
  "decided",
  "choice",
  "signature",
  "result",
  "note",
  "grant",
] as const;

/** Takes the contents of one conversation, in the order of its record. */
export class LinkComparison {
  /** By what they are about. */
  readonly #shown = new Map<unknown, { readonly link: ChainLink; readonly salt: string }[]>();

  /** Links of another version say something else, and are not compared. */
  isSame(link: ChainLink, { event, salt }: Content): boolean {
    const content = linkContentOf(StreamEntry.fromJson(event), this.#keysOf(link));
    for (const about of aboutOf(link)) {
      const others = this.#shown.get(about);
      if (others === undefined) this.#shown.set(about, [{ link, salt }]);
      else others.push({ link, salt });
    }
    if (versionOf(link) !== CHAIN_VERSION) return true;
    return JUDGED.every(
      (name) =>
        isUnknown(name, content) ||
        canonicalJson(link.json[name] ?? null) === canonicalJson(content[name] ?? null),
    );
  }

  /** A chain that was cut and made again has several links about one event. The salts of those before this one count. */
  #keysOf(link: ChainLink): ChoiceKeys {
    const keys = new ChoiceKeys();
    for (const { link: other, salt } of aboutOf(link).flatMap(
      (about) => this.#shown.get(about) ?? [],
    )) {
      if (other.seq < link.seq) keys.add(other.json, salt);
    }
    return keys;
  }
}

function aboutOf({ json }: ChainLink): readonly string[] {
  return [`id ${findText(json, "id")}`, `call ${findText(json, "call")}`];
}

/** What a newer version has recorded may mean more to whoever made the link. A choice needs the salt of what was asked. */
function isUnknown(name: string, content: JsonObject): boolean {
  if (name === "choice") return content["choice"] === undefined;
  if (name === "terms") return findObject(content, "terms")?.["unknown"] === true;
  return name === "by" && findObject(content, "by")?.["kind"] === "unknown";
}
