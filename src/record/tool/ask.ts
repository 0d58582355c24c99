/** How a tool in TypeScript asks: an ad hoc question, or a declared one. */
import {
  findClosest,
  JpError,
  type Json,
  messageOf,
  shapeOf,
  stringField,
} from "../../util/index.ts";
import { answerFits } from "./answer.ts";
import type { AnswerTo, InquiryQuestion, Question } from "./question.ts";
import {
  assertReuseFields,
  findDuplicate,
  parseInquiryQuestion,
  questionToWire,
} from "./question-codec.ts";

/** Returns the answer if there is one. Otherwise the call ends here and runs again once there is. */
export type Ask<Id extends string = string> = <Asked extends Question & { readonly id: Id }>(
  question: Asked,
) => Promise<AnswerTo<Asked>>;

/**
 * Asks several questions as one form, and returns the answers under the same keys. Questions that have
 * an answer are not asked again. The ids, not the keys, identify the questions in config and record.
 * Two questions with the same id are an error.
 */
export type AskAll<Id extends string = string> = <
  Questions extends Readonly<Record<string, Question & { readonly id: Id }>>,
>(
  questions: Questions,
) => Promise<{ readonly [Key in keyof Questions]: AnswerTo<Questions[Key]> }>;

/** The questions that a tool declares, by id. */
export type DeclaredQuestions = Readonly<Record<string, Question>>;

/** Asks a declared question by its id: `ask.sure()`. An ad hoc question needs a declared id too. */
export type DeclaredAsk<Questions extends DeclaredQuestions> = Ask<keyof Questions & string> & {
  readonly [Id in keyof Questions]: (
    changes?: QuestionChanges<Questions[Id]>,
  ) => Promise<AnswerTo<Questions[Id]>>;
};

/** A call's changes to a declared question, such as its text or its context. Its id and type stay. */
export type QuestionChanges<Asked extends Question> = Partial<
  Omit<InquiryQuestion, "answerType" | "default">
> & { readonly default?: AnswerTo<Asked> };

/** Throws `invalid_question` for one that could not be asked, or whose id differs from its key. */
export function assertDeclared(tool: string, questions: DeclaredQuestions): void {
  for (const [key, question] of Object.entries(questions)) {
    if (question.id !== key) {
      const message = `The tool ${tool} declares the question "${question.id}" as "${key}". Use its id as the key.`;
      throw new JpError("invalid_question", message);
    }
    try {
      assertQuestion(question);
    } catch (cause) {
      throw new JpError("invalid_question", `The tool ${tool}: ${messageOf(cause)}`, { cause });
    }
  }
}

/** Explains why a tool may not ask this: a typo in an id would silently drop the question's config. */
export function explainUndeclared(
  tool: string,
  asked: readonly Question[],
  declared: DeclaredQuestions,
): string | undefined {
  const unknown = asked.find(({ id }) => !Object.hasOwn(declared, id));
  if (unknown === undefined) return undefined;
  const closest = findClosest(unknown.id, Object.keys(declared));
  const meant = closest === undefined ? "" : ` Did you mean "${closest}"?`;
  return `${tool} asks "${unknown.id}", which it does not declare.${meant}`;
}

/** The answers so far and their bindings, by question id. */
interface Given {
  readonly answers: Readonly<Record<string, Json>>;
  readonly bindings?: Readonly<Record<string, string>>;
}

/** The part of a call that asking needs. See `ToolCall`. */
interface AskingCall extends Given {
  readonly onAsk?: (question: Question) => void;
}

/** `onAsked` gets the questions that have no answer yet. */
export function createAsk(
  { answers, bindings = {}, onAsk }: AskingCall,
  declared: DeclaredQuestions,
  onAsked: (questions: readonly Question[]) => void,
): { readonly ask: Ask; readonly askAll: AskAll } {
  const askAll = async (questions: Readonly<Record<string, Question>>) => {
    const asked = Object.values(questions);
    const duplicate = findDuplicate(asked.map(({ id }) => id));
    if (duplicate !== undefined)
      throw new Error(`askAll: two questions have the id "${duplicate}"`);
    for (const question of asked) onAsk?.(question);
    const open = asked.filter((question) => !isAnswered(question, { answers, bindings }));
    if (open.length > 0) {
      for (const question of open) assertQuestion(question);
      onAsked(open);
      throw new Error(`waiting for an answer to "${open.map(({ id }) => id).join('", "')}"`);
    }
    return Object.fromEntries(Object.entries(questions).map(([key, { id }]) => [key, answers[id]]));
  };
  const ask = (question: Question): Promise<Json | undefined> =>
    handled(askAll({ question }).then((given) => given["question"]));
  for (const [id, question] of Object.entries(declared)) {
    const { answerType } = question;
    // Defined, not assigned: a question may be called `name`, as every function is.
    Object.defineProperty(ask, id, {
      value: (changes: Partial<Question> = {}) => ask({ ...question, ...changes, id, answerType }),
    });
  }
  // `isAnswered` has checked the types of the answers.
  return { ask: ask as Ask, askAll: ((questions) => handled(askAll(questions))) as AskAll };
}

/** A tool may ask twice before it waits for the first answer. Node would end the program for the second rejection. */
export function handled<Value>(asked: Promise<Value>): Promise<Value> {
  asked.catch(() => undefined);
  return asked;
}

/** Throws if an untyped tool made a question that can be neither recorded nor shown. */
function assertQuestion(question: Question): void {
  try {
    const shape = shapeOf(questionToWire(question));
    stringField(shape, "id");
    parseInquiryQuestion(shape);
    assertReuseFields(question);
  } catch (error) {
    const message = `the question "${question.id}" cannot be asked: ${messageOf(error)}`;
    throw new Error(message, { cause: error });
  }
}

/** An answer to something else does not count, except a no, which changes nothing. */
function isAnswered(
  { id, answerType, binding }: Question,
  { answers, bindings }: Required<Given>,
): boolean {
  const answer = Object.hasOwn(answers, id) ? answers[id] : undefined;
  if (answer === undefined || !answerFits(answerType, answer)) return false;
  if (binding === undefined || (answerType.type === "boolean" && answer === false)) return true;
  return Object.hasOwn(bindings, id) && bindings[id] === binding;
}
