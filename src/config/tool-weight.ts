/**
 * What a workspace says of a tool that matters to whoever is to trust it: by what it runs, does more or asks
 * less than the person's own config lets it.
 */
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";

/** By these nothing more is run, reached or allowed. */
const DESCRIBING = new Set([
  "enable",
  "group",
  "summary",
  "description",
  "examples",
  "cancellation_response",
  "timeout_secs",
  "style",
]);

/** What else is known of a tool that a workspace says something of. */
export interface ToolBackground {
  /** What holds for it without the workspace, with what all tools have in common. */
  readonly own: JsonObject;
  /** Whether the person's own config says something of this key, be it what would hold anyway. */
  readonly isSetByPerson: (key: string) => boolean;
  /** It comes with jp and only reads: a workspace may say how, where the person has not. */
  readonly isReadOnly: boolean;
}

/** All of a tool that is the workspace's own. Of others, what loosens them. */
export function toolWeight(said: JsonObject, background: ToolBackground): JsonObject {
  const { own, isReadOnly, isSetByPerson } = background;
  const isAnother = ["source", "command"].some(
    (key) => said[key] !== undefined && !isDeepStrictEqual(said[key], own[key]),
  );
  if (isAnother) return { ...pick(said, (key) => !DESCRIBING.has(key)), ...formatter(said) };
  const loosened = loosening(said, background);
  const counting = isReadOnly ? pick(loosened, isSetByPerson) : loosened;
  return { ...counting, ...formatter(said) };
}

/** What holds for a tool: each key its own, else what all tools have in common. */
export function policyOf(common: JsonObject, entry: JsonObject): JsonObject {
  const fields = (key: string) => ({ ...tableIn(common, key), ...tableIn(entry, key) });
  return { ...common, ...entry, enable: fields("enable"), detached: fields("detached") };
}

/** Whether what all tools have in common says something of this tool, in a part that is claimed. */
export function isLeftToCommon(entry: JsonObject, key: string, claimed: Json): boolean {
  const said = entry[key];
  if (said === undefined) return true;
  if (!isJsonObject(said) || !isJsonObject(claimed)) return false;
  return Object.keys(claimed).some((field) => said[field] === undefined);
}

/** A command that shows arguments is a command. */
function formatter(said: JsonObject): JsonObject {
  const { parameters } = tableIn(said, "style");
  return isJsonObject(parameters) ? { style: { parameters } } : {};
}

function loosening(said: JsonObject, background: ToolBackground): JsonObject {
  const { own } = background;
  const { run, result, format, enable, group, options, parameters, access } = said;
  const ownFormat = own["format"] ?? (own["run"] === "unattended" ? "unattended" : "ask");
  const detached = pick(tableIn(said, "detached"), (prompt, mode) =>
    isLooser(DETACHED, mode, tableIn(own, "detached")[prompt]),
  );
  const questions = Object.entries(tableIn(said, "questions"))
    .map(([id, question]) => [id, withoutStricter(question)] as const)
    .filter(([, question]) => Object.keys(question).length > 0);
  return {
    ...(isLooser(PROMPTS, run, own["run"]) && { run }),
    ...(isLooser(PROMPTS, result, own["result"]) && { result }),
    ...(isLooser(PROMPTS, format, ownFormat) && { format }),
    ...(Object.keys(detached).length > 0 && { detached }),
    ...(questions.length > 0 && { questions: Object.fromEntries(questions) }),
    ...(isJsonObject(enable) && isEnabling(enable, background) && { enable }),
    // The group is what the person switches on by its name.
    ...(group !== undefined && group !== own["group"] && { group }),
    ...(options !== undefined && { options }),
    ...(parameters !== undefined && { parameters }),
    ...(access !== undefined && { access }),
  };
}

/** From the strictest to the loosest. */
const PROMPTS = [["skip"], ["ask", "edit"], ["unattended"]];
const DETACHED = [["deny"], ["defer"], ["defaults"], ["auto"]];
const TOGGLES = [["never"], ["if_named"], ["if_named_or_group"], ["any"]];

/** A value of which nothing is known is looser than any. */
function isLooser(
  order: readonly (readonly string[])[],
  said: Json | undefined,
  own: Json | undefined,
): said is Json {
  const rank = (value: Json | undefined, unknown: number) => {
    const found = order.findIndex((values) => values.some((one) => one === value));
    return found === -1 ? unknown : found;
  };
  return said !== undefined && rank(said, order.length) > rank(own, -1);
}

/** It would be on, or stay on where the person switches it off. */
function isEnabling(enable: JsonObject, { own, isSetByPerson }: ToolBackground): boolean {
  const { state: wasOn, allow_toggle: before } = tableIn(own, "enable");
  const { state: isOn = wasOn, allow_toggle: after = before } = enable;
  if (isOn === true && wasOn !== true) return true;
  // What is on can be locked on, and what is off can be unlocked.
  return isOn === true
    ? isLooser(TOGGLES, before, after)
    : isLooser(TOGGLES, after, before) && isSetByPerson("enable");
}

/** To have a person asked, and nobody but a person, makes a question stricter. */
function withoutStricter(question: Json): JsonObject {
  if (!isJsonObject(question)) return {};
  return pick(question, (key, value) => {
    if (key === "target") return !(isJsonObject(value) && value["type"] === "user");
    return !(key === "exclusive" && value === true);
  });
}

function pick(entry: JsonObject, isWanted: (key: string, value: Json) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([key, value]) => isWanted(key, value)));
}

function tableIn(entry: JsonObject, key: string): JsonObject {
  const table = Object.hasOwn(entry, key) ? entry[key] : undefined;
  return isJsonObject(table) ? table : {};
}
