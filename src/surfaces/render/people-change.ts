/** A change to people in words, for the log, for notifications, and for the person whose keys have changed. */
import { isJsonArray, type Json, type JsonObject } from "../../util/index.ts";

/** A log entry. Names and ids are raw: neutralize the words for a terminal. */
export interface PeopleChange {
  /** A code, such as `key_added`. */
  readonly what: string;
  readonly by: JsonObject;
}

type Change = PeopleChange & JsonObject;

/** Such as `passkey aBcDeFgH added at the desk by ada, allowed by a link`. Unknown codes are kept. */
export function describePeopleChange(change: PeopleChange): string {
  const [done, more = ""] = wordsOf(change as Change); // It may have more fields.
  return `${done}${describeActor(change.by)}${more}`;
}

/** The words before and after the actor. */
function wordsOf(change: Change): readonly [done: string, more?: string] {
  const { what, to, until, key, replaced } = change;
  switch (what) {
    case "person_added":
      return ["added", settingsOf(change)];
    case "person_changed":
      return ["changed", settingsOf(change)];
    case "person_confirmed":
      return ["confirmed"];
    case "person_removed":
      return ["removed"];
    case "person_away":
      return [`${textOf(to)} stands in until ${textOf(until)}, set`];
    case "person_back":
      return ["set as back"];
    case "token_renewed":
      return ["token renewed"];
    case "link_created":
      return ["passkey link made"];
    case "key_added":
      return [`${describeKey(change, key)} added`, allowanceOf(change)];
    case "key_replaced":
      return [
        `${describeKey(change, replaced)} replaced by ${shortKey(textOf(key))}`,
        allowanceOf(change),
      ];
    case "key_removed":
      return [`${describeKey(change, key)} removed`, allowanceOf(change)];
    default:
      return [what];
  }
}

function describeActor({ channel, os_user: user, name }: JsonObject): string {
  if (channel === "cli") return ` on the command line by ${textOf(user)}`;
  return channel === "desk" ? ` at the desk by ${textOf(name)}` : "";
}

function settingsOf({ rights, roles, os_user: user }: Change): string {
  const facts = [
    ...(rights === undefined ? [] : [listOf(rights)]),
    ...(roles === undefined ? [] : [`roles: ${listOf(roles) || "none"}`]),
    ...(user === undefined ? [] : [`OS user: ${textOf(user) || "none"}`]),
  ];
  return facts.length === 0 ? "" : ` (${facts.join("; ")})`;
}

function describeKey({ key_type: type }: Change, key: Json | undefined): string {
  return `${type === "passkey" ? "passkey" : "key"} ${shortKey(textOf(key))}`;
}

function allowanceOf({ allowed_by: by }: Change): string {
  if (by === undefined) return "";
  return by === "link" ? ", allowed by a link" : `, signed by passkey ${shortKey(textOf(by))}`;
}

/** Enough of a key's id to tell a person's keys apart. */
export function shortKey(id: string): string {
  return id.replace(/^SHA256:/, "").slice(0, 8);
}

function textOf(json: Json | undefined): string {
  return typeof json === "string" ? json : "";
}

function listOf(json: Json): string {
  return isJsonArray(json) ? json.map(textOf).join(", ") : "";
}
