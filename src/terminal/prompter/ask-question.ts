/** Asks one question of a tool or of the assistant. */
import type { PromptRequest, PromptResult } from "../../agent/index.ts";
import { oneLine } from "../../render/index.ts";
import { assertNever } from "../../util/index.ts";
import { type Answered, answerQuestion } from "./answer-question.ts";
import type { Dialogue } from "./dialogue.ts";

export async function askQuestion(
  { inquiryId, question, label, tool, questionId }: Omit<PromptRequest, "signal">,
  dialogue: Dialogue,
): Promise<PromptResult> {
  const message = oneLine(question.text);
  await dialogue.start();
  dialogue.notify(message);
  if (question.context !== undefined) dialogue.printContext(question.context);
  if (label !== undefined) dialogue.printLabel(label);
  const result = await answerQuestion(
    { question, message, covers: { tool, questionId } },
    dialogue,
  );
  switch (result.type) {
    case "answered":
      dialogue.printClosed({ message, said: result.said });
      return toResult(inquiryId, result);
    case "cancelled":
      dialogue.printClosed({ message, said: "cancelled", isCancelled: true });
      return { inquiryId, type: "cancelled" };
    case "aborted":
      return { inquiryId, type: "interrupted" };
    default:
      return assertNever(result);
  }
}

export function toResult(inquiryId: PromptRequest["inquiryId"], answered: Answered): PromptResult {
  const { said: _said, ...result } = answered;
  return { inquiryId, ...result };
}
