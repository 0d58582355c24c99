/** What a field of a form expects, in words for the person who fills it in. */
import type { FormField } from "../../mcp/index.ts";
import { shortLine } from "./foreign-text.ts";

const FORMATS: Readonly<Record<string, string>> = {
  email: "an e-mail address",
  uri: "an address like https://example.com/",
  date: "a date like 2026-01-31",
  "date-time": "a date and time like 2026-01-31T12:00:00Z",
};

const LIMITS: Readonly<Record<string, (limit: string | number) => string>> = {
  minLength: (least) => `at least ${least} characters`,
  maxLength: (most) => `at most ${most} characters`,
  pattern: (pattern) => `that matches ${shortLine(String(pattern))}`,
  minimum: (least) => `at least ${least}`,
  maximum: (most) => `at most ${most}`,
  exclusiveMinimum: (limit) => `more than ${limit}`,
  exclusiveMaximum: (limit) => `less than ${limit}`,
  multipleOf: (unit) => `a multiple of ${unit}`,
  minItems: (least) => `at least ${least} of them`,
  maxItems: (most) => `at most ${most} of them`,
};

/** As in "a whole number, at least 1". Undefined if the question says it all. */
export function expectationOf(field: FormField): string | undefined {
  const what = whatOf(field);
  const limits = Object.entries(field.schema).flatMap(([key, limit]) =>
    typeof limit === "string" || typeof limit === "number" ? (LIMITS[key]?.(limit) ?? []) : [],
  );
  if (what === undefined && limits.length === 0) return undefined;
  return [what ?? (field.kind.type === "text" ? "a text" : "a choice"), ...limits].join(", ");
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
