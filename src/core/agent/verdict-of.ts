/** The policy's verdict on a call. */
import { toolIdentities } from "../../record/conversation/index.ts";
import type { CallOfTool, GrantedRule, Verdict } from "../policy/index.ts";
import { plainResultVerdict, plainVerdict } from "../policy/index.ts";
import { capabilitiesOf, coversCapabilities } from "../../record/tool/index.ts";
import type { DeliveringTool } from "./asked.ts";
import type { TurnContext } from "./context.ts";
import type { CallableTool } from "./ports.ts";
import { describeCall } from "./subject.ts";

type VerdictContext = Pick<TurnContext, "policy" | "state" | "journal">;

/** The verdict before the call runs. */
export async function verdictOf(context: VerdictContext, call: CallOfTool): Promise<Verdict> {
  const { policy } = context;
  if (policy === undefined) return plainVerdict(call.tool.settings);
  const granted = await grantedFor(context, call);
  return policy.verdictOf(granted.length === 0 ? call : { ...call, granted });
}

/** Rules that a person granted in this turn, if the tool is still the same and can do no more than then. */
async function grantedFor(
  { state, journal }: VerdictContext,
  { tool, arguments: args }: CallOfTool,
): Promise<readonly GrantedRule[]> {
  const grants = state.grantsFor(tool.settings.name);
  if (grants.length === 0) return [];
  const subject = await describeCall({ journal }, { toolCallId: "", tool, arguments: args });
  const identities = toolIdentities(subject);
  const asked = capabilitiesOf(subject.source);
  return grants.filter(
    (grant) => identities.includes(grant.identity) && coversCapabilities(grant.shown, asked),
  );
}

/** The verdict before the model sees the result. The tool may be gone by now. */
export async function resultVerdictOf(
  { policy }: Pick<TurnContext, "policy">,
  { tool, ...call }: Omit<CallOfTool, "tool"> & { readonly tool: DeliveringTool | CallableTool },
): Promise<Verdict> {
  if (policy === undefined || !("executor" in tool)) return plainResultVerdict(tool.settings);
  return policy.resultVerdictOf({ ...call, tool });
}
