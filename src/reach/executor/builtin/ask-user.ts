/** `ask_user`: lets the assistant ask you questions in the middle of a turn. */
import type { ParameterConfig } from "../../../settings/config/index.ts";
import {
  answerFits,
  type Tool,
  isOther,
  type Outcome,
  type Question,
  textQuestion,
  type ToolCall,
} from "../../../record/tool/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";
import { toParametersSchema } from "../parameters-schema.ts";
import { MORE_IDS, readQuestions } from "./ask-user-questions.ts";
import type { ShippedTool } from "./builtin-executor.ts";

/** Sent with every request, so that the model follows the advice in it. */
const DESCRIPTION = [
  "Ask the user a typed question (boolean, select or text) in the middle of a turn and get the answer.",
  "Use it only if you cannot continue without something that only the user knows or can decide, and",
  "that you cannot find in the conversation or with your other tools. If in doubt, answer the user's",
  "request directly. Do not ask the user to confirm obvious next steps, and do not repeat a question",
  "that was answered. Ask related questions together in one call, with `more`.",
  "Never ask for secrets (passwords, API keys, passphrases): answers are returned to you and stored in",
  "the conversation.",
  "If the user cannot be reached, the call fails and says so. Do not call it again in this turn:",
  "continue without the answer, or say what is missing. No answer is ever made up for the user.",
].join(" ");

/** One type for each parameter: the chat templates of some local models cannot render several. */
const OPTION: ParameterConfig = {
  type: "object",
  properties: {
    value: { type: "string", required: true, description: "the text of the option" },
    description: { type: "string", description: "one line on what choosing it means" },
    preview: { type: "string", description: "what it would look like; may have several lines" },
  },
};

const QUESTION: Readonly<Record<string, ParameterConfig>> = {
  question: {
    type: "string",
    required: true,
    description: "the question, on a single line",
  },
  context: {
    type: "string",
    description:
      "what the user needs to know to answer; shown above the question, may have several lines",
  },
  answer_type: {
    type: "string",
    enum: ["boolean", "select", "text"],
    description: 'the type of the answer; default: "text"',
  },
  options: {
    type: "array",
    items: OPTION,
    description: 'the options to choose from; required for "select", not allowed otherwise',
  },
  default: {
    type: "string",
    description:
      'the suggested answer; for "boolean", "true" or "false"; for "select", one of the options',
  },
  strict: {
    type: "boolean",
    description: 'for "select": accept only the options, not an answer in the user\'s own words',
  },
};

const PARAMETERS: Readonly<Record<string, ParameterConfig>> = {
  ...QUESTION,
  more: {
    type: "array",
    description: "up to three related questions, asked together with this one as a form",
    items: { type: "object", properties: QUESTION },
  },
};

const LABEL = { prompt_label: "Assistant" };

/** The tool `ask_user`. */
export function createAskUser(): ShippedTool {
  return {
    tool: askUser,
    effect: "reads",
    config: {
      source: "builtin",
      // "No tools" does not switch it off: without it the assistant could not ask at all.
      enable: { state: true, allow_toggle: "if_named" },
      // The question itself is the prompt; asking for permission to ask would be one too many.
      run: "unattended",
      result: "unattended",
      description: DESCRIPTION,
      parameters: PARAMETERS,
      questions: {
        answer: LABEL,
        ...Object.fromEntries(MORE_IDS.map((id) => [id, LABEL])),
      },
      style: { hidden: true, inline_results: "off", parameters: "off" },
    },
  };
}

const askUser: Tool = {
  name: "ask_user",
  description: DESCRIPTION,
  parameters: toParametersSchema(PARAMETERS),
  isIdempotent: true,
  // Only their ids are known before a call.
  questions: Object.fromEntries(
    ["answer", ...MORE_IDS].map((id) => [id, textQuestion(id, "A question of the assistant.")]),
  ),
  inquirySource: () => ({ source: "assistant" }),
  execute: async (call) => ask(call),
};

/** Runs first without answers, then again with them. */
function ask({ arguments: args, answers, notes = {} }: ToolCall): Outcome {
  const read = readQuestions(args);
  if (read.type === "error") return toError(read.message);
  const { questions } = read;
  const [question, ...more] = questions.filter(({ id }) => !Object.hasOwn(answers, id));
  if (question !== undefined) {
    return { type: "needs_input", question, ...(more.length > 0 && { more }) };
  }
  const results: JsonObject[] = [];
  for (const each of questions) {
    const answer = answers[each.id] ?? null;
    if (!answerFits(each.answerType, answer)) {
      return toError("the accumulated answer does not match the requested answer type");
    }
    results.push(toResult(each, answer, notes[each.id]));
  }
  const [first = {}, ...others] = results;
  const content = { ...first, ...(others.length > 0 && { more: others }) };
  return { type: "success", content: JSON.stringify(content) };
}

/** Includes the type: `true`, an option "true" and the text "true" are different answers. */
function toResult({ answerType }: Question, answer: Json, note: string | undefined): JsonObject {
  return {
    answer_type: answerType.type,
    answer,
    ...(answerType.type === "select" && isOther(answerType, answer) && { other: true }),
    ...(note !== undefined && { note }),
  };
}

function toError(message: string): Outcome {
  return { type: "error", message, trace: [], transient: false };
}
