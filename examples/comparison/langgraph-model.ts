/** A scripted model in place of a real one. It asks for the refund, then is done. */
import { FakeBuiltModel } from "@langchain/core/testing";
import { AIMessage, type BaseMessage } from "langchain";

class ScriptedModel extends FakeBuiltModel {
  override async _generate(messages: BaseMessage[]) {
    const args = { order: "A-1", amount: 25 };
    const message =
      messages.at(-1)?.type === "tool"
        ? new AIMessage("Done.")
        : new AIMessage({
            content: "",
            tool_calls: [{ id: crypto.randomUUID(), name: "refund", args }],
          });
    return { generations: [{ text: message.text, message }] };
  }

  override bindTools() {
    return this as never;
  }
}

export const model = new ScriptedModel();
