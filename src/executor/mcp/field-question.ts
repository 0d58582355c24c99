/** A field of a form as the question that is asked for it. Its words are the server's. */
import type { FormField } from "../../mcp/index.ts";
import { answerFits, type AnswerType, type Question, type SelectOption } from "../../tool/index.ts";
import type { Json } from "../../util/index.ts";
import { expectationOf } from "./field-expectation.ts";
import { shortLine, shortText } from "./foreign-text.ts";

export interface FieldAside {
  readonly id: string;
  /** What stands above the whole form. */
  readonly introduction?: string;
  /** What was wrong with the last answer. */
  readonly problem?: string;
}

/** The option that stands for no value at all. */
export const LEAVE_OUT = "(leave out)";

export function toFieldQuestion(field: FormField, aside: FieldAside): Question {
  const { name, title, isSecret } = field;
  const text = [title ?? "", name, "(a field without a name)"].map(shortLine).find(Boolean) ?? "";
  const context = contextOf(field, aside);
  const answerType = answerTypeOf(field);
  const suggested = suggestionOf(field);
  const hasSuggestion = !isSecret && suggested !== undefined && answerFits(answerType, suggested);
  return {
    id: aside.id,
    text,
    ...(context !== "" && { context }),
    answerType,
    ...(hasSuggestion && { default: suggested }),
    exclusive: false,
    persistence: "turn",
  };
}

function contextOf(field: FormField, { introduction = "", problem = "" }: FieldAside): string {
  const { kind, isRequired, description = "" } = field;
  const expected = expectationOf(field);
  const isTyped = kind.type !== "boolean" && kind.type !== "choice";
  const rules = [
    ...(expected === undefined ? [] : [`Expected: ${expected}.`]),
    ...(isTyped && !isRequired ? ["It may be left empty."] : []),
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
      const options = kind.options.map(({ value, title }): SelectOption =>
        title === undefined ? { value } : { value, description: shortLine(title) },
      );
      if (kind.isMultiple) return { type: "select", options, isMultiple: true };
      const none =
        isRequired || options.some(({ value }) => value === LEAVE_OUT) ? [] : [LEAVE_OUT];
      return { type: "select", options: [...options, ...none.map((value) => ({ value }))] };
    }
    default:
      return kind satisfies never;
  }
}

function suggestionOf({ kind, default: suggested }: FormField): Json | undefined {
  return kind.type !== "boolean" && typeof suggested === "number" ? String(suggested) : suggested;
}
