/**
 * Makes the arguments that a model has written fit a tool's schema, or tells the model what to
 * change. A tool is only ever given arguments that went through here.
 */
import type { Validator as ValidatorClass } from "@cfworker/json-schema";
import {
  isTooDeep,
  type Json,
  type JsonObject,
  messageOf,
  MAX_JSON_DEPTH,
} from "../../util/index.ts";
import type { ToolDescription } from "../port.ts";
import { coerceArguments } from "./coerce.ts";
import { describeViolation } from "./describe-violation.ts";
import { fillDefaults } from "./fill-defaults.ts";
import { deepestViolations } from "./violation.ts";
import { OutOfTime, withinTime } from "./within-time.ts";

/** The arguments with their defaults, or what is wrong with them. */
export type ArgumentsCheck =
  | { readonly ok: true; readonly arguments: JsonObject }
  /** `message` is for the model. */
  | { readonly ok: false; readonly message: string };

const MOST_PROBLEMS = 5;
const TOO_DEEP = `the arguments: nested deeper than ${MAX_JSON_DEPTH} levels`;

/** Checks arguments against the parameters of a tool, and fills in defaults. Never throws. */
export async function checkArguments(
  description: Pick<ToolDescription, "name" | "parameters">,
  given: JsonObject,
): Promise<ArgumentsCheck> {
  const { name, parameters: schema } = description;
  if (isTooDeep(given)) return { ok: false, message: refusal(name, [TOO_DEEP]) };
  try {
    const { Validator } = await import("@cfworker/json-schema");
    const { args, problems } = withinTime(() => {
      const filled = fillDefaults(coerceArguments(given, schema), schema);
      return { args: filled, problems: violationsOf(Validator, schema, filled) };
    });
    if (problems.length === 0) return { ok: true, arguments: args };
    return { ok: false, message: refusal(name, problems) };
  } catch (error) {
    if (error instanceof OutOfTime) return { ok: false, message: endless(name) };
    const problem = messageOf(error);
    return { ok: false, message: unusableSchema(name, problem) };
  }
}

/**
 * What in a value does not fit a JSON Schema, one line each. Throws if the schema is none, and
 * `OutOfTime`.
 */
export async function findViolations(schema: JsonObject, value: Json): Promise<readonly string[]> {
  const { Validator } = await import("@cfworker/json-schema");
  return withinTime(() => violationsOf(Validator, schema, value));
}

function violationsOf(
  Validator: typeof ValidatorClass,
  schema: JsonObject,
  value: Json,
): readonly string[] {
  const isQuick = false; // It would stop at the first violation.
  // The validator notes in the schema where each part of it is: it gets a copy.
  const validator = new Validator(structuredClone(schema), "2020-12", isQuick);
  const violations = deepestViolations(validator.validate(value).errors);
  const problems = violations.flatMap((violation) =>
    describeViolation(violation, { schema, value }),
  );
  return [...new Set(problems)];
}

function refusal(name: string, problems: readonly string[]): string {
  const shown = problems.slice(0, MOST_PROBLEMS).map((problem) => `- ${problem}`);
  const more = problems.length - shown.length;
  return [
    `Invalid arguments for tool '${name}'. It was not run.`,
    ...shown,
    ...(more > 0 ? [`- and ${more} more`] : []),
    `You can call \`describe_tools(tools: ["${name}"])\` to learn more about how to use this tool.`,
  ].join("\n");
}

/** Nothing that the model does can help. */
function unusableSchema(name: string, problem: string): string {
  const [line = ""] = problem.split("\n");
  return `Tool '${name}' was not run: its parameters are no valid JSON Schema. ${line}`;
}

/** With other arguments it may be quicker, so the model is told. */
function endless(name: string): string {
  return `Tool '${name}' was not run: checking these arguments against its parameters takes too long.`;
}
