/** What one attempt of a tool comes to, and how tools write it. */
import {
  arrayField,
  isJsonObject,
  isTooDeep,
  type Json,
  type JsonObject,
  MOST_LEVELS,
  optionalBoolean,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../util/index.ts";
import type { Question } from "./question.ts";
import { findRepeated, parseQuestion, questionToWire } from "./question-codec.ts";

/** What one attempt of a tool came to. */
export type Outcome =
  | { readonly type: "success"; readonly content: string }
  | {
      readonly type: "error";
      readonly message: string;
      /** From the outermost cause to the innermost. */
      readonly trace: readonly string[];
      /** The same call may work later. A hint for the reader; nothing is retried because of it. */
      readonly transient: boolean;
    }
  /** The tool is entered again, with the same arguments and what was answered. */
  | {
      readonly type: "needs_input";
      readonly question: Question;
      /** Asked together with it, as one form. */
      readonly more?: readonly Question[];
    };

/**
 * Reads a tool's output. Undefined: it is no outcome at all and stands for itself, as text.
 * Throws `ShapeError` for one that names an outcome but does not have its shape.
 */
export function parseOutcome(value: unknown): Outcome | undefined {
  if (!isJsonObject(value)) return undefined;
  const shape = shapeOf(value);
  switch (value["type"]) {
    case "success":
      return { type: "success", content: stringField(shape, "content") };
    case "error":
      return parseError(shallow(shape));
    case "needs_input":
      return parseNeed(shallow(shape));
    default:
      return undefined;
  }
}

/** As tools write it. */
export function outcomeToWire(outcome: Outcome): JsonObject {
  if (outcome.type !== "needs_input") return { ...outcome };
  const { question, more = [] } = outcome;
  return {
    type: "needs_input",
    question: questionToWire(question),
    ...(more.length > 0 && { more: more.map(questionToWire) }),
  };
}

/** Parts of it are written down again, which goes only so deep. */
function shallow(shape: Shape): Shape {
  if (!isTooDeep(shape.value)) return shape;
  throw new ShapeError("", `nested deeper than ${MOST_LEVELS} levels`);
}

function parseNeed(shape: Shape): Outcome {
  const question = parseQuestion(shape.value["question"]);
  if (shape.value["more"] == null) return { type: "needs_input", question };
  const more = arrayField(shape, "more").map((item, index) =>
    parseQuestion(item, `more[${index}]`),
  );
  const twice = findRepeated([question, ...more].map(({ id }) => id));
  if (twice !== undefined) throw new ShapeError("more", `the question "${twice}" is there twice`);
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
