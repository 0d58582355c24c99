/** `ask_user`: the assistant puts a question to the person in the middle of a turn. */
import {
  answerFits,
  type BuiltinTool,
  isOther,
  type Outcome,
  type Question,
  type ToolCall,
} from "../../../tool/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";
import { toParametersSchema } from "../../../json-schema/index.ts";
import type { ShippedTool } from "../shipped-tool.ts";
import { DESCRIPTION, PARAMETERS } from "./ask-user-schema.ts";
import { FURTHER_IDS, readQuestions } from "./asked-questions.ts";

const LABEL = { prompt_label: "Assistant" };

/** The tool `ask_user`: with it the assistant asks the person. */
export function createAskUser(): ShippedTool {
  return {
    tool: askUser,
    config: {
      source: "builtin",
      // On, and not meant when somebody says "no tools": without it the assistant cannot ask at all.
      enable: { state: true, allow_toggle: "if_named" },
      // The question is the interaction; a prompt about the prompt would be one too many.
      run: "unattended",
      result: "unattended",
      description: DESCRIPTION,
      parameters: PARAMETERS,
      questions: {
        answer: LABEL,
        ...Object.fromEntries(FURTHER_IDS.map((id) => [id, LABEL])),
      },
      style: { hidden: true, inline_results: "off", results_file_link: "off", parameters: "off" },
    },
  };
}

const askUser: BuiltinTool = {
  name: "ask_user",
  description: DESCRIPTION,
  parameters: toParametersSchema(PARAMETERS),
  inquirySource: () => ({ source: "assistant" }),
  execute: async (call) => ask(call),
};

/** Entered first without answers, then with them. */
function ask({ arguments: args, answers, notes = {} }: ToolCall): Outcome {
  const asked = readQuestions(args);
  if (asked.type === "error") return failure(asked.message);
  const { questions } = asked;
  const [question, ...more] = questions.filter(({ id }) => !Object.hasOwn(answers, id));
  if (question !== undefined) {
    return { type: "needs_input", question, ...(more.length > 0 && { more }) };
  }
  const results: JsonObject[] = [];
  for (const each of questions) {
    const answer = answers[each.id] ?? null;
    if (!answerFits(each.answerType, answer)) {
      return failure("the accumulated answer does not match the requested answer type");
    }
    results.push(toResult(each, answer, notes[each.id]));
  }
  const [first = {}, ...further] = results;
  const content = { ...first, ...(further.length > 0 && { more: further }) };
  return { type: "success", content: JSON.stringify(content) };
}

/** The type goes along: `true`, an option "true" and the text "true" are three answers. */
function toResult({ answerType }: Question, answer: Json, note: string | undefined): JsonObject {
  const isOwn = answerType.type === "select" && isOther(answerType, answer);
  return {
    answer_type: answerType.type,
    answer,
    ...(isOwn && { other: true }),
    ...(note !== undefined && { note }),
  };
}

function failure(message: string): Outcome {
  return { type: "error", message, trace: [], transient: false };
}
