/**
 * Settling a decision: a reply is signed if required, judged, claimed so that only one counts, and recorded together
 * with its consequences.
 *
 *   reply ─► event ─► signed ─► judged ─┬─► claimed ─► recorded
 *                                       ├─► counted as a vote: it waits for others
 *                                       └─► refused: it stays as it is
 */
import type { PeopleTarget } from "../../../settings/config/index.ts";
import {
  ACTIONS,
  type AnswerEvent,
  type AttemptStart,
  type Decidable,
  type Decider,
  deciderOf,
  type DenialCause,
  explainRefusal,
  findStranger,
  fitReply,
  type ForWhom,
  grantOf,
  type InquiryOutcome,
  isForSeveral,
  isForSigners,
  isNo,
  isSameWhom,
  judge,
  knowledgeFor,
  needsSignature,
  peopleFor,
  type PermissionDecision,
  type Refused,
  type ReplyOrCancel,
  replyToEvent,
  type Ruling,
  signEvent,
  takesNote,
} from "../../../record/conversation/index.ts";
import { checkArguments, type ModelReply } from "../../../reach/executor/index.ts";
import type { Verdict } from "../../policy/index.ts";
import { isDeepEqual, isJpError, type Json, type JsonObject } from "../../../util/index.ts";
import type { AnswerClaim } from "../answer-claims.ts";
import type { Asked, AskedCall } from "../asked.ts";
import { type Granting, saveGrant } from "../grants.ts";
import { peopleAt } from "../ladder.ts";
import type { AnsweredPrompt } from "../ports.ts";
import { personOf } from "../prompts.ts";
import type { PolicyKey } from "../route.ts";
import { startOf, targetNow, voidEvent } from "../subject.ts";
import { verdictOf } from "../verdict-of.ts";
import { checkOf, kindOf } from "./kinds.ts";
import { digestNow, type OpenDecision, questionOf } from "./open.ts";

/** How a decision ended, or why it has not. */
export type Decided =
  | DecidedHere
  /** It stays open on the record, for another process. */
  | { readonly type: "pending" }
  /** The call was stopped first. */
  | { readonly type: "stopped" };

/** It has ended: here, elsewhere, or in an earlier process. */
export interface DecidedHere {
  readonly type: "decided";
  readonly event: AnswerEvent;
  /** False for a policy decision without a request: it is recorded with the next step. */
  readonly isRecorded: boolean;
  /** The answer, if it is a secret. */
  readonly secret?: { readonly answer: Json; readonly note?: string };
  /** Set if a model answered a prompt that the tool wrote for it. */
  readonly reply?: ModelReply;
  /** The text for the model, if the record alone does not say it. */
  readonly message?: string;
}

/** A reply that does not count. The decision stays as it is. */
export type NotCounted = { readonly type: "refused" } & (
  | Refused
  | Extract<Ruling, { readonly code: "changed" | "overdue" }>
);

export const PENDING = { type: "pending" } as const satisfies Decided;

/** A reply and who gave it. */
export interface GivenReply {
  readonly reply: ReplyOrCancel & Pick<AnsweredPrompt, "userName">;
  readonly by: Decider;
  /** The model's reason for its answer. */
  readonly why?: string | undefined;
  readonly modelReply?: ModelReply | undefined;
}

type Live = Omit<Partial<DecidedHere>, "type" | "event" | "isRecorded">;

/** Settles a reply. Drops everything in it that the request does not offer. */
export async function settleReply(
  open: OpenDecision,
  given: GivenReply,
): Promise<Decided | NotCounted> {
  const { asked } = open;
  const { by, why, modelReply } = given;
  const shown = { kind: asked.kind, question: questionOf(asked) };
  const misfit = "isCancelled" in given.reply ? undefined : fitReply(shown, given.reply);
  if (misfit !== undefined) return { type: "refused", ...misfit };
  const reply = withoutExtras(open, given.reply);
  const edited = "arguments" in reply ? reply.arguments : undefined;
  if (asked.kind === "permission" && edited !== undefined) {
    return settleEdited(open, { ...given, reply }, { asked, edited });
  }
  const event = replyToEvent(decidable(open), reply, { by, at: open.now });
  const isReasoned =
    why !== undefined && event.type === "inquiry_response" && event.outcome === "answered";
  const live = {
    ...(modelReply !== undefined && { reply: modelReply }),
    ...secretIn(open.asked, reply),
  };
  return settle(open, isReasoned ? { ...event, answerReason: why } : event, live);
}

