/** A scripted model in place of a real one. It asks for the refund, then is done. */
import { randomUUID } from "node:crypto";
import { ScriptedModel } from "jp-ts/testing";

export const model = new ScriptedModel({
  replies: ({ parts }) => {
    if (parts.events.at(-1)?.type === "tool_call_response") return "Done.";
    const args = { order: "A-1", amount: 25 };
    return [{ type: "tool_call", id: randomUUID(), name: "refund", arguments: args }];
  },
});
