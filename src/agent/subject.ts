/** Describes what a call would do right now, so that it can be compared with what was decided. */
import {
  type CallSubject,
  changedParts,
  type DecisionVoid,
  digestCall,
  digestDelivery,
  type SubjectDigest,
  type Timestamp,
} from "../conversation/index.ts";
import type { ToolSource } from "../tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import type { AskedCall } from "./asked.ts";
import type { TurnContext } from "./context.ts";
import type { CallableTool } from "./ports.ts";

/** Reads the tool's files again, each time. */
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
  const source = await tool.describeSource(args);
  return { conversation: journal.conversation, toolCallId, tool: name, source, arguments: args };
}

/** The digest of what is decided about a call, and where its tool comes from, unless it is gone. */
export async function describeDecision(
  context: Pick<TurnContext, "journal">,
  asked: AskedCall,
): Promise<{ readonly subject: SubjectDigest; readonly source: ToolSource | undefined }> {
  const { toolCallId } = asked;
  const { name: tool } = asked.progress.request;
  if (asked.kind === "delivery") {
    const call = { conversation: context.journal.conversation, toolCallId, tool };
    const subject = digestDelivery(call, asked.result);
    return { subject, source: await asked.tool.describeSource?.(asked.arguments) };
  }
  const call = await describeCall(context, asked);
  return { subject: digestCall(call), source: call.source };
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