/** A prompter or a file may add more than was asked for: a note, or that the answer holds for the turn. */
function withoutExtras(open: OpenDecision, reply: GivenReply["reply"]): GivenReply["reply"] {
  if ("isCancelled" in reply) return reply;
  const { note, isRemembered, ...others } = reply;
  const { takes } = open.shown;
  const question = open.asked.kind === "question" ? open.asked.question : undefined;
  const isNegative = isNo(replyToEvent(decidable(open), others, { by: NO_ONE, at: open.now }));
  const isNoted = note !== undefined && takesNote({ takes, question }, isNegative);
  const isKept = isRemembered === true && takes?.turn !== undefined;
  return { ...others, ...(isNoted && { note }), ...(isKept && { isRemembered }) };
}

/** Used for a no, where the decider does not matter. */
const NO_ONE: Decider = { kind: "default" };

function secretIn(asked: Asked, reply: ReplyOrCancel): Pick<DecidedHere, "secret"> {
  const isSecret = asked.kind === "question" && asked.question.answerType.type === "secret";
  if (!isSecret || "isCancelled" in reply) return {};
  const { answer, note = "" } = reply;
  return { secret: { answer, ...(note !== "" && { note }) } };
}

/** The fields that determine how an answer is recorded. */
function decidable(open: OpenDecision): Decidable {
  const { asked } = open;
  return {
    kind: asked.kind,
    id: open.id,
    tool: asked.tool.settings.name,
    toolCallId: asked.toolCallId,
    question: questionOf(asked),
    digest: open.digest,
    result: asked.kind === "delivery" ? asked.result : undefined,
  };
}

/** Ends a question without an answer. `message` is for the model. */
export function cancelQuestion(
  open: OpenDecision,
  outcome: Extract<InquiryOutcome, { readonly outcome: "cancelled" }>,
  message?: string,
): Promise<Decided | NotCounted> {
  const { id, now: timestamp } = open;
  const event = { type: "inquiry_response", timestamp, id, ...outcome } as const;
  return settle(open, event, message === undefined ? {} : { message });
}

/** A policy's decision about a call. */
export interface ByPolicy {
  readonly isApproved: boolean;
  readonly key: PolicyKey;
  readonly cause?: DenialCause;
  readonly problem?: string;
  /** Set if the verdict is on other arguments than the request's. */
  readonly verdict?: Verdict;
}

/** Recorded now only if someone was asked before; otherwise with the next step. */
export async function decideByPolicy(
  open: OpenDecision,
  { isApproved, key, cause, problem, verdict }: ByPolicy,
): Promise<Decided | NotCounted> {
  const { asked, context } = open;
  const { end } = kindOf(asked);
  if (asked.kind === "question" || end.type !== "denied") {
    throw new Error("questions have no policy");
  }
  const { name: tool } = asked.tool.settings;
  if (cause === "unavailable" && end.denial !== undefined) {
    context.state.addDenial({ tool, what: end.denial });
  }
  if (isApproved) noteUsed(open, asked.verdict);
  const event: PermissionDecision = {
    type: "permission_decision",
    timestamp: open.now,
    toolCallId: asked.toolCallId,
    tool,
    action: ACTIONS[asked.kind],
    decision: isApproved ? "approved" : "denied",
    decidedBy: policyOf(asked, key, verdict),
    ...(cause !== undefined && { cause }),
    ...(problem !== undefined && { problem }),
    ...checkOf(asked),
    digest: open.digest,
  };
  const isAsked = open.request !== undefined || kindOf(asked).void(asked)?.waiting !== undefined;
  if (!isAsked) return { type: "decided", event, isRecorded: false };
  await open.ensureRecorded();
  return settle(open, { ...event, id: open.id });
}

/** The policy that decided without asking: a rule, the mode, or a setting of the tool. */
export function policyOf(asked: Asked, key: PolicyKey = "run", verdict = asked.verdict): Decider {
  const isSetting = key === "detached.run" || key === "detached.deliver";
  if (verdict === undefined || isSetting) {
    const { name } = asked.tool.settings;
    return { kind: "policy", key: `conversation.tools.${name}.${key}` };
  }
  const { key: place, rules } = verdict;
  return { kind: "policy", key: place, ...(rules !== undefined && { rules }) };
}

