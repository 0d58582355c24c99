/** A tool that asks before it pays, and the call of it. */
import { defineTool, type Tool } from "../../src/index.ts";
import { booleanQuestion } from "../../src/record/tool/index.ts";

export const CALL = { type: "tool_call", id: "call_1", name: "pay", arguments: {} } as const;

/** `seen` gets the answers. */
export function payTool(seen: unknown[] = []): Tool {
  return defineTool({
    name: "pay",
    description: "Pays.",
    parameters: { type: "object" },
    async run(_args, { ask }) {
      const isSure = await ask(booleanQuestion("sure", "Pay?"));
      seen.push(isSure);
      return isSure ? "Paid." : "Not paid.";
    },
  });
}
