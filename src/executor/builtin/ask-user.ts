/** `ask_user`: the assistant puts a question to the person in the middle of a turn. */
import type { ParameterConfig } from "../../config/index.ts";
import {
  answerFits,
  type BuiltinTool,
  isOther,
  type Outcome,
  type Question,
  type ToolCall,
} from "../../tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { toParametersSchema } from "../parameters-schema.ts";
import { FURTHER_IDS, readQuestions } from "./ask-user-questions.ts";
import type { ShippedTool } from "./builtin-executor.ts";

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

/** Sent with every request, so that the advice in it is heard. */
const DESCRIPTION = [
  "Ask the user a typed question (boolean, select or text) in the middle of a turn and get the answer.",
  "Use it only if you cannot go on without something that only the user knows or may decide: not in",
  "the conversation, not to be found with your other tools. If in doubt, answer the user's request",
  "directly. Do not ask for confirmation of obvious next steps, and do not ask again what was answered.",
  "Ask related questions together with `more`, in one call.",
  "Never ask for secrets (passwords, API keys, passphrases): answers are returned to you and stored in",
  "the conversation.",
  "If nobody can answer, the call fails and says so: then do not call it again in this turn; go on",
  "without the answer, or say what is missing. No answer is ever made up for the user.",
].join(" ");

const option: ParameterConfig = {
  type: ["string", "object"],
  description: "an option: its text, or an object that says more about it",
  properties: {
    value: { type: "string", required: true, description: "the text of the option" },
    description: { type: "string", description: "one line on what choosing it means" },
    preview: { type: "string", description: "what it would look like; may have several lines" },
  },
};

const question: Readonly<Record<string, ParameterConfig>> = {
  question: {
    type: "string",
    required: true,
    description: "the question, on a single line",
  },
  context: {
    type: "string",
    description: "what the user needs to know to answer; shown above, may have several lines",
  },
  answer_type: {
    type: "string",
    enum: ["boolean", "select", "text"],
    description: 'the kind of answer; "text" if absent',
  },
  options: {
    type: "array",
    items: option,
    description: "what to choose from; needed for a select, and only for that",
  },
  default: {
    type: ["boolean", "string"],
    description: "the suggested answer; for a select, one of the options",
  },
  strict: {
    type: "boolean",
    description: "for a select: only the options count, no answer in the user's own words",
  },
};

const PARAMETERS: Readonly<Record<string, ParameterConfig>> = {
  ...question,
  more: {
    type: "array",
    description: "up to three further questions that belong to this one; asked together as a form",
    items: { type: "object", properties: question },
  },
};
