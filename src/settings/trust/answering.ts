/** Finds out who may answer or decide for the user: models, and people by name. */
import { parseToolSource } from "../config/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import type { Facts } from "./trust-rules.ts";
import { tableAt, toolPolicy, TOOLS, type Views, withOffered } from "./views.ts";

export const ALIASES = ["providers", "llm", "aliases"];
export const ASSISTANTS = [["assistant"], ["conversation", "inquiry", "assistant"]];

/** Each fact is found when a rule first asks for it. */
export function factsOf(views: Views): Facts {
  const mayModelAnswer = once(() => isModelAllowed(views));
  const aliases = once(() => usedAliases(views));
  return {
    mayModelAnswer,
    isPersonNamed: once(() => namesPerson(views)),
    isAliasUsed: (name) => mayModelAnswer() && aliases().has(name),
  };
}

function once<Value>(find: () => Value): () => Value {
  let found: { readonly value: Value } | undefined;
  return () => (found ??= { value: find() }).value;
}

/** Whether a model may answer a question of a tool that does not come with the workspace. */
function isModelAllowed({ own, inForce }: Views): boolean {
  const { "*": _defaults, ...tools } = tableAt(withOffered(own), TOOLS);
  return Object.entries(tools).some(([name, tool]) => {
    if (!isJsonObject(tool) || typeof tool["source"] !== "string") return false;
    const isShipped = parseToolSource(tool["source"]).type === "builtin";
    return [own, inForce].some((view) => {
      const entry = name === "" ? {} : tableAt(view, [...TOOLS, name]);
      return isAnsweredByModel(toolPolicy(tableAt(view, [...TOOLS, "*"]), entry), isShipped);
    });
  });
}

/** Questions of tools that ship with jp are for a person, unless config says otherwise. */
function isAnsweredByModel(policy: JsonObject, isShipped: boolean): boolean {
  const isNamed = Object.values(tableAt(policy, ["questions"])).some(isForModel);
  return isNamed || (!isShipped && tableAt(policy, ["detached"])["tool"] === "auto");
}

/** Whether a model may answer the question, perhaps after everyone else missed the deadline. */
export function isForModel(question: Json): boolean {
  if (!isJsonObject(question)) return false;
  const { type, lastly } = tableAt(question, ["target"]);
  return type === "assistant" || lastly !== undefined || question["exclusive"] === false;
}

/** Includes names that only the workspace defines. */
function usedAliases({ own }: Views): ReadonlySet<unknown> {
  const names = Object.keys(tableAt(own, ALIASES));
  const models = [
    ...names.map((name) => [...ALIASES, name]),
    ...ASSISTANTS.map((path) => [...path, "model", "id"]),
  ].map((path) => tableAt(own, path));
  const targets = Object.values(tableAt(own, TOOLS)).flatMap(questionTargets);
  const ofTargets = ["assistant", "lastly"].flatMap((key) =>
    targets.map((target) => tableAt(target, [key, "model", "id"])),
  );
  return new Set([...names, ...[...models, ...ofTargets].map(({ alias }) => alias)]);
}

/** Includes a name that the workspace replaces: without trust, it applies. */
function namesPerson({ own, inForce }: Views): boolean {
  return [own, inForce]
    .flatMap((view) => Object.values(tableAt(view, TOOLS)))
    .flatMap(questionTargets)
    .some(({ user, any, next }) => user !== undefined || any !== undefined || next !== undefined);
}

/** The targets that answer a tool's questions, or decide about its calls. */
function questionTargets(tool: Json): readonly JsonObject[] {
  if (!isJsonObject(tool)) return [];
  const lists = Object.values(tableAt(tool, ["policy"]));
  const rules = lists.flatMap((list) => (isJsonObject(list) ? list["rules"] : []));
  return [tool, ...Object.values(tableAt(tool, ["questions"])), ...rules.flat()].flatMap(
    (entry) => {
      const target = isJsonObject(entry) ? entry["target"] : undefined;
      return isJsonObject(target) ? [target] : [];
    },
  );
}
