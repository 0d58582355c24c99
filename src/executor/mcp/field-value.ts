/** From the answer to a field's question to the value that its server gets, if it fits. */
import vm from "node:vm";
import type { FormField } from "../../mcp/index.ts";
import type { Json } from "../../util/index.ts";
import { LEAVE_OUT } from "./field-question.ts";

export type FieldValue =
  | { readonly type: "value"; readonly value: Json }
  /** Nothing is sent for it. */
  | { readonly type: "absent" }
  /** `problem` is for the person, and does not quote the answer: it may be a secret. */
  | { readonly type: "misfit"; readonly problem: string };

/** The pattern is the server's, and some take longer than anybody wants to wait. A form may have many. */
const PATTERN_MS = 50;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

export async function toFieldValue(field: FormField, answer: Json): Promise<FieldValue> {
  if (isLeftOut(field, answer)) {
    if (!field.isRequired) return { type: "absent" };
    return { type: "misfit", problem: "This has to be answered." };
  }
  const value = valueOf(field, answer);
  if (value !== undefined && (await fits(field, value))) return { type: "value", value };
  return { type: "misfit", problem: "That does not fit." };
}

function isLeftOut({ kind }: FormField, answer: Json): boolean {
  if (kind.type !== "choice") return typeof answer === "string" && answer.trim() === "";
  if (Array.isArray(answer)) return answer.length === 0;
  return answer === LEAVE_OUT && kind.options.every(({ value }) => value !== LEAVE_OUT);
}

/** Undefined if it cannot be one. */
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

/** What a float cannot hold exactly would be sent as another number. */
function parseNumber(text: string): number | undefined {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  const isExact =
    Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return isExact ? value : undefined;
}

async function fits({ schema }: FormField, value: Json): Promise<boolean> {
  const { Validator } = await import("@cfworker/json-schema");
  const { pattern, ...rest } = schema;
  if (!new Validator({ ...rest }, "2020-12").validate(value).valid) return false;
  return typeof pattern !== "string" || typeof value !== "string" || matches(pattern, value);
}

/** One that is no pattern, or takes too long, is left to the server. */
function matches(pattern: string, text: string): boolean {
  try {
    const found: unknown = vm.runInNewContext(
      "new RegExp(pattern, 'u').test(text)",
      { pattern, text },
      { timeout: PATTERN_MS },
    );
    return found === true;
  } catch {
    return true;
  }
}
