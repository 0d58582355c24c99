/**
 * Finds rules that cannot mean what was written: they name an argument that does not exist, or no call can ever reach
 * them.
 */
import { MATCHERS, type Rule } from "../../settings/config/index.ts";
import type { ArgumentKinds } from "../../reach/executor/index.ts";
import {
  escapePointer,
  isDeepEqual,
  isJsonObject,
  isPathWithin,
  type Json,
  type JsonObject,
  messageOf,
  parsePointer,
} from "../../util/index.ts";
import { kindOf, URL_PARTS } from "./argument-values.ts";
import { compileMatcher, compilePattern, hazardsFor } from "./matcher.ts";
import { normalizePath } from "./path-forms.ts";

export interface RuleProblem {
  readonly rule: Rule;
  readonly message: string;
}

/** The known parameters of a tool. */
export interface ToolParameters {
  readonly name: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
  readonly kinds: ArgumentKinds;
}

/** In order. `root`: the workspace's. */
export async function findRuleProblems(
  rules: readonly Rule[],
  tool: ToolParameters,
  root: string,
): Promise<readonly RuleProblem[]> {
  const problems: RuleProblem[] = [];
  for (const [index, rule] of rules.entries()) {
    const message =
      explainArgument(rule, tool) ??
      (await explainPattern(rule)) ??
      explainUnreachable(rule, rules.slice(0, index), { tool, root });
    if (message !== undefined) problems.push({ rule, message });
  }
  return problems;
}

/**
 * Rules that let calls run by a path, in an argument that is compared as text because it has no type. URLs are left out:
 * no type in the config is for them.
 */
export function findUntypedRules(
  rules: readonly Rule[],
  tool: ToolParameters,
): readonly RuleProblem[] {
  return rules.flatMap((rule) => {
    const { mode, arg, prefix, glob, pattern } = rule;
    const text = prefix ?? glob ?? pattern ?? "";
    const isPath = text.includes("/") && !ADDRESS.test(text);
    if (mode !== "unattended" || arg === undefined || !isPath) return [];
    const found = findParameter(arg, tool);
    if (typeof found !== "object" || kindOf(rule, tool.kinds) !== undefined) return [];
    if (found.types.length > 0 && !found.types.includes("string")) return [];
    const message = `${arg} of ${tool.name} has no type = "path", so it is compared as text`;
    return [{ rule, message }];
  });
}

/** A scheme's slashes, also in a regular expression. */
const ADDRESS = /:(?:\\?\/){2}/;

function explainArgument(rule: Rule, tool: ToolParameters): string | undefined {
  const { arg, place } = rule;
  if (arg === undefined) return undefined;
  const found = findParameter(arg, tool);
  if (found === undefined || place.isShared === true) return undefined; // Other tools may have it.
  return found === "missing" ? `${tool.name} has no argument ${arg}` : explainMatcher(rule, found);
}

/** Undefined if the schema does not say what is there. */
function findParameter(
  arg: string,
  { parameters, kinds }: ToolParameters,
): Parameter | "missing" | undefined {
  let schema: JsonObject = parameters;
  let at = "";
  let isInList = false;
  let types = typesIn(schema);
  for (const segment of parsePointer(arg)) {
    if (kinds[at] === "url") {
      return URL_PARTS[segment] === undefined
        ? "missing"
        : { types: [segment === "port" ? "integer" : "string"], kind: undefined, isInList };
    }
    const { properties, additionalProperties: rest } = schema;
    const child = isJsonObject(properties) ? ownOf(properties, segment) : undefined;
    if (!isJsonObject(child)) {
      if (OPENING.some((keyword) => keyword in schema)) return undefined;
      if (isJsonObject(properties) && (rest === false || rest === undefined)) return "missing";
      return isScalar(schema) ? "missing" : undefined;
    }
    at += `/${escapePointer(segment)}`;
    schema = child;
    types = typesIn(schema);
    while (isJsonObject(schema["items"])) {
      schema = schema["items"];
      const below = typesIn(schema);
      // It may be a single element instead of a list.
      types = below.length === 0 ? [] : [...types.filter((type) => type !== "array"), ...below];
      isInList = true;
    }
  }
  // A list without `items` can hold anything.
  if (types.includes("array")) types = [];
  return { types, kind: kinds[at], isInList };
}

/** With one of these keywords, a schema may allow more than its `properties`. */
const OPENING = ["$ref", "allOf", "anyOf", "if", "oneOf", "patternProperties"];

function typesIn({ type }: JsonObject): readonly string[] {
  return typeof type === "string" ? [type] : Array.isArray(type) ? type.map(String) : [];
}

interface Parameter {
  /** Empty if any type is allowed. */
  readonly types: readonly string[];
  readonly kind: ArgumentKinds[string] | undefined;
  readonly isInList: boolean;
}

function isScalar({ type }: JsonObject): boolean {
  return typeof type === "string" && type !== "object" && type !== "array";
}

