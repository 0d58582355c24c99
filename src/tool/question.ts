/**
 * What a tool asks, and the kinds of answer there are. How a question is routed, shown or stored is
 * decided elsewhere; how it is written by tools and on disk is in the codecs.
 */
import type { Json } from "../util/index.ts";

/** What kind of answer a question wants. */
export type AnswerType =
  | { readonly type: "boolean" }
  | SelectType
  | { readonly type: "text" }
  /** Text that is never echoed, stored, remembered or shown to a model. */
  | { readonly type: "secret" };

/** A choice among options. */
export interface SelectType {
  readonly type: "select";
  readonly options: readonly SelectOption[];
  /** A text of the person's own is an answer too. */
  readonly allowsOther?: boolean;
  /** The answer is a list, of none, one or several of the options. */
  readonly isMultiple?: boolean;
}

/** Something to choose. */
export interface SelectOption {
  /** A string wherever we write it; records of other programs may hold any JSON here. */
  readonly value: Json;
  readonly description?: string;
  /** What choosing it would come to: a piece of code, a layout. May have several lines. */
  readonly preview?: string;
}

/** `turn`: an answer may be remembered until the turn ends. `none`: asked anew every time. */
export type AnswerReusePolicy = "none" | "turn";

/** A question without its id: the part that is shown, answered and recorded. */
export interface InquiryQuestion {
  /** One line. What needs more room belongs in `context`. */
  readonly text: string;
  readonly context?: string;
  readonly answerType: AnswerType;
  /** A suggestion for the person who answers; recorded in clear, so never a secret. */
  readonly default?: Json;
  /** Only a person, or that person's own configuration, may answer. */
  readonly exclusive: boolean;
  readonly persistence: AnswerReusePolicy;
  /** The person may add a note to the answer. */
  readonly allowsNote?: boolean;
}

/** A question in flight. The id names the slot its answer goes to, within one tool. */
export interface Question extends InquiryQuestion {
  readonly id: string;
}

/** A question whose answer type is known: so is then the type of its answer. */
export type QuestionOf<Type extends AnswerType["type"]> = Question & {
  readonly answerType: Extract<AnswerType, { readonly type: Type }>;
};

/** What a tool author may leave out. */
export interface QuestionOptions {
  /** What has to be seen before answering; it may have many lines. */
  readonly context?: string;
  /** A suggestion for the person who answers; recorded in clear, so never a secret. */
  readonly default?: Json;
  /** Only a person, or that person's own configuration, may answer. */
  readonly exclusive?: boolean;
  /** `turn` unless said otherwise. */
  readonly persistence?: AnswerReusePolicy;
  /** The person may add a note to the answer. */
  readonly allowsNote?: boolean;
}

/** Asks for yes or no. */
export function booleanQuestion(
  id: string,
  text: string,
  options?: QuestionOptions,
): QuestionOf<"boolean"> {
  return createQuestion({ id, text, answerType: { type: "boolean" } as const, ...options });
}

/** Asks for a line of text. */
export function textQuestion(
  id: string,
  text: string,
  options?: QuestionOptions,
): QuestionOf<"text"> {
  return createQuestion({ id, text, answerType: { type: "text" } as const, ...options });
}

/** Asks for a text that is never shown, recorded, or given to a model. */
export function secretQuestion(
  id: string,
  text: string,
  options?: QuestionOptions,
): QuestionOf<"secret"> {
  return createQuestion({ id, text, answerType: { type: "secret" } as const, ...options });
}

/** What a choice is made of, and what its author may leave out. */
export interface SelectQuestionOptions
  extends QuestionOptions, Pick<SelectType, "allowsOther" | "isMultiple"> {
  readonly options: readonly (string | SelectOption)[];
}

/** A choice of none, one or several: its answer is a list. */
export type MultipleChoice = QuestionOf<"select"> & {
  readonly answerType: { readonly isMultiple: true };
};

/** Asks for one of some options, or for several. */
export function selectQuestion(
  id: string,
  text: string,
  options: SelectQuestionOptions & { readonly isMultiple: true },
): MultipleChoice;
export function selectQuestion(
  id: string,
  text: string,
  options: SelectQuestionOptions,
): QuestionOf<"select">;
export function selectQuestion(
  id: string,
  text: string,
  options: SelectQuestionOptions,
): QuestionOf<"select"> {
  const { options: choices, allowsOther, isMultiple, ...rest } = options;
  const answerType: SelectType = {
    type: "select",
    options: choices.map((choice) => (typeof choice === "string" ? { value: choice } : choice)),
    ...(allowsOther === true && { allowsOther }),
    ...(isMultiple === true && { isMultiple }),
  };
  return createQuestion({ id, text, answerType, ...rest });
}

type QuestionFields = Pick<Question, "id" | "text" | "answerType"> & QuestionOptions;

function createQuestion<Fields extends QuestionFields>(fields: Fields) {
  const { exclusive = false, persistence = "turn" } = fields;
  return { ...fields, exclusive, persistence };
}

export type InquirySource =
  | { readonly source: "tool"; readonly name: string }
  | { readonly source: "assistant" }
  | { readonly source: "user" }
  | { readonly source: "other"; readonly name: string };
