/** What the assistant is told of `ask_user`: when to use it, and how. */
import type { ParameterConfig } from "../../../config/index.ts";

/** Sent with every request, so that the advice in it is heard. */
export const DESCRIPTION = [
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

export const PARAMETERS: Readonly<Record<string, ParameterConfig>> = {
  ...question,
  more: {
    type: "array",
    description: "up to three further questions that belong to this one; asked together as a form",
    items: { type: "object", properties: question },
  },
};
