/** What the policy of the turn says of a call. */
import { digestCall, toolIdentity } from "../conversation/index.ts";
import type { CallOfTool, GrantedRule, Verdict } from "../policy/index.ts";
import { plainResultVerdict, plainVerdict } from "../policy/index.ts";
import type { DeliveringTool } from "./asked.ts";
import type { TurnContext } from "./context.ts";
import type { CallableTool } from "./ports.ts";
import { describeCall } from "./subject.ts";

type JudgingContext = Pick<TurnContext, "policy" | "state" | "journal">;

/** Before it runs. */
export async function judge(context: JudgingContext, call: CallOfTool): Promise<Verdict> {
  const { policy } = context;
  if (policy === undefined) return plainVerdict(call.tool.settings);
  const granted = await grantedFor(context, call);
  return policy.judge(granted.length === 0 ? call : { ...call, granted });
}

/** What a person has granted in this turn, for the same tool as it was then. */
async function grantedFor(
  { state, journal }: JudgingContext,
  { tool, arguments: args }: CallOfTool,
): Promise<readonly GrantedRule[]> {
  const grants = state.grantsFor(tool.settings.name);
  if (grants.length === 0) return [];
  const subject = await describeCall({ journal }, { toolCallId: "", tool, arguments: args });
  const identity = toolIdentity(digestCall(subject), subject.source.origin);
  return grants.filter((grant) => grant.identity === identity);
}

/** Before the model sees its result. The tool may be gone by now. */
export async function judgeResult(
  { policy }: Pick<TurnContext, "policy">,
  { tool, ...call }: Omit<CallOfTool, "tool"> & { readonly tool: DeliveringTool | CallableTool },
): Promise<Verdict> {
  if (policy === undefined || !("executor" in tool)) return plainResultVerdict(tool.settings);
  return policy.judgeResult({ ...call, tool });
}