const OF_TEXT: ReadonlySet<string> = new Set(["pattern", "prefix", "glob"]);
const OF_NUMBER: ReadonlySet<string> = new Set([
  "minimum",
  "maximum",
  "exclusive_minimum",
  "exclusive_maximum",
]);

function explainMatcher(rule: Rule, { types, kind }: Parameter): string | undefined {
  if (types.length === 0) return undefined;
  const { arg = "" } = rule;
  const matcher = MATCHERS.find((key) => rule[key] !== undefined) ?? "const";
  const is = (...names: readonly string[]) => types.some((type) => names.includes(type));
  if (OF_TEXT.has(matcher) && !is("string"))
    return `${matcher} is for text, and ${arg} is ${types.join(" or ")}`;
  if (OF_NUMBER.has(matcher) && !is("number", "integer"))
    return `${matcher} is for numbers, and ${arg} is ${types.join(" or ")}`;
  if (kind === "url" && rule.prefix !== undefined && !URL.canParse(rule.prefix))
    return `prefix of an address has to be an address, such as https://example.com/docs`;
  const values = rule.const === undefined ? (rule.enum ?? []) : [rule.const];
  const misfit = values.find((value) => !types.some((type) => fits(type, value)));
  return misfit === undefined
    ? undefined
    : `${arg} is ${types.join(" or ")}, and never ${JSON.stringify(misfit)}`;
}

function fits(type: string, value: Json): boolean {
  if (value === null) return type === "null";
  if (Array.isArray(value)) return type === "array";
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

async function explainPattern(rule: Rule): Promise<string | undefined> {
  const { pattern, glob } = rule;
  try {
    if (pattern !== undefined) await compilePattern(pattern);
    if (glob !== undefined) await compileMatcher(rule, { root: "/", isPath: true });
    return undefined;
  } catch (error) {
    if (glob !== undefined) return `glob cannot be used (${messageOf(error)})`;
    return `pattern cannot be used (${messageOf(error)}); lookaround and backreferences are not supported`;
  }
}

/** Reports only certain cases: an earlier rule that matches every call of the later one. */
function explainUnreachable(
  rule: Rule,
  earlier: readonly Rule[],
  { tool, root }: { readonly tool: ToolParameters; readonly root: string },
): string | undefined {
  const covering = earlier.find(
    (other) => hasSameScope(other, rule) && covers(other, rule, { tool, root }),
  );
  if (covering === undefined) return undefined;
  return `no call can reach this rule: ${covering.place.key} comes first and matches all of them`;
}

/**
 * One list is written by one person, so overlap is a mistake. Merged lists may overlap, and rules for all tools also
 * apply to other tools.
 */
function hasSameScope(earlier: Rule, later: Rule): boolean {
  const isForAll = earlier.tool === undefined && earlier.server === undefined;
  const isForSame = earlier.tool === later.tool && earlier.server === later.server;
  const [one, other] = [earlier, later].map(({ place: { layer, key } }) => ({
    layer,
    list: key.replace(/\[\d+\]$/, ""),
  }));
  return isDeepEqual(one, other) && (isForAll || isForSame);
}

function covers(
  earlier: Rule,
  later: Rule,
  { tool, root }: { readonly tool: ToolParameters; readonly root: string },
): boolean {
  if (earlier.arg === undefined) return true;
  if (earlier.arg !== later.arg) return false;
  const found = findParameter(earlier.arg, tool);
  const { isInList, kind } =
    typeof found === "object" ? found : { isInList: false, kind: undefined };
  // In a list, the later rule needs one matching element, and the earlier one needs all.
  if (isInList && earlier.mode === "unattended" && later.mode !== "unattended") return false;
  const wanted = later.const === undefined ? later.enum : [later.const];
  const values = earlier.const === undefined ? earlier.enum : [earlier.const];
  const isSame = (a: Json, b: Json) =>
    kind === "path" && typeof a === "string" && typeof b === "string"
      ? normalizePath(root, a) === normalizePath(root, b)
      : isDeepEqual(a, b);
  if (values !== undefined) {
    return wanted?.every((value) => values.some((each) => isSame(each, value))) ?? false;
  }
  const { prefix } = earlier;
  if (prefix === undefined) return false;
  const isBelow = (text: Json) => {
    if (typeof text !== "string") return false;
    if (kind === "path")
      return isPathWithin(normalizePath(root, prefix), normalizePath(root, text));
    if (kind === "command") return `${text} `.startsWith(`${prefix} `);
    if (kind === "url") return text === prefix;
    const isLeftOut = earlier.mode === "unattended" && hazardsFor(earlier, text).length > 0;
    return text.startsWith(prefix) && !isLeftOut;
  };
  if (later.prefix !== undefined) return isBelow(later.prefix);
  return wanted?.every(isBelow) ?? false;
}

function ownOf(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
