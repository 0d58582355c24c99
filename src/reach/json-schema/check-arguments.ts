/**
 * Makes a model's arguments fit a tool's schema, or tells the model what to change. No tool runs with unchecked
 * arguments.
 */
import type vm from "node:vm";
import type { Validator as ValidatorClass } from "@cfworker/json-schema";
import {
  isJsonObject,
  isTooDeep,
  type Json,
  type JsonObject,
  loaderOf,
  MAX_JSON_DEPTH,
  messageOf,
  pathToText,
} from "../../util/index.ts";
import { coerceArguments, fillDefaults } from "./normalize-arguments.ts";
import { fitsPlainly, isQuick } from "./quick-schema.ts";
import { describeViolations } from "./violations.ts";

/** The arguments with defaults, or their problems. */
export type ArgumentsCheck =
  | { readonly ok: true; readonly arguments: JsonObject }
  /** `problem` is for anyone; `message` adds advice for a model. */
  | { readonly ok: false; readonly problem: string; readonly message: string };

export interface CheckedTool {
  readonly name: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
  /** The model can call `describe_tools` for details. */
  readonly hasDetails?: boolean;
}

const MAX_PROBLEMS = 5;
const CHECK_MS = 500;

/** Checks arguments against the parameters of a tool, and fills in defaults. Never throws. */
export async function checkArguments(
  tool: CheckedTool,
  given: JsonObject,
): Promise<ArgumentsCheck> {
  const { name, parameters: schema } = tool;
  if (isTooDeep(given)) {
    const problem = `the arguments: nested more than ${MAX_JSON_DEPTH} levels deep`;
    return invalidArguments(tool, [problem]);
  }
  const fitting = isQuick(schema, given) ? findFitting(schema, given) : undefined;
  if (fitting !== undefined) return { ok: true, arguments: fitting };
  const { Validator } = await loadValidator();
  try {
    const check = () => {
      const filled = fillDefaults(coerceArguments(given, schema), schema);
      const checked = { schema, value: filled, name: "the arguments" };
      return { args: filled, problems: violationsOf(Validator, checked) };
    };
    const { args, problems } = isQuick(schema, given) ? check() : withTimeout(CHECK_MS, check);
    if (problems.length === 0) return { ok: true, arguments: args };
    return invalidArguments(tool, problems);
  } catch (error) {
    // Tell the model, because other arguments may be quicker to check. It cannot fix a schema.
    const reason =
      error instanceof SchemaTimeoutError
        ? "checking these arguments against its parameters takes too long."
        : `its parameters are not a valid JSON Schema. ${messageOf(error).split("\n")[0]}`;
    const problem = `Tool '${name}' was not run: ${reason}`;
    return { ok: false, problem, message: problem };
  }
}

/** The arguments with their defaults, if they can be checked without the validator. */
function findFitting(schema: JsonObject, given: JsonObject): JsonObject | undefined {
  try {
    const filled = fillDefaults(coerceArguments(given, schema), schema);
    return fitsPlainly(schema, filled) ? filled : undefined;
  } catch {
    return undefined; // Leave it to the validator to report problems of the schema.
  }
}

/**
 * Lists violations of a JSON Schema, one per line. `name` refers to the value as a whole. Throws if the schema is
 * invalid, and `SchemaTimeoutError`.
 */
export async function findViolations(
  schema: JsonObject,
  value: Json,
  name = "the value",
): Promise<readonly string[]> {
  const { Validator } = await loadValidator();
  const check = () => violationsOf(Validator, { schema, value, name });
  return isQuick(schema, value) ? check() : withTimeout(CHECK_MS, check);
}

/** Why a JSON Schema cannot be used. */
export interface SchemaProblem {
  readonly message: string;
  /** The message may quote the schema. */
  readonly quotes: boolean;
}

/** Undefined if the schema can be used. */
export async function explainSchema(schema: JsonObject): Promise<SchemaProblem | undefined> {
  const unknown = findUnknownType(schema);
  if (unknown !== undefined) {
    return { message: `unknown type (${pathToText(unknown)}).`, quotes: false };
  }
  try {
    await findViolations(schema, {});
    return undefined;
  } catch (error) {
    return { message: messageOf(error).split("\n")[0] ?? "", quotes: true };
  }
}

/** Lists problems with the data in a model's answer, one per line. Never throws. */
export async function checkData(schema: JsonObject, data: Json): Promise<readonly string[]> {
  if (isTooDeep(data)) return [`the answer: nested more than ${MAX_JSON_DEPTH} levels deep`];
  try {
    return await findViolations(schema, data, "the answer");
  } catch (error) {
    return [`the answer cannot be checked: ${messageOf(error).split("\n")[0]}`];
  }
}

/**
 * Whether a value matches a JSON Schema without nested schemas. A keyword that is invalid, or exceeds the time limit,
 * counts as matched: the receiver checks the value again.
 */
