/** From what the assistant wrote to questions for a person, or to what it has to write instead. */
import {
  booleanQuestion,
  explainMismatch,
  type Question,
  selectQuestion,
  textQuestion,
  type SelectOption,
  withoutOther,
} from "../../../tool/index.ts";
import { assertNever, isJsonObject, type Json, type JsonObject } from "../../../util/index.ts";

export type AskedQuestions =
  | { readonly type: "questions"; readonly questions: readonly Question[] }
  /** What the assistant is told. */
  | { readonly type: "error"; readonly message: string };

/** The first is called as config and older versions know it. */
const QUESTION_IDS = ["answer", "answer_2", "answer_3", "answer_4"] as const;

/** Its kinds of value were checked against the schema before; what it means was not. */
export function readQuestions(args: JsonObject): AskedQuestions {
  const { more = [], ...first } = args;
  const asked = [first, ...(Array.isArray(more) ? more.filter(isJsonObject) : [])];
  const questions: Question[] = [];
  for (const [index, one] of asked.entries()) {
    const id = QUESTION_IDS[index];
    if (id === undefined) {
      return wrong(`\`more\` holds at most ${QUESTION_IDS.length - 1} further questions.`);
    }
    const where = index === 0 ? "" : `\`more[${index - 1}]\`: `;
    const problem = findProblem(one);
    if (problem !== undefined) return wrong(`${where}${problem}`);
    questions.push(toQuestion(id, one));
  }
  return { type: "questions", questions };
}

export const FURTHER_IDS = QUESTION_IDS.slice(1);

function wrong(message: string): AskedQuestions {
  return { type: "error", message };
}

function findProblem(asked: JsonObject): string | undefined {
  const { question, options, default: suggested } = asked;
  if (typeof question !== "string" || question.trim() === "") {
    return "`question` is missing or empty: write the question, on one line.";
  }
  if (/[\r\n]/.test(question)) {
    return "`question` has a line break: write one line, and put everything else into `context`.";
  }
  const type = typeOf(asked);
  const choices = optionsOf(options);
  if (type === "select" && choices.length === 0) {
    return "`options` is missing or empty: a select needs the options to choose from.";
  }
  if (type !== "select" && options !== undefined) {
    return `\`options\` is only for a select: leave it out, or set \`answer_type\` to "select".`;
  }
  const values = choices.map(({ value }) => value);
  if (new Set(values).size < values.length) return "`options` holds the same option twice.";
  if (values.some((value) => typeof value === "string" && value.trim() === ""))
    return "`options` holds an empty option: give it a text.";
  if (suggested === undefined) return undefined;
  const misfit = explainMismatch(withoutOther(toQuestion("answer", asked).answerType), suggested);
  return misfit && `\`default\` does not fit \`answer_type\` "${type}": ${misfit}.`;
}

function toQuestion(id: string, asked: JsonObject): Question {
  const { question, context, default: suggested, options, strict } = asked;
  const text = typeof question === "string" ? question : "";
  const more = {
    ...(typeof context === "string" && context !== "" && { context }),
    ...(suggested !== undefined && { default: suggested }),
    // Only a person can answer, every time anew: this is what the tool is for.
    exclusive: true,
    persistence: "none" as const,
    allowsNote: true,
  };
  const type = typeOf(asked);
  switch (type) {
    case "boolean":
      return booleanQuestion(id, text, more);
    case "select":
      return selectQuestion(id, text, {
        ...more,
        options: optionsOf(options),
        allowsOther: strict !== true,
      });
    case "text":
      return textQuestion(id, text, more);
    default:
      return assertNever(type);
  }
}

/** The schema lets no other through. */
function typeOf({ answer_type: type }: JsonObject): "boolean" | "select" | "text" {
  return type === "boolean" || type === "select" ? type : "text";
}

function optionsOf(options: Json | undefined): readonly SelectOption[] {
  if (!Array.isArray(options)) return [];
  return options.flatMap((option: Json): SelectOption[] => {
    if (typeof option === "string") return [{ value: option }];
    if (!isJsonObject(option) || typeof option["value"] !== "string") return [];
    const { value, description, preview } = option;
    return [
      {
        value,
        ...(typeof description === "string" && { description }),
        ...(typeof preview === "string" && { preview }),
      },
    ];
  });
}
