/**
 * Questions that tools ask, and the types of their answers. Routing, display and storage are decided
 * elsewhere; the JSON forms are in the codecs.
 */
import type { Json } from "../../util/index.ts";

/** The type of a question's answer. */
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
  /** The user may type another answer instead of choosing an option. */
  readonly allowsOther?: boolean;
  /** The answer is a list of zero or more options. */
  readonly isMultiple?: boolean;
}

/** One option of a choice. */
export interface SelectOption<Value extends Json = Json> {
  /** jp always writes a string; records of other programs may contain any JSON. */
  readonly value: Value;
  readonly title?: string; // Shown instead of the value.
  readonly description?: string;
  /** Shows what choosing it means, such as code or a layout. May have several lines. */
  readonly preview?: string;
}

/** `turn`: an answer may be remembered until the turn ends. `none`: the user is asked every time. */
export type AnswerReusePolicy = "none" | "turn";

/** A question without its id: the part that is shown, answered and recorded. */
export interface InquiryQuestion {
  /** One line. Anything longer belongs in `context`. */
  readonly text: string;
  readonly context?: string;
  readonly answerType: AnswerType;
  /** The suggested answer. Recorded in plain text, so it must not be a secret. */
  readonly default?: Json;
  /** Only the user, or the user's own config, may answer; never a model. */
  readonly exclusive: boolean;
  readonly persistence: AnswerReusePolicy;
  /** The user may add a note to the answer. */
  readonly allowsNote?: boolean;
  /** A yes makes the tool do something: it needs the right to approve, and Enter alone never gives it. */
  readonly acts?: boolean;
  /**
   * A label for everything that an answer for the whole turn covers, as the prompt shows it: "all edits this turn".
   * Answers are remembered by this label and the question's id. Without it, by id and text.
   */
  readonly rememberAs?: string;
  /**
   * The tool's own digest of the answer's subject, at most 1,024 bytes. The tool gets it back with the answer, and asks
   * again if it no longer holds.
   */
  readonly binding?: string;
  /**
   * Only these may answer, among those that config allows: the tool can narrow that, and never widen it. No model may
   * answer then.
   */
  readonly for?: Addressee | readonly Addressee[];
}

/** A question being asked. The tool finds the answer under this id. */
export interface Question extends InquiryQuestion {
  readonly id: string;
}

/** Someone who may decide: a person by name, or anyone with the role. */
export type Addressee = { readonly user: string } | { readonly role: string };

/** The name is recorded with every request, and shown on one line. */
export function isAddresseeName(name: string): boolean {
  return /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u.test(name) && name.trim() !== "";
}

/** More would not fit on a line, and would be confusing. */
export const MAX_ADDRESSEES = 16;

/** The people and roles that the tool names. Undefined if it names none. */
export function addresseesOf({
  for: named,
}: Pick<InquiryQuestion, "for">): readonly Addressee[] | undefined {
  return named === undefined || isList(named) ? named : [named];
}

function isList(named: Addressee | readonly Addressee[]): named is readonly Addressee[] {
  return Array.isArray(named);
}

declare const answer: unique symbol;

/** A question whose answer type the compiler knows. `textQuestion` and the like create them. */
export interface TypedQuestion<Answer, Id extends string = string> extends Question {
  readonly id: Id;
  /** Never set: it only carries the type. */
  readonly [answer]?: Answer;
}

/** The type of the answer to a question: any JSON if the compiler knows no more. */
export type AnswerTo<Asked extends Question> =
  Asked extends TypedQuestion<infer Answer> ? (unknown extends Answer ? Json : Answer) : never;

/** Who asks. Set by the executor that runs the tool; neither config nor tool output can change it. */
export type InquirySource =
  | { readonly source: "tool"; readonly name: string }
  | { readonly source: "assistant" }
  | { readonly source: "user" }
  | { readonly source: "other"; readonly name: string };

/** A prompt a tool sends to a model. The model sees nothing of the conversation. */
export interface ModelPrompt {
  readonly systemPrompt?: string;
  /** Starts and ends with a message of the user. */
  readonly messages: readonly PromptMessage[];
  /** The maximum length of the reply, unless the model's own limit is lower. */
  readonly maxTokens: number;
}

