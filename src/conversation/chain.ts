/**
 * The chain of a conversation's decisions: what was asked and decided, each link with the digest of the one before, so that
 * nothing can be changed, left out or put in between without all later links showing it. A link says in codes who decided
 * what; the event itself is only committed to, with a salt of its own, so that it can be shown to one reader and kept from
 * another. Links stand for themselves: whatever rewrites the record does not touch them.
 */
import {
  canonicalJson,
  integerField,
  isJsonObject,
  type Json,
  type JsonObject,
  parseJson,
  sha256,
  type Shape,
  shapeOf,
  stringField,
  withoutLoneSurrogates,
} from "../util/index.ts";
import type { ConversationId } from "./conversation-id.ts";
import type { StreamEntry } from "./entry.ts";
import {
  type ConversationEvent,
  type Decider,
  type EventType,
  isDecisive,
  type RecordedSignature,
} from "./event.ts";
import { whomToJson } from "./whom.ts";

/** How links are made. */
const CHAIN_VERSION = 1;

/** One line of a chain. */
export interface ChainLine {
  readonly link: ChainLink;
  /** Of the commitment to the event. Not part of the link: whoever has it can check guesses. */
  readonly salt?: string;
}

/** One link: its JSON, all of which its digest covers. */
export interface ChainLink {
  /** `start`, `event` or `gap`. Others are of a newer version. */
  readonly kind: string;
  /** Counted from 0. */
  readonly seq: number;
  /** The digest of the link before. Empty in the first. */
  readonly prev: string;
  readonly json: JsonObject;
}

/** The digest of a link, in hexadecimal digits. */
export function hashLink({ json }: ChainLink): string {
  return sha256(canonicalJson(json));
}

/** The digest that commits to an event, without saying what it is. */
export function commitTo(raw: JsonObject, salt: string): string {
  const text = canonicalJson(raw);
  // As it can be read again: a record has no lone surrogates.
  const stored = text.includes(String.raw`\ud`)
    ? canonicalJson(parseJson(withoutLoneSurrogates(text)))
    : text;
  return sha256(`${salt}.${stored}`);
}

/** Why a link is not about an event. Codes. */
export type GapReason =
  /** The record had decisions before there was a chain, or the chain was removed. */
  | "no_chain"
  /** The end of the chain was lost, in a crash or by someone. */
  | "torn";

/** Makes the links that follow a head. */
export class ChainBuilder {
  readonly #conversation: ConversationId;
  #seq: number;
  #head: string;

  /** Without a head, a new chain. */
  constructor(conversation: ConversationId, head?: ChainLink) {
    this.#conversation = conversation;
    this.#seq = head === undefined ? 0 : head.seq + 1;
    this.#head = head === undefined ? "" : hashLink(head);
  }

  /** The digest of the last link. Empty if there is none. */
  get head(): string {
    return this.#head;
  }

  /** How many links there are. */
  get length(): number {
    return this.#seq;
  }

  /** `origin`: the conversation that this one is a copy of, and the head of its chain then. */
  start(origin?: ChainOrigin): ChainLine {
    const copied = origin && { copy_of: { conversation: origin.conversation, head: origin.head } };
    return this.#line("start", {
      version: CHAIN_VERSION,
      conversation: this.#conversation,
      ...copied,
    });
  }

  gap(reason: GapReason): ChainLine {
    return this.#line("gap", { reason });
  }

  /** `isRebuilt`: it was made later, from the record. */
  event(entry: StreamEntry, salt: string, isRebuilt = false): ChainLine {
    const { event, raw } = entry;
    const summary = event === undefined ? {} : summarize(event);
    const link = this.#line("event", {
      type: raw["type"] ?? null,
      at: raw["timestamp"] ?? null,
      ...summary,
      event: commitTo(raw, salt),
      ...(isRebuilt && { rebuilt: true }),
    });
    return { ...link, salt };
  }

  #line(kind: string, content: Readonly<Record<string, Json | undefined>>): ChainLine {
    const [seq, prev] = [this.#seq, this.#head];
    const json: Record<string, Json> = { kind, seq, prev };
    for (const [key, value] of Object.entries(content)) if (value !== undefined) json[key] = value;
    const link = { kind, seq, prev, json };
    this.#seq += 1;
    this.#head = hashLink(link);
    return { link };
  }
}

/** A conversation that another one is a copy of. */
export interface ChainOrigin {
  readonly conversation: ConversationId;
  /** Empty if it had no chain. */
  readonly head: string;
}

/** What came of a decision: links only for calls that someone or something has decided about. */
const OUTCOMES: ReadonlySet<EventType | undefined> = new Set([
  "attempt_start",
  "tool_call_response",
] satisfies readonly EventType[]);

