/**
 * Compares links with the events that they commit to, if an export has both: the judged decision must be the recorded
 * one.
 */
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

/** The fields that decisions are judged by. A newer version may read other fields differently. */
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

/** Takes one conversation's contents in recorded order. */
export class LinkComparison {
  /** Keyed by subject. */
  readonly #shown = new Map<unknown, { readonly link: ChainLink; readonly salt: string }[]>();

  /** Links of other versions have different content, and are not compared. */
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

  /** A chain that was cut and rebuilt has several links per event. Only the salts of earlier links count. */
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

/** The link's maker may know more about values from a newer version. A choice needs the request's salt. */
function isUnknown(name: string, content: JsonObject): boolean {
  if (name === "choice") return content["choice"] === undefined;
  if (name === "terms") return findObject(content, "terms")?.["unknown"] === true;
  return name === "by" && findObject(content, "by")?.["kind"] === "unknown";
}