/** Reports that these rules were used, if rules decided. */
export function noteUsed({ context }: OpenDecision, verdict: Verdict | undefined): void {
  if (verdict?.rules !== undefined) context.policy?.grants?.noteUsed(verdict.rules);
}

/** Signs, judges, claims and records it, in this order. */
async function settle(
  open: OpenDecision,
  given: AnswerEvent,
  live: Live = {},
): Promise<Decided | NotCounted> {
  const event = await sign(open, given);
  if (event === undefined) return PENDING;
  const ruling = await judgeHere(open, event);
  if (ruling === "elsewhere") return settleElsewhere(open);
  if (ruling.code === "counts") {
    const { waiting } = open.context.state;
    await waiting.count(open.id, () => open.context.journal.record(ruling.vote));
    return PENDING;
  }
  if (ruling.code === "repeated") return PENDING;
  if (ruling.code !== "decides") return { type: "refused", ...ruling };
  if (open.item?.takeHere() === false) return settleElsewhere(open);
  await open.context.journal.record(event, ...(await startAfter(open, event)));
  await conclude(open, event);
  return { ...live, type: "decided", event, isRecorded: true };
}

/** Replies that are not a person's were routed here, and need no judge. */
async function judgeHere(open: OpenDecision, event: AnswerEvent): Promise<Ruling | "elsewhere"> {
  if (deciderOf(event)?.kind !== "user") return { code: "decides" };
  const { directory, state } = open.context;
  if (isForSeveral(open.whom)) {
    await state.waiting.counted(open.id);
    if (open.item?.elsewhere !== undefined) return "elsewhere";
  }
  const isEdited = event.type === "permission_decision" && event.arguments !== undefined;
  const asked = open.judged(isEdited ? event.digest : undefined);
  return judge(asked, event, knowledgeFor(asked, event, directory));
}

/**
 * Asks a person to sign before their answer is recorded. Undefined if they cannot: they are told why, and it stays
 * open.
 */
async function sign(open: OpenDecision, event: AnswerEvent): Promise<AnswerEvent | undefined> {
  const { whom, asked, context } = open;
  const { directory, observer } = context;
  // People who may not decide are not asked to sign.
  if (!isForSigners(whom) || !needsSignature(whom, event) || directory?.isReplay === true) {
    return event;
  }
  const stranger = findStranger(whom, deciderOf(event), peopleFor(whom, directory));
  if (stranger !== undefined) return event;
  try {
    return await signEvent(event, directory);
  } catch (error) {
    if (!isJpError(error) || error.code !== "cannot_sign") throw error;
    const { message, hint } = error;
    const notice = hint === undefined ? message : `${message}\n${hint}`;
    const { toolCallId } = asked;
    observer?.observe({ type: "notice", message: notice, inquiryId: open.id, toolCallId });
    return undefined;
  }
}

/** The answer from elsewhere is on record already. */
export async function settleElsewhere(open: OpenDecision): Promise<Decided> {
  const item: AnswerClaim | undefined = open.item;
  const event = await item?.elsewhere;
  if (event === undefined) return PENDING;
  const start = await startAfter(open, event);
  if (start.length > 0) await open.context.journal.record(...start);
  await conclude(open, event);
  const secret = item?.secret?.reveal();
  return { type: "decided", event, isRecorded: true, ...(secret !== undefined && { secret }) };
}

/** The last answer of a round starts the tool again. Both are recorded in one write. */
async function startAfter(
  open: OpenDecision,
  event: AnswerEvent,
): Promise<readonly AttemptStart[]> {
  const { asked, request, context, round } = open;
  if (round === undefined || asked.kind !== "question") return [];
  if (event.type !== "inquiry_response" || event.outcome === "cancelled") return [];
  if (request?.type !== "inquiry_request") return [];
  round.open -= 1;
  round.answered.push({ request, response: event });
  if (round.open > 0 || !(await round.isCurrent(round.answered))) return [];
  round.isStarted = true;
  return [startOf(context, asked, open.now)];
}

/** Updates the memory of the turn, and saves any grant the person added to a yes. */
async function conclude({ asked, request, context }: OpenDecision, event: AnswerEvent) {
  const by = deciderOf(event);
  const isForTurn = by?.kind === "user" && by.scope === "turn";
  const isMore = isForTurn || event.redirects === true || event.grant !== undefined;
  if (request !== undefined && isMore) {
    context.state.remember(asked.tool.settings.name, request, event);
  }
  if (grantOf(event) !== undefined) await saveGrant(context, grantingOf(asked), event);
}

