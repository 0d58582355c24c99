/** Turns the arguments of `ask_user` into questions, or explains to the assistant what to correct. */
import {
  booleanQuestion,
  explainMisfit,
  type Question,
  type SelectOption,
  selectQuestion,
  textQuestion,
  withoutOther,
} from "../../../record/tool/index.ts";
import { assertNever, isJsonObject, type Json, type JsonObject } from "../../../util/index.ts";

export type ReadQuestions =
  | { readonly type: "questions"; readonly questions: readonly Question[] }
  /** The text for the assistant. */
  | { readonly type: "error"; readonly message: string };

/** Config calls the first one `answer`, as older versions do. */
const QUESTION_IDS = ["answer", "answer_2", "answer_3", "answer_4"] as const;
export const MORE_IDS = QUESTION_IDS.slice(1);

/** The types of `args` have been checked against the schema; their meaning has not. */
export function readQuestions(args: JsonObject): ReadQuestions {
  const { more = [], ...first } = args;
  const asked = [first, ...(Array.isArray(more) ? more.filter(isJsonObject) : [])];
  const questions: Question[] = [];
  for (const [index, one] of asked.entries()) {
    const id = QUESTION_IDS[index];
    if (id === undefined) {
      return toError(`\`more\` can have at most ${MORE_IDS.length} questions.`);
    }
    const where = index === 0 ? "" : `\`more[${index - 1}]\`: `;
    const problem = findProblem(one);
    if (problem !== undefined) return toError(`${where}${problem}`);
    questions.push(toQuestion(id, one));
  }
  return { type: "questions", questions };
}

function toError(message: string): ReadQuestions {
  return { type: "error", message };
}

function findProblem(asked: JsonObject): string | undefined {
  const { question, options } = asked;
  if (typeof question !== "string" || question.trim() === "") {
    return "`question` is missing or empty: write the question on a single line.";
  }
  if (/[\r\n]/.test(question)) {
    return "`question` contains a line break: write a single line, and put the rest into `context`.";
  }
  const type = typeOf(asked);
  const choices = optionsOf(options);
  if (type === "select" && choices.length === 0) {
    return "`options` is missing or empty: a select needs options to choose from.";
  }
  if (type !== "select" && options !== undefined) {
    return `\`options\` is only for a select: remove it, or set \`answer_type\` to "select".`;
  }
  const values = choices.map(({ value }) => value);
  if (new Set(values).size < values.length) return "`options` contains the same option twice.";
  if (values.some((value) => typeof value === "string" && value.trim() === ""))
    return "`options` contains an empty option: give it a text.";
  const { answerType, default: suggested } = toQuestion("answer", asked);
  if (suggested === undefined) return undefined;
  const misfit = explainMisfit(withoutOther(answerType), suggested);
  return misfit && `\`default\` does not fit \`answer_type\` "${type}": ${misfit}.`;
}

function toQuestion(id: string, asked: JsonObject): Question {
  const { question, context, options, strict } = asked;
  const suggested = defaultOf(asked);
  const text = typeof question === "string" ? question : "";
  const more = {
    ...(typeof context === "string" && context !== "" && { context }),
    // The tool exists to ask you: no one else may answer, and earlier answers are not reused.
    exclusive: true,
    persistence: "none" as const,
    allowsNote: true,
  };
  const create = (): Question => {
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
  };
  // A model's suggestion may not fit.
  return { ...create(), ...(suggested !== undefined && { default: suggested }) };
}

/** The schema declares the default as a string. */
function defaultOf(asked: JsonObject): Json | undefined {
  const { default: suggested } = asked;
  const isTruth = typeOf(asked) === "boolean" && (suggested === "true" || suggested === "false");
  return isTruth ? suggested === "true" : suggested;
}

/** The schema rejects all other types. */
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
