/** What the policy of the turn says of a call. */
import { digestCall, toolIdentity } from "../../record/conversation/index.ts";
import type { CallOfTool, GrantedRule, Verdict } from "../policy/index.ts";
import { plainResultVerdict, plainVerdict } from "../policy/index.ts";
import { capabilitiesOf, coversCapabilities } from "../../record/tool/index.ts";
import type { DeliveringTool } from "./asked.ts";
import type { TurnContext } from "./context.ts";
import type { CallableTool } from "./ports.ts";
import { describeCall } from "./subject.ts";

type VerdictContext = Pick<TurnContext, "policy" | "state" | "journal">;

/** Before it runs. */
export async function verdictOf(context: VerdictContext, call: CallOfTool): Promise<Verdict> {
  const { policy } = context;
  if (policy === undefined) return plainVerdict(call.tool.settings);
  const granted = await grantedFor(context, call);
  return policy.verdictOf(granted.length === 0 ? call : { ...call, granted });
}

/** What a person has granted in this turn, for the same tool as it was then, and for what it could do then. */
async function grantedFor(
  { state, journal }: VerdictContext,
  { tool, arguments: args }: CallOfTool,
): Promise<readonly GrantedRule[]> {
  const grants = state.grantsFor(tool.settings.name);
  if (grants.length === 0) return [];
  const subject = await describeCall({ journal }, { toolCallId: "", tool, arguments: args });
  const identity = toolIdentity(digestCall(subject), subject.source.origin);
  const asked = capabilitiesOf(subject.source);
  return grants.filter(
    (grant) => grant.identity === identity && coversCapabilities(grant.shown, asked),
  );
}

/** Before the model sees its result. The tool may be gone by now. */
export async function resultVerdictOf(
  { policy }: Pick<TurnContext, "policy">,
  { tool, ...call }: Omit<CallOfTool, "tool"> & { readonly tool: DeliveringTool | CallableTool },
): Promise<Verdict> {
  if (policy === undefined || !("executor" in tool)) return plainResultVerdict(tool.settings);
  return policy.resultVerdictOf({ ...call, tool });
}
