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
} from "../../util/index.ts";
import {
  blockToJson,
  type ContentBlock,
  findBlocks,
  isFor,
  isPlainText,
  joinTexts,
  parseBlock,
  textForModel,
  textForUser,
} from "./content.ts";
import type { Question } from "./question.ts";
import { findDuplicate, parseQuestion, questionToWire } from "./question-codec.ts";

/** The outcome of one attempt of a tool. */
export type Outcome =
  | {
      readonly type: "success";
      /** The text for the model. */
      readonly content: string;
      /** Set if the result has more than text. `content` is then derived from them. */
      readonly blocks?: readonly ContentBlock[];
      /** The tool returned an object or a list, and `content` is its JSON. */
      readonly isJson?: boolean;
    }
  | {
      readonly type: "error";
      /** The text for the model, before the trace. */
      readonly message: string;
      readonly blocks?: readonly ContentBlock[];
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
 * Reads a tool's output. Undefined if it is plain text rather than an outcome. Throws `ShapeError` if it has the type
 * of an outcome but not its fields.
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
    case undefined:
      return parseContent(value);
    default:
      return undefined;
  }
}

/** The outcome of `{"content": [...]}`. Undefined if that is not a list of blocks. Throws `ShapeError`. */
export function parseContent(value: JsonObject): Outcome | undefined {
  const found = value["type"] === undefined ? findBlocks(value["content"]) : undefined;
  if (found === undefined) return undefined;
  const shape = shapeOf(value);
  if (found.some(({ type }) => type === "question")) {
    assertNotTooDeep(shape);
    return parseAsking(found);
  }
  return toOutcome(found.map(parseBlock), shape.value["isError"] === true, shape);
}

/** Converts blocks to a result. Keeps blocks only if they are more than plain text. */
function toOutcome(blocks: readonly ContentBlock[], isError: boolean, shape: Shape): Outcome {
  const text = textForModel(blocks, isError);
  const kept = blocks.every(isPlainText) ? {} : { blocks };
  if (!isError) return { type: "success", content: text, ...kept };
  return { type: "error", message: text || "The tool failed.", ...kept, ...parseErrorMeta(shape) };
}

const ERROR_META = "computer.jp/error";

function parseErrorMeta({ value }: Shape) {
  const meta = isJsonObject(value["_meta"]) ? value["_meta"][ERROR_META] : undefined;
  const { trace, transient } = isJsonObject(meta) ? meta : {};
  return { trace: parseTrace(trace), transient: transient === true };
}

/**
 * Blocks before a question are its context, and those after the last question belong to that one. Blocks for only one
 * audience are left out: who answers is decided later.
 */
function parseAsking(blocks: readonly JsonObject[]): Outcome {
  const questions: Question[] = [];
  let texts: string[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block["type"] === "question") {
      const question = parseQuestion(block["question"], `content[${index}].question`);
      questions.push(withContext(question, [...texts, question.context ?? ""]));
      texts = [];
    } else texts.push(contextText(parseBlock(block)));
  }
  const last = questions.pop();
  if (last === undefined) throw new ShapeError("content", "there is no question");
  const [question, ...more] = [...questions, withContext(last, [last.context ?? "", ...texts])];
  return needsInput(question, more, "content");
}

function withContext(question: Question, texts: readonly string[]): Question {
  const context = joinTexts(texts);
  return context === "" ? question : { ...question, context };
}

function contextText(block: ContentBlock): string {
  return isFor("user", block) && isFor("assistant", block) ? textForUser([block]) : "";
}

/** The JSON form that tools write. */
export function outcomeToWire(outcome: Outcome): JsonObject {
  if (outcome.type !== "needs_input") return resultToWire(outcome);
  const { question, more = [] } = outcome;
  return {
    type: "needs_input",
    question: questionToWire(question),
    ...(more.length > 0 && { more: more.map(questionToWire) }),
  };
}

function resultToWire(outcome: Exclude<Outcome, { readonly type: "needs_input" }>): JsonObject {
  const { blocks, ...rest } = outcome;
  const { isJson: _isJson, ...plain } = { isJson: undefined, ...rest };
  if (blocks === undefined) return { ...plain };
  const content = blocks.map(blockToJson);
  if (outcome.type === "success") return { content };
  const { trace, transient } = outcome;
  return { content, isError: true, _meta: { [ERROR_META]: { transient, trace } } };
}

/** Parts of it are serialized again, which is recursive. */
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
  return needsInput(question, more, "more");
}

function needsInput(question: Question, more: readonly Question[], path: string): Outcome {
  const duplicate = findDuplicate([question, ...more].map(({ id }) => id));
  if (duplicate !== undefined) throw new ShapeError(path, `duplicate question "${duplicate}"`);
  return { type: "needs_input", question, ...(more.length > 0 && { more }) };
}

function parseError(shape: Shape): Outcome {
  return {
    type: "error",
    message: stringField(shape, "message"),
    trace: parseTrace(shape.value["trace"]),
    transient: optionalBoolean(shape, "transient") ?? false,
  };
}

function parseTrace(trace: Json | undefined): readonly string[] {
  return Array.isArray(trace) ? trace.map(textOf) : [];
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
