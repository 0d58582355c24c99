/** Runs a tool that is part of the program, and lets it say who its questions come from. */
import type { PartialToolConfig } from "../../config/index.ts";
import type { BuiltinTool, Outcome } from "../../tool/index.ts";
import { assertNever } from "../../util/index.ts";
import type { AttemptResult, Executor } from "../port.ts";

/** `name` is the one in the config, under which the model knows the tool. */
export function createBuiltinExecutor(tool: BuiltinTool, name: string): Executor {
  return {
    attempt: async ({ call: _call, secretAnswers: _secretAnswers, signal, ...call }) => {
      if (signal.aborted) return { type: "cancelled" };
      const aborted = Promise.withResolvers<AttemptResult>();
      const onAbort = () => aborted.resolve({ type: "cancelled" });
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        const finished = tool
          .execute({ ...call, signal })
          .then((outcome) => toResult(outcome, tool, name));
        return await Promise.race([finished, aborted.promise]);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
  };
}

function toResult(outcome: Outcome, tool: BuiltinTool, name: string): AttemptResult {
  switch (outcome.type) {
    case "success":
      return outcome;
    case "error":
      return { type: "error", content: describeError(outcome) };
    case "needs_input":
      return { ...outcome, source: tool.inquirySource(name) };
    default:
      return assertNever(outcome);
  }
}

/** What the model is told of an error: the message, and what led to it. */
export function describeError({ message, trace }: Extract<Outcome, { type: "error" }>): string {
  return trace.length === 0 ? message : `${message}\n\nTrace:\n${trace.join("\n")}`;
}

/** A tool that comes with the program, and what its config is by itself. */
export interface ShippedTool {
  readonly tool: BuiltinTool;
  readonly config: PartialToolConfig;
  /** It changes nothing and answers nothing: a workspace may configure it before it is trusted. */
  readonly isReadOnly?: true;
}