/** Picks the entries of a turn that are links, in order. */
export class ChainedEntries {
  readonly #calls = new Set<string>();

  pick(entries: readonly StreamEntry[]): readonly StreamEntry[] {
    return entries.filter((entry) => this.#isLink(entry));
  }

  #isLink({ eventType, raw }: StreamEntry): boolean {
    if (eventType === "turn_start") this.#calls.clear();
    const call =
      raw["tool_call_id"] ?? (eventType === "tool_call_response" ? raw["id"] : undefined);
    if (isDecisive(eventType)) {
      if (typeof call === "string") this.#calls.add(call);
      return true;
    }
    return OUTCOMES.has(eventType) && typeof call === "string" && this.#calls.has(call);
  }
}

type Summary = Readonly<Record<string, Json | undefined>>;

/** What an auditor asks for, in codes, names and digests: nothing that was typed or shown. */
function summarize(event: ConversationEvent): Summary {
  switch (event.type) {
    case "permission_request":
      return {
        id: event.id,
        call: event.toolCallId,
        tool: event.tool,
        action: event.action,
        ...whomToJson(event),
        shown: event.subject?.digest,
      };
    case "inquiry_request":
      return {
        id: event.id,
        call: event.toolCallId,
        question: event.questionId,
        ...whomToJson(event),
        shown: event.subject?.digest,
      };
    case "permission_decision":
      return {
        id: event.id,
        call: event.toolCallId,
        tool: event.tool,
        action: event.action,
        decision: event.decision,
        cause: event.cause,
        decided: event.digest,
        by: deciderJson(event.decidedBy, event.signature),
      };
    case "inquiry_response":
    case "inquiry_escalation":
      return {
        id: event.id,
        decision: event.outcome,
        ...(event.type === "inquiry_response" && { decided: event.digest }),
        ...(event.outcome !== "cancelled" &&
          event.answeredBy !== undefined && {
            by: deciderJson(event.answeredBy, "signature" in event ? event.signature : undefined),
          }),
      };
    case "decision_vote":
      return {
        id: event.id,
        call: event.toolCallId,
        decision: event.decision ?? "answered",
        decided: event.digest,
        by: deciderJson(event.by, event.signature),
      };
    case "decision_void":
      return { id: event.id, changed: event.changed };
    case "attempt_start":
      return { call: event.toolCallId };
    case "tool_call_response":
      return { call: event.id, failed: event.isError };
    default:
      return {};
  }
}

/** Who decided, on what surface, and how jp knows. The text of rules is only in the event. */
function deciderJson(by: Decider, signature?: RecordedSignature): JsonObject {
  switch (by.kind) {
    case "user": {
      const { kind, channel, name, scope, role, onBehalfOf } = by;
      const auth = signingOf(signature) ?? by.auth ?? authOf(channel);
      const named = {
        ...(name !== undefined && { name }),
        ...(role !== undefined && { role }),
        ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }),
      };
      return { kind, surface: channel, auth, ...named, ...(scope !== undefined && { scope }) };
    }
    case "policy": {
      const { kind, key, rules = [] } = by;
      const named = rules.map(({ from, key: place, file, rule }) => ({
        from,
        key: place,
        ...(file !== undefined && { file }),
        rule: sha256(canonicalJson(rule)),
      }));
      return { kind, key, ...(named.length > 0 && { rules: named }) };
    }
    case "unknown":
      return { kind: "unknown" };
    default:
      return { ...by };
  }
}

/** A signature says more than how someone has logged in. */
function signingOf(signature: RecordedSignature | undefined): "key" | "passkey" | undefined {
  if (signature === undefined || "unknown" in signature) return undefined;
  return signature.type === "webauthn" ? "passkey" : "key";
}

/** `os_user`: whoever has an account on this machine that can run jp there. `token`: whoever has the desk's token. */
function authOf(channel: string): string {
  if (channel === "desk") return "token";
  return channel === "terminal" || channel === "cli" ? "os_user" : "none";
}

/** Throws `SyntaxError`, `ShapeError`. */
export function parseChainLine(text: string): ChainLine {
  const line = shapeOf(parseJson(text), "line");
  const { link, salt } = line.value;
  if (!isJsonObject(link)) throw new SyntaxError("link: not an object");
  return {
    link: parseLink(link),
    ...(typeof salt === "string" && { salt }),
  };
}

/** Throws `ShapeError`. */
export function parseLink(json: JsonObject): ChainLink {
  const shape: Shape = shapeOf(json, "link");
  return {
    kind: stringField(shape, "kind"),
    seq: integerField(shape, "seq"),
    prev: stringField(shape, "prev"),
    json,
  };
}

export function chainLineToText({ link, salt }: ChainLine): string {
  return `${JSON.stringify({ link: link.json, ...(salt !== undefined && { salt }) })}\n`;
}
