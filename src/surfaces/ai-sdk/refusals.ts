/**
 * Refuses jp tools that rely on what the AI SDK cannot provide, because it has no record and does not know who answers.
 * They are refused on conversion, or, if only a call reveals it, in the call before anyone is asked.
 */
import type { Question, Tool } from "../../record/tool/index.ts";
import { JpError } from "../../util/index.ts";

/** How questions are answered: by a function during the call, by the call's approval, or by a client, step by step. */
export type Way = "function" | "approval" | "client";

/** Throws `unsupported_tool`. */
export function assertSupported({ name, hasSteps = false, questions = {} }: Tool, way: Way): void {
  if (hasSteps) {
    throw new JpError(
      "unsupported_tool",
      `${name} runs steps with \`once\`, and the AI SDK has no record that could keep a step from running twice.`,
      { hint: "Run it in a conversation of jp, or pass `idempotencyKey` to the service instead." },
    );
  }
  const refusal = findRefusal(Object.values(questions), way);
  if (refusal === undefined) return;
  throw new JpError("unsupported_tool", `${name} asks ${refusal.what}.`, { hint: refusal.hint });
}

/** Throws `unanswerable_question` unless all of them can be answered. */
export function assertAnswerable({ name }: Tool, questions: readonly Question[], way: Way): void {
  const refusal = findRefusal(questions, way);
  if (refusal === undefined) return;
  const message = `${name} asks ${refusal.what}. Do not retry this call.`;
  throw new JpError("unanswerable_question", message, { hint: refusal.hint });
}

interface QuestionRefusal {
  /** Completes the sentence "it asks …". */
  readonly what: string;
  readonly hint: string;
}

const OTHER_WAY = "Pass a function as `ask`, or use toClientTool.";

function findRefusal(questions: readonly Question[], way: Way): QuestionRefusal | undefined {
  for (const { text, for: named } of questions) {
    if (named === undefined) continue;
    const what = `${JSON.stringify(text)} of certain people, and nothing here says who answers`;
    return { what, hint: "Run it in a conversation of jp." };
  }
  if (way !== "approval") return undefined;
  const what = explainApproval(questions);
  return what === undefined ? undefined : { what, hint: OTHER_WAY };
}

/** Why a call's approval cannot answer these. */
function explainApproval([question, ...more]: readonly Question[]): string | undefined {
  if (question === undefined) return undefined;
  const { text, answerType, binding } = question;
  if (more.length > 0) return `${more.length + 1} questions, and an approval answers one`;
  if (answerType.type !== "boolean") {
    return `${JSON.stringify(text)}, and an approval answers only yes-or-no questions`;
  }
  // The approval comes back without it, perhaps to another process.
  return binding === undefined
    ? undefined
    : `${JSON.stringify(text)} with a binding, which an approval does not have`;
}

/** For a tool that relies on a key that would differ in its next attempt. */
export function keyUnavailable({ name }: Tool): JpError {
  return new JpError(
    "key_unavailable",
    `${name} uses the \`idempotencyKey\` of the call, and there is none that stays the same in each attempt.`,
    { hint: "Pass `idempotencyKey`, with a value that is unique for the call." },
  );
}