/**
 * Undefined if no rule decides this: a result, a call that may have run, or a question of a tool that is not jp's own,
 * which is about more than whether the call may run.
 */
export function grantingOf(asked: Asked): Granting | undefined {
  if (asked.kind === "delivery" || asked.kind === "in_doubt") return undefined;
  const { verdict, tool, arguments: args } = asked;
  if (verdict === undefined) return undefined;
  const about = { tool, arguments: args, verdict };
  return asked.kind === "question" ? { ...about, questionId: asked.question.id } : about;
}

interface Edit {
  readonly asked: Extract<AskedCall, { readonly kind: "permission" | "in_doubt" }>;
  readonly edited: JsonObject;
}

/** Edited arguments are checked first, and form a new subject. */
async function settleEdited(
  open: OpenDecision,
  given: GivenReply,
  { asked, edited }: Edit,
): Promise<Decided | NotCounted> {
  const { context, whom } = open;
  const { reply, by } = given;
  const deny = (more: Pick<ByPolicy, "cause" | "problem" | "verdict">) =>
    decideByPolicy(open, { isApproved: false, key: "run", ...more });
  const checked = await checkArguments(asked.tool.description, edited);
  if (!checked.ok) return deny({ cause: "prompt_failed", problem: checked.message });
  const { arguments: args } = checked;
  // A rule may deny the edited call.
  const verdict = await verdictOf(context, { tool: asked.tool, arguments: args });
  if (verdict.mode === "skip") return deny({ cause: verdict.cause ?? "skipped", verdict });
  const other = targetNow(context, peopleAfterEdit(open, verdict));
  // The edited call may be for others to decide.
  if (verdict.mode !== "unattended" && by.kind === "user") {
    const who = personOf(context, other, "isCancelled" in reply ? {} : reply);
    const stranger = findStranger(other, who, peopleFor(other, context.directory));
    if (stranger !== undefined) {
      return deny({ cause: "skipped", problem: explainRefusal(stranger, other), verdict });
    }
  }
  const call = { ...asked, arguments: args, verdict };
  // The edited call may have stricter terms than the request.
  const isStricter = other.terms !== undefined && !isSameWhom(other, whom);
  const isPerson = by.kind === "user" && by.auth !== "owner";
  const isYes = "answer" in reply && reply.answer === true;
  if ((isStricter || isForSeveral(whom)) && isPerson && isYes) {
    return askAboutEdited(open, given, { call, whom: isStricter ? other : whom });
  }
  const { digest } = await digestNow(context, call, whom);
  const about = { ...decidable(open), digest };
  const at = open.now;
  return settle(open, replyToEvent(about, { ...reply, arguments: args }, { by, at }));
}

/** Rungs that timed out stay skipped, unless the edited call has other deciders. */
function peopleAfterEdit({ asked, ladder }: OpenDecision, { target = {} }: Verdict): PeopleTarget {
  const isSame = isDeepEqual(target, asked.verdict?.target ?? {});
  return (isSame ? peopleAt(target, ladder.rung) : undefined) ?? target;
}

/** The person has edited the call, which needs a new decision: earlier votes are void. */
async function askAboutEdited(
  open: OpenDecision,
  { reply, by }: GivenReply,
  { call, whom }: { readonly call: AskedCall; readonly whom: ForWhom },
): Promise<Decided> {
  const { journal, state, directory } = open.context;
  const replaced = { id: open.id, changed: ["arguments"] };
  const request = await open.editedRequest(call, whom);
  await state.waiting.counted(open.id);
  if (open.item?.takeHere() === false) return settleElsewhere(open);
  const { id, timestamp, subject } = request;
  const about = { ...decidable(open), id, digest: subject.digest };
  const { arguments: _, ...said } = { arguments: undefined, ...reply };
  const event = replyToEvent(about, said, { by, at: timestamp });
  const asked = { ...request, kind: call.kind, digest: subject.digest };
  // A signature is asked for with the new request.
  const ruling = judge(asked, event, knowledgeFor(asked, event, directory));
  const vote = ruling.code === "counts" ? [ruling.vote] : [];
  await journal.record(voidEvent(replaced, timestamp), request, ...vote);
  return PENDING;
}
