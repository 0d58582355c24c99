/** The prompt for each type of answer. */
import type { ReadStream, WriteStream } from "node:tty";
import { AbortPromptError, CancelPromptError, ExitPromptError } from "@inquirer/core";
import type { PromptResult } from "../../agent/index.ts";
import { oneLine } from "../../render/index.ts";
import type { InquiryQuestion } from "../../tool/index.ts";
import { assertNever, type Json } from "../../util/index.ts";
import { booleanPrompt } from "./boolean-prompt.ts";

export interface PromptStreams {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly signal: AbortSignal;
}

/** Throws when it is cancelled: see `isCancelled`. */
export async function prompt(
  question: InquiryQuestion,
  context: PromptStreams,
): Promise<PromptResult> {
  const message = oneLine(question.text);
  const { answerType, default: suggested } = question;
  switch (answerType.type) {
    case "boolean": {
      const canRemember = question.persistence === "turn";
      const config = {
        message,
        canRemember,
        ...(typeof suggested === "boolean" && { default: suggested }),
      };
      return { type: "answered", ...(await booleanPrompt(config, context)) };
    }
    case "select": {
      const { default: select } = await import("@inquirer/select");
      const choices = answerType.options.map(({ value, description }) => ({
        value: value as {}, // Any JSON but nothing: what an option is worth.
        name: oneLine(typeof value === "string" ? value : JSON.stringify(value)),
        ...(description !== undefined && { description: oneLine(description) }),
      }));
      const config = {
        message,
        choices,
        ...(suggested !== undefined && { default: suggested as {} }),
      };
      return answered(await select(config, context));
    }
    case "text": {
      const { default: ask } = await import("@inquirer/input");
      const config = { message, ...(typeof suggested === "string" && { default: suggested }) };
      return answered(await ask(config, context));
    }
    case "secret": {
      const { default: password } = await import("@inquirer/password");
      return answered(await password({ message, mask: false, toggleMask: false }, context));
    }
    default:
      return assertNever(answerType);
  }
}

function answered(answer: Json): PromptResult {
  return { type: "answered", answer, isRemembered: false };
}

export function isCancelled(error: unknown): boolean {
  return (
    error instanceof ExitPromptError ||
    error instanceof AbortPromptError ||
    error instanceof CancelPromptError
  );
}
