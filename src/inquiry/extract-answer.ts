/** Takes the answer out of a reply. Whatever a provider promised of its form is checked here again. */
import { explainMismatch, withoutOther } from "../tool/index.ts";
import { findJson, isJsonObject, type Json } from "../util/index.ts";
import type { ReplyForm } from "./answer-schema.ts";

export type Extraction =
  | { readonly type: "answer"; readonly answer: Json }
  /** `message` says what is wrong, in a sentence that the model can act on. */
  | { readonly type: "missing_data" | "invalid_answer"; readonly message: string };

export function extractAnswer(reply: string, { answerType, boundTo }: ReplyForm): Extraction {
  const data = findReplyJson(reply);
  if (data === undefined) return { type: "missing_data", message: "the reply is not JSON" };
  if (!isJsonObject(data) || !Object.hasOwn(data, "answer")) {
    return { type: "missing_data", message: "the reply has no `answer`" };
  }
  if (boundTo !== undefined && data["inquiry_id"] !== boundTo) {
    return { type: "invalid_answer", message: "`inquiry_id` is not that of the question" };
  }
  const answer = data["answer"] as Json; // Its own key, as was just seen.
  const misfit = explainMismatch(withoutOther(answerType), answer);
  return misfit === undefined
    ? { type: "answer", answer }
    : { type: "invalid_answer", message: `\`answer\` does not fit: ${misfit}` };
}

/**
 * The whole reply, or the one block of code in it. JSON in the middle of a sentence does not count: who
 * writes `not {"answer": true}` has not said yes.
 */
function findReplyJson(reply: string): Json | undefined {
  const whole = findJson(reply);
  if (whole !== undefined) return whole;
  const [block, ...others] = reply.matchAll(
    /^[ \t]*```(?:json)?\s*\n(?<code>[\s\S]*?)\n[ \t]*```/gim,
  );
  return others.length > 0 ? undefined : findJson(block?.groups?.["code"] ?? "");
}
