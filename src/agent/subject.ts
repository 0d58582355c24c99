/** Describes what a call would do right now, so that it can be compared with what was decided. */
import type { PeopleTarget, TargetTerms } from "../config/index.ts";
import {
  ACTIONS,
  type AttemptStart,
  type CallSubject,
  changedParts,
  type DecisionVoid,
  digestCall,
  digestDelivery,
  type ForWhom,
  isForSome,
  type SubjectDigest,
  type Terms,
  type Timestamp,
  whomOf,
} from "../conversation/index.ts";
import type { ToolSource } from "../tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import type { AskedCall } from "./asked.ts";
import type { TurnContext } from "./context.ts";
import { lastTurn } from "./journal.ts";
import { peopleOfCall } from "./ladder.ts";
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

/** The digest of what is decided about a call, and where its tool comes from, unless it is gone. */
export async function describeDecision(
  context: Pick<TurnContext, "journal">,
  asked: AskedCall,
): Promise<{ readonly subject: SubjectDigest; readonly source: ToolSource | undefined }> {
  const { toolCallId } = asked;
  const { name: tool } = asked.progress.request;
  const whom = whomOfCall(context, asked);
  if (asked.kind === "delivery") {
    const call = { conversation: context.journal.conversation, toolCallId, tool };
    const subject = digestDelivery(call, asked.result, whom);
    const options = { isShared: context.journal.isShared };
    return { subject, source: await asked.tool.describeSource?.(asked.arguments, options) };
  }
  const call = await describeCall(context, asked);
  return { subject: digestCall(call, whom), source: call.source };
}

/** The name of who has started the turn, as far as that is known. */
function starterOf({ journal }: Pick<TurnContext, "journal">): string | undefined {
  const message = lastTurn(journal).find((event) => event.type === "chat_request");
  return message?.startedBy;
}

/** Who decides about a call: as it was asked, if it still waits, whatever the config says by now. */
export function whomOfCall(
  context: Pick<TurnContext, "journal">,
  { kind, progress, verdict }: AskedCall,
): ForWhom {
  const { run, [ACTIONS[kind]]: asked } = progress.permissions;
  if (asked?.request !== undefined && asked.decision === undefined) return whomOf(asked.request);
  const whom = targetNow(context, peopleOfCall({ kind, progress, verdict }));
  if (isForSome(whom)) return whomOf(whom);
  // Whoever had to let it run has to say whether it may run again.
  return kind === "in_doubt" ? whomOf(run?.request ?? {}) : {};
}

/** With who has started the turn, where that matters. */
export function targetNow(context: Pick<TurnContext, "journal">, target: PeopleTarget): ForWhom {
  const isNeeded = target.terms?.notBy !== undefined;
  return whomOfTarget(target, isNeeded ? starterOf(context) : undefined);
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
  context: Pick<TurnContext, "journal">,
  { toolCallId, tool }: Pick<AskedCall, "toolCallId"> & { readonly tool: CallableTool },
  timestamp: Timestamp,
): AttemptStart {
  const isIdempotent = tool.isIdempotent === true && { isIdempotent: true };
  const whom = whomOf(targetNow(context, tool.settings.target ?? {}));
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
