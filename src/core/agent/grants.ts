/** Grants that a person adds to a yes: which are possible, and saving them once they are on record. */
import {
  type AnswerEvent,
  deciderOf,
  grantOf,
  isDecisionRequest,
  lastTurn,
} from "../../record/conversation/index.ts";
import type { CallOfTool, CheckedGrant, ProposedGrant, Verdict } from "../policy/index.ts";
import { capabilitiesOf } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { TurnContext } from "./context.ts";
import { warnOnce } from "./observer.ts";

/** Grants to offer in a prompt. */
export interface Grantable {
  /** The narrowest useful one first; at least one. */
  readonly proposals: readonly ProposedGrant[];
  readonly check: (rule: JsonObject) => Promise<CheckedGrant>;
}

type GrantContext = Pick<TurnContext, "policy" | "journal">;

/** The part of a decision that determines what can be granted. */
export interface Granting extends CallOfTool {
  /** The verdict of rules and mode. */
  readonly verdict: Verdict;
  /** The id of the tool's own question, if that is being answered. */
  readonly questionId?: string;
}

/** Undefined if only a yes or a no is possible: there is nowhere to save a grant, or it would be asked each time anyway. */
export async function findGrantable(
  { policy }: Pick<TurnContext, "policy">,
  granting: Granting | undefined,
): Promise<Grantable | undefined> {
  if (policy?.grants === undefined || granting === undefined) return undefined;
  const { grants } = policy;
  const { verdict, questionId, ...call } = granting;
  const { mode, needsPerson = false } = verdict;
  if (questionId === undefined && (mode !== "ask" || needsPerson)) return undefined;
  const proposals = await grants.propose(call, questionId);
  if (proposals.length === 0) return undefined;
  return { proposals, check: (rule) => grants.check(rule, call) };
}

/** Why a rule cannot be granted. Undefined if it can. */
export async function explainGrant(
  grantable: Grantable | undefined,
  rule: JsonObject,
): Promise<string | undefined> {
  if (grantable === undefined) return "nothing can be granted with this answer";
  const checked = await grantable.check(rule);
  return "problem" in checked ? checked.problem : undefined;
}

/** Saves the grant of a recorded answer, no matter which process recorded it. The yes counts even if that fails. */
export async function saveGrant(
  context: GrantContext,
  granting: Granting | undefined,
  event: AnswerEvent,
): Promise<void> {
  const { policy, journal } = context;
  const grant = grantOf(event);
  const by = deciderOf(event);
  const isSaved = grant !== undefined && grant.until !== "turn";
  if (!isSaved || by?.kind !== "user" || event.id === undefined || granting === undefined) return;
  const grantable = await findGrantable(context, granting);
  if ((await explainGrant(grantable, grant.rule)) !== undefined) return;
  const request = lastTurn(journal)
    .filter(isDecisionRequest)
    .findLast(({ id }) => id === event.id);
  if (request === undefined) return;
  const { tool, arguments: args } = granting;
  const inquiry = `${journal.conversation}/${event.id}`;
  // As shown to the person: by now the tool may run elsewhere, or differently.
  const shown = capabilitiesOf(request);
  try {
    await policy?.grants?.save({ ...grant, call: { tool, arguments: args }, shown, by, inquiry });
  } catch (error) {
    warnOnce("A permission could not be saved")(error);
  }
}
