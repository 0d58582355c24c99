/** The outcome of one attempt of a tool, and its JSON form. */
import {
  arrayField,
  isJsonObject,
  isTooDeep,
  type Json,
  type JsonObject,
  MAX_JSON_DEPTH,
  optionalBoolean,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../util/index.ts";
import type { Question } from "./question.ts";
import { findDuplicate, parseQuestion, questionToWire } from "./question-codec.ts";

/** The outcome of one attempt of a tool. */
export type Outcome =
  | { readonly type: "success"; readonly content: string }
  | {
      readonly type: "error";
      readonly message: string;
      /** From the outermost cause to the innermost. */
      readonly trace: readonly string[];
      /** The same call may work later. Only a hint for the model: jp does not retry. */
      readonly transient: boolean;
    }
  /** jp runs the tool again with the same arguments and the answer. */
  | {
      readonly type: "needs_input";
      readonly question: Question;
      /** Asked together with the question, as one form. */
      readonly more?: readonly Question[];
    };

/**
 * Reads a tool's output. Undefined if it is not an outcome, but plain text. Throws `ShapeError` if
 * it has the type of an outcome but not its fields.
 */
export function parseOutcome(value: unknown): Outcome | undefined {
  if (!isJsonObject(value)) return undefined;
  const shape = shapeOf(value);
  switch (value["type"]) {
    case "success":
      return { type: "success", content: stringField(shape, "content") };
    case "error":
      assertNotTooDeep(shape);
      return parseError(shape);
    case "needs_input":
      assertNotTooDeep(shape);
      return parseNeedsInput(shape);
    default:
      return undefined;
  }
}

/** The JSON form that tools write. */
export function outcomeToWire(outcome: Outcome): JsonObject {
  if (outcome.type !== "needs_input") return { ...outcome };
  const { question, more = [] } = outcome;
  return {
    type: "needs_input",
    question: questionToWire(question),
    ...(more.length > 0 && { more: more.map(questionToWire) }),
  };
}

/** Parts of it are serialized again, which recurses. */
function assertNotTooDeep(shape: Shape): void {
  if (isTooDeep(shape.value)) {
    throw new ShapeError("", `nested deeper than ${MAX_JSON_DEPTH} levels`);
  }
}

function parseNeedsInput(shape: Shape): Outcome {
  const question = parseQuestion(shape.value["question"]);
  if (shape.value["more"] == null) return { type: "needs_input", question };
  const more = arrayField(shape, "more").map((item, index) =>
    parseQuestion(item, `more[${index}]`),
  );
  const duplicate = findDuplicate([question, ...more].map(({ id }) => id));
  if (duplicate !== undefined) throw new ShapeError("more", `duplicate question "${duplicate}"`);
  return { type: "needs_input", question, ...(more.length > 0 && { more }) };
}

function parseError(shape: Shape): Outcome {
  const trace = shape.value["trace"];
  return {
    type: "error",
    message: stringField(shape, "message"),
    trace: Array.isArray(trace) ? trace.map(textOf) : [],
    transient: optionalBoolean(shape, "transient") ?? false,
  };
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
