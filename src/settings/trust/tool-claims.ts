/** Judges a workspace's settings for tools against the user's own: for one tool, and for all of them. */
import {
  classifiedValues,
  missingKeyOf,
  parseToolSource,
  type PartialConfig,
  resolveTools,
} from "../config/index.ts";
import { isDeepEqual, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { type Facts, type OwnTool, relevantValues, tableOf } from "./trust-rules.ts";
import { tableAt, toolPolicy, TOOLS, type Views, withOffered } from "./views.ts";

/** The settings of a workspace for a tool that need trust; `*` for the defaults of all tools. */
export function trustRelevantToolFields(name: string, views: Views, facts: Facts): JsonObject {
  const { workspace, own, user, inForce, readOnlyTools } = views;
  const path = [...TOOLS, name];
  if (name !== "*" && cannotRun(tableAt(inForce, path))) return {};
  const entry = tableAt(own, path);
  const policy = toolPolicy(tableAt(own, [...TOOLS, "*"]), entry);
  const values = classifiedValues(workspace, path);
  const isReplaced = values.some(
    ({ trust, path: [key = ""], value }) => trust === "tool" && !isDeepEqual(value, policy[key]),
  );
  const userTables = [name, "*"].map((one) => tableAt(user, [...TOOLS, one]));
  const isSetByUser = (key: string) => userTables.some((table) => table[key] !== undefined);
  // Examines all tools, and is seldom needed.
  const timeoutSecs = () => ownTimeout(name, own);
  const tool: OwnTool = { policy, timeoutSecs, isSetByUser, isReplaced };
  const relevant = relevantValues(values, policy, { ...facts, path, tool });
  const isHarmless = !isReplaced && isReadOnly(name, entry, readOnlyTools);
  const fields = tableOf(
    relevant.filter(({ path: [key = ""] }) => !isHarmless || isUserAffected(key, isSetByUser)),
  );
  return name === "*" ? defaultsWithEffect(fields, views) : fields;
}

/** A tool without a source, or one without a command that is off because of a mistake in its config. */
function cannotRun(tool: JsonObject): boolean {
  const missing = missingKeyOf(tool);
  const { state, allow_toggle: toggle } = tableAt(tool, ["enable"]);
  return missing === "source" || (missing === "command" && state === false && toggle === "never");
}

/** Whether a setting matters for a tool that only reads. Its style decides what the user sees of it. */
function isUserAffected(key: string, isSetByUser: (key: string) => boolean): boolean {
  // Rules take precedence over plain modes.
  const keys = key === "policy" ? [key, "run", "result"] : [key];
  return key === "style" || keys.some(isSetByUser);
}

/** For the defaults of all tools, the shortest limit of the tools that use them. */
function ownTimeout(name: string, own: PartialConfig): number {
  const isAffected = (tool: string) =>
    name === "*" ? tableAt(own, [...TOOLS, tool])["timeout_secs"] === undefined : tool === name;
  const limits = [...resolveTools(withOffered(own)).values()]
    .filter((tool) => isAffected(tool.name))
    .map(({ timeoutMs = Infinity }) => timeoutMs / 1000);
  return Math.min(...limits);
}

/** Defaults that the user has not set matter only if a tool that does more than read uses them. */
function defaultsWithEffect(value: JsonObject, views: Views): JsonObject {
  const { inForce, user, readOnlyTools } = views;
  const { "*": _defaults, ...tools } = tableAt(withOffered(inForce), TOOLS);
  const affected = Object.entries(tools).flatMap(([name, tool]) =>
    isJsonObject(tool) && tool["source"] !== undefined && !isReadOnly(name, tool, readOnlyTools)
      ? [tool]
      : [],
  );
  const set = tableAt(user, [...TOOLS, "*"]);
  return Object.fromEntries(
    Object.entries(value).filter(
      ([key, claimed]) =>
        set[key] !== undefined ||
        hasRules(claimed) ||
        affected.some((tool) => usesDefault(tool, key, claimed)),
    ),
  );
}

/** Rules apply to every tool, even one with its own rules. */
function hasRules(claimed: Json): boolean {
  const lists = isJsonObject(claimed) ? [claimed["run"], claimed["result"]] : [];
  return lists.some((list) => isJsonObject(list) && list["rules"] !== undefined);
}

/** Whether a tool leaves this field, or a claimed part of it, to the defaults for all tools. */
function usesDefault(tool: JsonObject, key: string, claimed: Json): boolean {
  const own = tool[key];
  if (own === undefined) return true;
  if (!isJsonObject(own) || !isJsonObject(claimed)) return false;
  return Object.keys(claimed).some((field) => own[field] === undefined);
}

function isReadOnly(name: string, { source }: JsonObject, readOnly: ReadonlySet<string>): boolean {
  if (typeof source !== "string") return false;
  const { type, tool = name } = parseToolSource(source);
  return type === "builtin" && readOnly.has(tool);
}
