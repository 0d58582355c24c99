/**
 * Makes the arguments that a model has written fit a tool's schema, or tells the model what to
 * change. A tool is only ever given arguments that went through here.
 */
import { type Json, type JsonObject, messageOf } from "../../util/index.ts";
import type { ToolDescription } from "../port.ts";
import { coerceArguments } from "./coerce.ts";
import { describeViolation } from "./describe-violation.ts";
import { fillDefaults } from "./fill-defaults.ts";
import { deepestViolations, type Violation } from "./violation.ts";

export type ArgumentsCheck =
  | { readonly ok: true; readonly arguments: JsonObject }
  /** `message` is for the model. */
  | { readonly ok: false; readonly message: string };

const MOST_PROBLEMS = 5;

/** Never throws. */
export async function checkArguments(
  description: Pick<ToolDescription, "name" | "parameters">,
  given: JsonObject,
): Promise<ArgumentsCheck> {
  const { name, parameters: schema } = description;
  try {
    const args = fillDefaults(coerceArguments(given, schema), schema);
    const problems = await findViolations(schema, args);
    if (problems.length === 0) return { ok: true, arguments: args };
    return { ok: false, message: refusal(name, problems) };
  } catch (error) {
    const problem = messageOf(error);
    return { ok: false, message: unusableSchema(name, problem) };
  }
}

/** What in a value does not fit a JSON Schema, one line each. Throws if the schema is none. */
export async function findViolations(schema: JsonObject, value: Json): Promise<readonly string[]> {
  const violations = deepestViolations(await validate(value, schema));
  const problems = violations.flatMap((violation) =>
    describeViolation(violation, { schema, value }),
  );
  return [...new Set(problems)];
}

/** The validator notes in the schema where each part of it is: it gets a copy. */
async function validate(value: Json, schema: JsonObject): Promise<readonly Violation[]> {
  const { Validator } = await import("@cfworker/json-schema");
  const isQuick = false; // It would stop at the first violation.
  return new Validator(structuredClone(schema), "2020-12", isQuick).validate(value).errors;
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
