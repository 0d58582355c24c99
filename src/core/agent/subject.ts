/** Describes what a call would do right now and who decides about it, to compare with earlier decisions. */
import type { PeopleTarget, TargetTerms } from "../../settings/config/index.ts";
import {
  type AttemptStart,
  type CallSubject,
  changedParts,
  type DecisionVoid,
  type ForWhom,
  idsOfNamed,
  isForSome,
  peopleFor,
  type SubjectDigest,
  type Terms,
  type Timestamp,
  whomOf,
  lastTurn,
} from "../../record/conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { TurnContext } from "./context.ts";
import type { CallableTool } from "./ports.ts";

/** Reads the tool's files each time. Names them in the same way as every process that can continue the turn. */
export async function describeCall(
  { journal }: Pick<TurnContext, "journal">,
  call: {
    readonly toolCallId: string;
    readonly tool: CallableTool;
    readonly arguments: JsonObject;
  },
): Promise<CallSubject> {
  const { toolCallId, tool, arguments: args } = call;
  const { name } = tool.settings;
  const source = await tool.describeSource(args, { isShared: journal.isShared });
  return { conversation: journal.conversation, toolCallId, tool: name, source, arguments: args };
}

/** The inputs that determine who decides, besides config. */
export type WhomContext = Pick<TurnContext, "journal" | "directory" | "startedBy">;

/** The name of the person who started the turn, if known. */
function starterOf({ journal, startedBy }: WhomContext): string | undefined {
  const message = lastTurn(journal).find((event) => event.type === "chat_request");
  return message?.startedBy ?? startedBy;
}

/** Adds who started the turn, if that matters. */
export function targetNow(context: WhomContext, target: PeopleTarget): ForWhom {
  const isNeeded = target.terms?.notBy !== undefined;
  return whomOfTarget(target, isNeeded ? starterOf(context) : undefined);
}

/** Adds the ids of the people named, as far as they are known. */
export function withIds({ directory }: Pick<TurnContext, "directory">, whom: ForWhom): ForWhom {
  return isForSome(whom) ? { ...whom, ...idsOfNamed(whom, peopleFor(whom, directory)) } : whom;
}

/** `starter` is the person who started the turn, if known. */
export function whomOfTarget({ user, any, terms }: PeopleTarget, starter?: string): ForWhom {
  return {
    ...(user !== undefined && { for: user }),
    ...(any !== undefined && { forAny: any }),
    ...(terms !== undefined && { terms: termsOf(terms, starter) }),
  };
}

function termsOf(
  { quorum, refusal, notBy, proof }: TargetTerms,
  starter: string | undefined,
): Terms {
  return {
    ...(quorum !== undefined && { quorum }),
    ...(refusal === "counts" && { countsRefusals: true }),
    ...(notBy !== undefined && { notBy: starter === undefined ? {} : { name: starter } }),
    ...(proof !== undefined && { isSigned: true }),
  };
}

/** A call that never started can run without a doubt, and one that is safe to repeat needs no question. */
export function startOf(
  context: WhomContext,
  { toolCallId, tool }: { readonly toolCallId: string; readonly tool: CallableTool },
  timestamp: Timestamp,
): AttemptStart {
  const isIdempotent = tool.isIdempotent === true && { isIdempotent: true };
  const whom = whomOf(withIds(context, targetNow(context, tool.settings.target ?? {})));
  return { type: "attempt_start", timestamp, toolCallId, ...isIdempotent, ...whom };
}

/** `digest` if the changes are unknown: older versions recorded no details with their requests. */
export function changesSince(
  before: SubjectDigest | undefined,
  now: SubjectDigest,
): readonly string[] {
  const changed = before === undefined ? [] : changedParts(before, now);
  return changed.length === 0 ? ["digest"] : changed;
}

export function voidEvent(
  { id, changed }: Pick<DecisionVoid, "id" | "changed">,
  timestamp: Timestamp,
): DecisionVoid {
  return { type: "decision_void", timestamp, id, changed };
}