export async function matchesSchema(
  schema: JsonObject,
  value: Json,
  milliseconds: number,
): Promise<boolean> {
  const { Validator } = await loadValidator();
  const { pattern, format, ...rest } = schema;
  const parts = [rest, ...(format === undefined ? [] : [{ format }])];
  const checks = [
    ...parts.map((part) => () => new Validator({ ...part }, "2020-12").validate(value).valid),
    () =>
      typeof pattern !== "string" || typeof value !== "string" || toPattern(pattern).test(value),
  ];
  return checks.every((check) => {
    try {
      return withTimeout(milliseconds, check);
    } catch {
      return true;
    }
  });
}

/** Many patterns in use are valid only without the `u` flag, such as `[\\w-.]`. Throws if it is invalid anyway. */
function toPattern(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

function violationsOf(
  Validator: typeof ValidatorClass,
  checked: Parameters<typeof describeViolations>[1],
): readonly string[] {
  const { schema, value } = checked;
  const isShortCircuit = false; // Otherwise it would stop at the first violation.
  // The validator adds locations to the schema, so it gets a copy.
  const validator = new Validator(structuredClone(schema), "2020-12", isShortCircuit);
  return describeViolations(validator.validate(value).errors, checked);
}

function invalidArguments(
  { name, hasDetails = false }: CheckedTool,
  problems: readonly string[],
): Extract<ArgumentsCheck, { ok: false }> {
  const shown = problems.slice(0, MAX_PROBLEMS).map((line) => `- ${line}`);
  const more = problems.length - shown.length;
  const problem = [
    `Invalid arguments for tool '${name}'. It was not run.`,
    ...shown,
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join("\n");
  if (!hasDetails) return { ok: false, problem, message: problem };
  const advice = `You can call \`describe_tools(tools: ["${name}"])\` to learn more about how to use this tool.`;
  return { ok: false, problem, message: `${problem}\n${advice}` };
}

class SchemaTimeoutError extends Error {
  constructor(milliseconds: number) {
    super(`the check took longer than ${milliseconds} ms`);
    this.name = "SchemaTimeoutError";
  }
}

interface Sandbox {
  work?: () => void;
}

let sandbox: { readonly script: vm.Script; readonly context: Sandbox } | undefined;

/**
 * Runs synchronous work that an untrusted schema could make endless: a pattern with exponential backtracking, or parts
 * that refer to each other. Node starts a thread each time, which takes a millisecond. Throws the work's error, or
 * `SchemaTimeoutError`. Work that times out runs a second time, and more often while the machine was busy with something
 * else.
 */
function withTimeout<Result>(milliseconds: number, work: () => Result): Result {
  const start = process.cpuUsage();
  for (let run = 1; ; run += 1) {
    try {
      return runLimited(milliseconds, work);
    } catch (error) {
      const { user, system } = process.cpuUsage(start);
      const wasBusy = (user + system) / 1000 < MIN_RUNS * milliseconds;
      const isLast = run >= (wasBusy ? MAX_RUNS : MIN_RUNS);
      if (!(error instanceof SchemaTimeoutError) || isLast) throw error;
    }
  }
}

const MIN_RUNS = 2;
const MAX_RUNS = 20;

function runLimited<Result>(milliseconds: number, work: () => Result): Result {
  // Node limits the time of scripts, including the functions they call.
  sandbox ??= createSandbox();
  const { script, context } = sandbox;
  let result: { readonly value: Result } | undefined;
  context.work = () => {
    result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: milliseconds });
  } catch (error) {
    throw isTimeout(error) ? new SchemaTimeoutError(milliseconds) : error;
  } finally {
    delete context.work;
  }
  if (result === undefined) throw new Error("the work has no result");
  return result.value;
}

function createSandbox(): NonNullable<typeof sandbox> {
  const { createContext, Script } = process.getBuiltinModule("node:vm");
  return { script: new Script("work()"), context: createContext({}) };
}

/** `instanceof` does not work: the context has its own `Error`. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];
/** Keywords whose value is data, not a schema. */
const DATA = new Set(["const", "default", "enum", "examples"]);

/** The path to an unknown `type`. The validator accepts any word there, and then no value fits. */
function findUnknownType(
  schema: Json,
  keys: readonly string[] = [],
): readonly string[] | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  for (const [key, value] of Object.entries(schema)) {
    if (DATA.has(key) && !Array.isArray(schema)) continue;
    const inside = [...keys, key];
    const names = key === "type" && !isJsonObject(value) ? [value].flat() : [];
    if (names.some((name) => !TYPES.some((type) => type === name))) return inside;
    const deeper = findUnknownType(value, inside);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}

/** Slow to load. A turn loads it while it waits for the model. Throws `module_not_loaded`. */
export async function preloadValidator(): Promise<void> {
  await loadValidator();
}

const loadValidator = loaderOf(() => import("@cfworker/json-schema"));
