/**
 * `tell_user`: lets the assistant tell you something in the middle of a turn. It has no special powers: a script that
 * prints these blocks, with the same style in its config, works just as well.
 */
import type { ParameterConfig } from "../../../settings/config/index.ts";
import { toParametersSchema } from "../parameters-schema.ts";
import { defineTool } from "../../../record/tool/index.ts";
import type { ShippedTool } from "./builtin-executor.ts";

/** Sent with every request, so that the model follows the advice in it. */
const DESCRIPTION = [
  "Show the user a message in the middle of your turn, and continue. Use it for what the user should read",
  "before the task is finished, exactly as you write it: progress with specific numbers, a part of the result, or",
  "the answer to a question the user asked meanwhile. The message may be Markdown and is shown as chat.",
  "Do not use it for narration or reasoning, nor for your final answer: end your turn with a normal message",
  "for that. It cannot ask: you get no reply, only a confirmation.",
].join(" ");

const PARAMETERS: Readonly<Record<string, ParameterConfig>> = {
  message: { type: "string", required: true, description: "the message, as Markdown" },
};

/** The result for the model, which knows the message from its own call. */
const ACKNOWLEDGEMENT = "Message shown to user.";

/** The tool `tell_user`. */
export function createTellUser(): ShippedTool {
  return {
    tool: tellUser,
    effect: "reads",
    config: {
      source: "builtin",
      // "No tools" does not switch it off, just like `ask_user`.
      enable: { state: true, allow_toggle: "if_named" },
      run: "unattended",
      result: "unattended",
      description: DESCRIPTION,
      parameters: PARAMETERS,
      style: {
        header: "off",
        parameters: "off",
        inline_results: { user: "chat", assistant: "off" },
      },
    },
  };
}

const tellUser = defineTool<{ readonly message: string }>({
  name: "tell_user",
  description: DESCRIPTION,
  parameters: toParametersSchema(PARAMETERS),
  isIdempotent: true,
  run: ({ message }) => {
    if (message.trim() === "") throw new Error("The message is empty. Nothing was shown.");
    return {
      content: [
        {
          type: "text",
          text: message,
          mimeType: "text/markdown",
          annotations: { audience: ["user"] },
        },
        { type: "text", text: ACKNOWLEDGEMENT, annotations: { audience: ["assistant"] } },
      ],
    };
  },
});
