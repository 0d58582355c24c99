/** A form field: its question, and how its answer is converted to a value for the server. */
import { matchesSchema } from "../../json-schema/index.ts";
import type { FormField } from "../../mcp/index.ts";
import {
  answerFits,
  type AnswerType,
  type Question,
  type SelectOption,
} from "../../../record/tool/index.ts";
import type { Json } from "../../../util/index.ts";

export interface FieldContext {
  readonly id: string;
  /** The text above the whole form. */
  readonly introduction?: string;
  /** The reason the last answer was rejected. */
  readonly problem?: string;
}

const MAX_LINE_LENGTH = 200;
const MAX_TEXT_LENGTH = 4000;
/** The server's schema may be slow to check, and a form may have many fields. */
const CHECK_MS = 50;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

const FORMATS: Readonly<Record<string, string>> = {
  email: "an email address",
  uri: "a URL like https://example.com/",
  date: "a date like 2026-01-31",
  "date-time": "a date and time like 2026-01-31T12:00:00Z",
};

const LIMITS: Readonly<Record<string, (limit: string | number) => string>> = {
  minLength: (least) => `at least ${least} characters`,
  maxLength: (most) => `at most ${most} characters`,
  pattern: (pattern) => `matching ${shortLine(String(pattern))}`,
  minimum: (least) => `at least ${least}`,
  maximum: (most) => `at most ${most}`,
  exclusiveMinimum: (limit) => `more than ${limit}`,
  exclusiveMaximum: (limit) => `less than ${limit}`,
  multipleOf: (unit) => `a multiple of ${unit}`,
  minItems: (least) => `at least ${least} of them`,
  maxItems: (most) => `at most ${most} of them`,
};

/** The option to leave the field out. */
const LEAVE_OUT = "(leave out)";

export function toFieldQuestion(field: FormField, fieldContext: FieldContext): Question {
  const { name, title, isSecret } = field;
  const text = [title ?? "", name, "(unnamed field)"].map(shortLine).find(Boolean) ?? "";
  const context = contextOf(field, fieldContext);
  const answerType = answerTypeOf(field);
  const suggested = suggestionOf(field);
  const hasSuggestion = !isSecret && suggested !== undefined && answerFits(answerType, suggested);
  return {
    id: fieldContext.id,
    text,
    ...(context !== "" && { context }),
    answerType,
    ...(hasSuggestion && { default: suggested }),
    exclusive: false,
    persistence: "turn",
  };
}

function contextOf(field: FormField, { introduction = "", problem = "" }: FieldContext): string {
  const { kind, isRequired, description = "" } = field;
  const expected = expectationOf(field);
  const isTyped = kind.type !== "boolean" && kind.type !== "choice";
  const rules = [
    ...(expected === undefined ? [] : [`Expected: ${expected}.`]),
    ...(isTyped && !isRequired ? ["You may leave it empty."] : []),
  ].join(" ");
  return [problem, shortText(introduction), shortText(description), rules]
    .filter((part) => part !== "")
    .join("\n\n");
}

function answerTypeOf({ kind, isSecret, isRequired }: FormField): AnswerType {
  switch (kind.type) {
    case "text":
    case "number":
    case "integer":
      return { type: isSecret ? "secret" : "text" };
    case "boolean":
      return { type: "boolean" };
    case "choice": {
      const options = kind.options.map(({ value, title }) => toOption(value, title));
      if (kind.isMultiple) return { type: "select", options, isMultiple: true };
      const none =
        isRequired || options.some(({ value }) => value === LEAVE_OUT) ? [] : [LEAVE_OUT];
      return { type: "select", options: [...options, ...none.map((value) => ({ value }))] };
    }
    default:
      return kind satisfies never;
  }
}

/** The title is repeated as the description, for clients that show only values and descriptions. */
function toOption(value: string, title: string | undefined): SelectOption {
  const shown = shortLine(title ?? "");
  return shown === "" ? { value } : { value, title: shown, description: shown };
}

function suggestionOf({ kind, default: suggested }: FormField): Json | undefined {
  return kind.type !== "boolean" && typeof suggested === "number" ? String(suggested) : suggested;
}

/** Returns text such as "a whole number, at least 1", or undefined if there is nothing to add. */
export function expectationOf(field: FormField): string | undefined {
  const what = whatOf(field);
  const limits = Object.entries(field.schema).flatMap(([key, limit]) =>
    typeof limit === "string" || typeof limit === "number" ? (LIMITS[key]?.(limit) ?? []) : [],
  );
  if (what === undefined && limits.length === 0) return undefined;
  return [what ?? (field.kind.type === "text" ? "text" : "a choice"), ...limits].join(", ");
}

function whatOf({ kind, schema }: FormField): string | undefined {
  switch (kind.type) {
    case "number":
      return "a number";
    case "integer":
      return "a whole number";
    case "text": {
      const { format } = schema;
      return typeof format === "string" && Object.hasOwn(FORMATS, format)
        ? FORMATS[format]
        : undefined;
    }
    case "boolean":
    case "choice":
      return undefined;
    default:
      return kind satisfies never;
  }
}

export type FieldValue =
  | { readonly type: "value"; readonly value: Json }
  | { readonly type: "absent" }
  /** `problem` is for the person. It does not quote the answer, which may be a secret. */
  | { readonly type: "invalid"; readonly problem: string };

export async function toFieldValue(field: FormField, answer: Json): Promise<FieldValue> {
  if (isEmptyAnswer(field, answer)) {
    if (!field.isRequired) return { type: "absent" };
    return { type: "invalid", problem: "An answer is required." };
  }
  const value = valueOf(field, answer);
  if (value !== undefined && (await matchesSchema(field.schema, value, CHECK_MS)))
    return { type: "value", value };
  return { type: "invalid", problem: "That answer is not valid." };
}

function isEmptyAnswer({ kind }: FormField, answer: Json): boolean {
  if (kind.type !== "choice") return typeof answer === "string" && answer.trim() === "";
  if (Array.isArray(answer)) return answer.length === 0;
  return answer === LEAVE_OUT && kind.options.every(({ value }) => value !== LEAVE_OUT);
}

/** Undefined if the answer does not fit the field. */
function valueOf({ kind, schema }: FormField, answer: Json): Json | undefined {
  switch (kind.type) {
    case "number":
    case "integer":
      return typeof answer === "string" ? parseNumber(answer.trim()) : undefined;
    case "text":
      return typeof answer === "string" && schema["format"] !== undefined ? answer.trim() : answer;
    case "boolean":
    case "choice":
      return answer;
    default:
      return kind satisfies never;
  }
}

/** A number that JavaScript cannot represent would be sent as a different one. */
function parseNumber(text: string): number | undefined {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  const isExact =
    Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return isExact ? value : undefined;
}

/** Puts a server's text on one line. May be empty. */
export function shortLine(text: string): string {
  return cut(text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim(), MAX_LINE_LENGTH);
}

/** Limits a server's text to what a person can be expected to read. */
export function shortText(text: string): string {
  return cut(text.trim(), MAX_TEXT_LENGTH);
}

function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const start = text.slice(0, maxLength - 1).replace(/[\uD800-\uDBFF]$/, ""); // Half a surrogate pair.
  return `${start}…`;
}