/** A message of a `ModelPrompt`. */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** The optional parts of a question a tool asks. */
export interface QuestionOptions<Default extends Json = Json> {
  /** Text that the user should read before answering. May have many lines. */
  readonly context?: string;
  /** The suggested answer. Recorded in plain text, so it must not be a secret. */
  readonly default?: Default;
  /** Only the user, or the user's own config, may answer; never a model. */
  readonly exclusive?: boolean;
  /** Defaults to `turn`. */
  readonly persistence?: AnswerReusePolicy;
  /** The user may add a note to the answer. */
  readonly allowsNote?: boolean;
  /** A yes makes the tool do something. Always true for `exclusive` questions. */
  readonly acts?: boolean;
  /** A label for everything that an answer for the whole turn covers, as the prompt shows it: "all edits this turn". */
  readonly rememberAs?: string;
  /**
   * A digest of the answer's subject, at most 1,024 bytes. If it differs when the call runs again, the answer does not
   * count, and the question is asked again.
   */
  readonly binding?: string;
  /** Only these may answer, among those that config allows. */
  readonly for?: Addressee | readonly Addressee[];
}

/** Asks for yes or no. */
export function booleanQuestion<const Id extends string>(
  id: Id,
  text: string,
  options?: QuestionOptions<boolean>,
): TypedQuestion<boolean, Id> {
  return createQuestion({ id, text, answerType: { type: "boolean" }, ...options });
}

/** Asks for a line of text. */
export function textQuestion<const Id extends string>(
  id: Id,
  text: string,
  options?: QuestionOptions<string>,
): TypedQuestion<string, Id> {
  return createQuestion({ id, text, answerType: { type: "text" }, ...options });
}

/** Asks for text that is never shown, recorded, or sent to a model. */
export function secretQuestion<const Id extends string>(
  id: Id,
  text: string,
  options?: QuestionOptions<string>,
): TypedQuestion<string, Id> {
  return createQuestion({ id, text, answerType: { type: "secret" }, ...options });
}

/** The options of a choice, and its optional parts. */
export interface SelectQuestionOptions<
  Option extends string = string,
  Other extends boolean = boolean,
  Multiple extends boolean = boolean,
> extends QuestionOptions<ChoiceAnswer<NoInfer<Option>, NoInfer<Other>, NoInfer<Multiple>>> {
  readonly options: readonly (Option | SelectOption<Option> | SelectOption)[];
  /** The user may type another answer instead of choosing an option. */
  readonly allowsOther?: Other;
  /** The answer is a list of zero or more options. */
  readonly isMultiple?: Multiple;
}

/** The answer to a choice: one of its options, any text with `allowsOther`, a list with `isMultiple`. */
export type ChoiceAnswer<
  Option extends string,
  Other extends boolean,
  Multiple extends boolean,
> = Multiple extends true ? readonly Chosen<Option, Other>[] : Chosen<Option, Other>;

type Chosen<Option, Other> = true extends Other ? string : Option;

/** Asks the user to choose one option, or several with `isMultiple`. */
export function selectQuestion<
  const Option extends string,
  Other extends boolean = false,
  Multiple extends boolean = false,
  const Id extends string = string,
>(
  id: Id,
  text: string,
  options: SelectQuestionOptions<Option, Other, Multiple>,
): TypedQuestion<ChoiceAnswer<Option, Other, Multiple>, Id> {
  const { options: choices, allowsOther, isMultiple, ...rest } = options;
  const answerType: SelectType = {
    type: "select",
    options: choices.map((choice) => (typeof choice === "string" ? { value: choice } : choice)),
    ...(allowsOther === true && { allowsOther }),
    ...(isMultiple === true && { isMultiple }),
  };
  return createQuestion({ id, text, answerType, ...rest });
}

type QuestionFields<Id> = Pick<Question, "text" | "answerType"> &
  QuestionOptions & { readonly id: Id };

function createQuestion<Id extends string>(
  fields: QuestionFields<Id>,
): Question & { readonly id: Id } {
  const { exclusive = false, persistence = "turn" } = fields;
  return { ...fields, exclusive, persistence };
}
