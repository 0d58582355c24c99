/** Encodes an answer that is offered to another process, and its refusal, where both can read them. */
import {
  type AnswerProblem,
  findTimestamp,
  isAnswer,
  isRefusalCode,
  type OfferedAnswer,
  refuse,
  StreamEntry,
} from "../record/conversation/index.ts";
import { isJsonObject, type Json, type JsonObject, messageOf, parseJson } from "../util/index.ts";
import type { AnswerListener, AnswerResult } from "./port.ts";

/** Problems that only the refusal itself states. Everything else is in the record, where both sides read it. */
export type Refusal = Extract<AnswerProblem, { readonly type: "refused" | "other_workspace" }>;

/** An answer and its workspace. */
export interface ReceivedOffer {
  readonly offered: OfferedAnswer;
  /** Undefined if the offer does not name it. */
  readonly workspace: string | undefined;
}

/** Leaves out the secret, which is never in a file. */
export function offeredToJson(
  { event, askedAt }: OfferedAnswer,
  workspace: string | undefined,
): JsonObject {
  const { raw } = StreamEntry.fromEvent(event);
  return {
    event: raw,
    ...(askedAt !== undefined && { asked_at: askedAt }),
    ...(workspace !== undefined && { workspace }),
  };
}

/** Undefined if the offer comes from here. */
export function refusalOf(
  { workspace }: ReceivedOffer,
  here: string | undefined,
): Refusal | undefined {
  if (here === undefined || workspace === here) return undefined;
  return { type: "other_workspace", workspace: here };
}

/**
 * Passes an offer to the listener, unless it cannot be read or comes from another workspace. Undefined if the listener
 * cannot decide. Never throws.
 */
export async function decideOffered(
  read: () => string,
  here: string | undefined,
  listener: AnswerListener,
): Promise<AnswerResult | undefined> {
  let received: ReceivedOffer;
  try {
    received = parseOffered(parseJson(read()));
  } catch (error) {
    return refuse({ code: "unreadable", problem: `it cannot be read: ${messageOf(error)}` });
  }
  return refusalOf(received, here) ?? (await listener(received.offered).catch(() => undefined));
}

export function isRefusal(result: AnswerResult): result is Refusal {
  return result.type === "refused" || result.type === "other_workspace";
}

/** Throws if it is not an answer. */
export function parseOffered(value: Json): ReceivedOffer {
  if (!isJsonObject(value) || !isJsonObject(value["event"])) throw new Error("it has no answer");
  const { event } = StreamEntry.fromJson(value["event"]);
  if (event === undefined || !isAnswer(event)) throw new Error("it is not an answer");
  const askedAt = findTimestamp(value["asked_at"]);
  const { workspace } = value;
  return {
    offered: { event, ...(askedAt !== undefined && { askedAt }) },
    workspace: typeof workspace === "string" ? workspace : undefined,
  };
}

export function refusalToJson({ type: _type, ...refusal }: Refusal): JsonObject {
  return { ...refusal };
}

/** Another version may refuse with a code that this one does not know. */
export function parseRefusal(value: Json): Refusal {
  const { code, reason, workspace } = isJsonObject(value) ? value : {};
  if (typeof workspace === "string") return { type: "other_workspace", workspace };
  const known = isRefusalCode(code) ? code : "unreadable";
  return refuse({ code: known, ...(typeof reason === "string" && { problem: reason }) });
}
