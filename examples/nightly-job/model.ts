/** A scripted model in place of a real one, such as `openai("gpt-5")` of the AI SDK. */
import { ScriptedModel } from "jp-ts/testing";

export const model = new ScriptedModel({
  replies: ({ parts }) => {
    const last = parts.events.at(-1);
    if (last?.type === "tool_call_response") return last.content;
    return [{ type: "tool_call", id: "call_1", name: "deploy" }];
  },
});
