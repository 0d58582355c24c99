/** Describes what a call would do right now, and whom it is for, so that it can be compared with what was decided. */
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
} from "../../record/conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { TurnContext } from "./context.ts";
import { lastTurn } from "./journal.ts";
import type { CallableTool } from "./ports.ts";

/** Reads the tool's files again, each time. Names them so that whoever can continue the turn names them alike. */
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

/** What whom something is for depends on, besides config. */
export type WhomContext = Pick<TurnContext, "journal" | "directory" | "startedBy">;

/** The name of who has started the turn, as far as that is known. */
function starterOf({ journal, startedBy }: WhomContext): string | undefined {
  const message = lastTurn(journal).find((event) => event.type === "chat_request");
  return message?.startedBy ?? startedBy;
}

/** With who has started the turn, where that matters. */
export function targetNow(context: WhomContext, target: PeopleTarget): ForWhom {
  const isNeeded = target.terms?.notBy !== undefined;
  return whomOfTarget(target, isNeeded ? starterOf(context) : undefined);
}

/** With the ids of the people whom it names, as far as they are known. */
export function withIds({ directory }: Pick<TurnContext, "directory">, whom: ForWhom): ForWhom {
  return isForSome(whom) ? { ...whom, ...idsOfNamed(whom, peopleFor(whom, directory)) } : whom;
}

/** `starter` is who has started the turn, as far as that is known. */
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

/** A call that was never started can be run without a doubt, and one that is safe to run twice needs no question. */
export function startOf(
  context: WhomContext,
  { toolCallId, tool }: { readonly toolCallId: string; readonly tool: CallableTool },
  timestamp: Timestamp,
): AttemptStart {
  const isIdempotent = tool.isIdempotent === true && { isIdempotent: true };
  const whom = whomOf(withIds(context, targetNow(context, tool.settings.target ?? {})));
  return { type: "attempt_start", timestamp, toolCallId, ...isIdempotent, ...whom };
}

/** `digest` where nothing can be said about what has changed: older versions recorded none with what they asked. */
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
