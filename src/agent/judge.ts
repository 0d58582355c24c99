/** What the policy of the turn says of a call. */
import type { CallOfTool, Verdict } from "../policy/index.ts";
import { plainResultVerdict, plainVerdict } from "../policy/index.ts";
import type { DeliveringTool } from "./asked.ts";
import type { TurnContext } from "./context.ts";
import type { CallableTool } from "./ports.ts";

/** Before it runs. */
export async function judge(
  { policy }: Pick<TurnContext, "policy">,
  call: CallOfTool,
): Promise<Verdict> {
  return policy?.judge(call) ?? plainVerdict(call.tool.settings);
}

/** Before the model sees its result. The tool may be gone by now. */
export async function judgeResult(
  { policy }: Pick<TurnContext, "policy">,
  { tool, ...call }: Omit<CallOfTool, "tool"> & { readonly tool: DeliveringTool | CallableTool },
): Promise<Verdict> {
  if (policy === undefined || !("executor" in tool)) return plainResultVerdict(tool.settings);
  return policy.judgeResult({ ...call, tool });
}
