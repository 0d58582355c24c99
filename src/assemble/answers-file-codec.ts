/** Parses the entries of an answers file, and reports all problems. */
import type { ConfigFile } from "../settings/config/index.ts";
import {
  JpError,
  fieldPath,
  findClosest,
  isJsonArray,
  type Json,
  type JsonObject,
  mismatch,
  objectField,
  oneOf,
  optionalString,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../util/index.ts";

/** When an entry applies. */
export interface Entry {
  /** Its path in the file: `answers[3]`, starting at 0. */
  readonly name: string;
  readonly tool: string;
  /** The call must have these arguments. */
  readonly arguments?: JsonObject;
  /** The call may have no other arguments. */
  readonly isExact: boolean;
  /** How often it may be used. */
  readonly times: number;
}

export interface AnswerEntry extends Entry {
  readonly question: string;
  readonly text?: string;
  readonly answer: Json;
  /** The answer comes from an environment variable. */
  readonly isSecret: boolean;
  readonly note?: string;
}

export interface DecisionEntry extends Entry {
  readonly isApproved: boolean;
  readonly reason?: string;
}

export interface Entries {
  readonly answers: readonly AnswerEntry[];
  readonly permissions: readonly DecisionEntry[];
  readonly deliveries: readonly DecisionEntry[];
}

const SECTIONS = ["answers", "permissions", "deliveries"] as const;
const COMMON_KEYS = ["tool", "arguments", "exact", "times"];
const ANSWER_KEYS = [...COMMON_KEYS, "question", "text", "answer", "secret_env", "note"];
const DECISION_KEYS = [...COMMON_KEYS, "decision", "reason"];

/** Throws `answers_invalid` with all problems. */
export function parseEntries(
  { file, value, findLine }: ConfigFile,
  variables: Readonly<Record<string, string | undefined>>,
): Entries {
  const problems: string[] = [];
  /** Continues after a problem, to find them all. */
  const attempt = <Value>(path: readonly string[], parse: () => Value): readonly Value[] => {
    try {
      return [parse()];
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      const line = findLine([...path, error.path.split(".").at(-1) ?? ""]);
      problems.push(`${line === undefined ? file : `${file}:${line}`}: ${error.message}`);
      return [];
    }
  };
  const section = <Value>(
    key: (typeof SECTIONS)[number],
    parse: (shape: Shape) => Value,
  ): readonly Value[] => {
    const [items = []] = attempt([key], () => listOf(shapeOf(value), key));
    return items.flatMap((item, index) =>
      attempt([key, String(index)], () => parse(shapeOf(item, `${key}[${index}]`))),
    );
  };
  const root = attempt([], () => checkKeys(shapeOf(value), SECTIONS));
  if (root.length === 0) throw invalid(problems);
  const entries = {
    answers: section("answers", (shape) => parseAnswer(shape, variables)),
    permissions: section("permissions", parseDecision),
    deliveries: section("deliveries", parseDecision),
  };
  if (problems.length > 0) throw invalid(problems);
  return entries;
}

function invalid(problems: readonly string[]): JpError {
  return new JpError("answers_invalid", problems.join("\n"), {
    hint: "An answers file has [[answers]], [[permissions]] and [[deliveries]]: see docs/ci.md.",
  });
}

function listOf({ value }: Shape, key: string): readonly Json[] {
  const list = value[key] ?? [];
  if (!isJsonArray(list)) throw mismatch(key, "a list of entries", list);
  return list;
}

function checkKeys(shape: Shape, known: readonly string[]): Shape {
  for (const key of Object.keys(shape.value)) {
    if (known.includes(key)) continue;
    const closest = findClosest(key, known);
    const meant = closest === undefined ? "" : `; did you mean ${closest}?`;
    throw new ShapeError(fieldPath(shape, key), `unknown key${meant}`);
  }
  return shape;
}

function parseAnswer(
  shape: Shape,
  variables: Readonly<Record<string, string | undefined>>,
): AnswerEntry {
  checkKeys(shape, ANSWER_KEYS);
  const text = optionalString(shape, "text");
  const note = optionalString(shape, "note");
  return {
    ...parseEntry(shape),
    question: stringField(shape, "question"),
    ...(text !== undefined && { text }),
    ...(note !== undefined && { note }),
    ...parseGiven(shape, variables),
  };
}

function parseGiven(
  shape: Shape,
  variables: Readonly<Record<string, string | undefined>>,
): Pick<AnswerEntry, "answer" | "isSecret"> {
  const { answer } = shape.value;
  const variable = optionalString(shape, "secret_env");
  if ((answer === undefined) === (variable === undefined)) {
    throw new ShapeError(shape.path, "expected either answer or secret_env");
  }
  if (variable === undefined) return { answer: answer ?? null, isSecret: false };
  const secret = variables[variable] ?? "";
  if (secret !== "") return { answer: secret, isSecret: true };
  throw new ShapeError(fieldPath(shape, "secret_env"), `the variable ${variable} is not set`);
}

function parseDecision(shape: Shape): DecisionEntry {
  checkKeys(shape, DECISION_KEYS);
  const isApproved = oneOf(shape, "decision", ["approve", "deny"]) === "approve";
  const reason = optionalString(shape, "reason");
  if (isApproved && reason !== undefined) {
    throw new ShapeError(fieldPath(shape, "reason"), "only for the decision deny");
  }
  return { ...parseEntry(shape), isApproved, ...(reason !== undefined && { reason }) };
}

function parseEntry(shape: Shape): Entry {
  const { value, path } = shape;
  return {
    name: path,
    tool: stringField(shape, "tool"),
    ...(value["arguments"] !== undefined && { arguments: objectField(shape, "arguments").value }),
    isExact: parseExact(shape),
    times: parseTimes(shape),
  };
}

function parseExact(shape: Shape): boolean {
  const { exact = false } = shape.value;
  if (typeof exact !== "boolean") throw mismatch(fieldPath(shape, "exact"), "a boolean", exact);
  return exact;
}

function parseTimes(shape: Shape): number {
  const { times = 1 } = shape.value;
  if (times === "any") return Number.POSITIVE_INFINITY;
  if (typeof times === "number" && Number.isInteger(times) && times >= 1) return times;
  throw new ShapeError(fieldPath(shape, "times"), 'expected a whole number from 1, or "any"');
}
