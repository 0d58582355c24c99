/**
 * The chain of a conversation's decisions: each link has the digest of the one before, so that nothing can be changed,
 * removed or inserted without breaking all later links. A link records in codes who decided what; the event itself is
 * only committed to, with its own salt, so that it can be shown to one reader and withheld from another. Links are
 * independent of the record: rewriting it does not change them.
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
} from "../../util/index.ts";
import type { ConversationId } from "./conversation-id.ts";
import type { StreamEntry } from "./entry.ts";
import {
  type ConversationEvent,
  type Decider,
  type DecisionSubject,
  type DecisionVote,
  type EventType,
  type InquiryRequest,
  type InquiryResponse,
  isDecisive,
  type PermissionDecision,
  type PermissionRequestEvent,
  type RecordedSignature,
} from "./event.ts";
import { whomToJson } from "./whom.ts";

/** The format of links. Each states its version; in version 1, only the first link of the chain does. */
export const CHAIN_VERSION = 2;

/** One line of a chain. */
export interface ChainLine {
  readonly link: ChainLink;
  /** The salt of the commitment to the event. Not part of the link: with it, guesses can be checked. */
  readonly salt?: string;
}

/** One link: its JSON, all of it covered by its digest. */
export interface ChainLink {
  /** `start`, `event` or `gap`. Other kinds are from a newer version. */
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

/** The version of a link, which determines its fields. */
export function versionOf({ json }: ChainLink): number {
  const { version } = json;
  return typeof version === "number" ? version : 1;
}

/** The digest that commits to an event without revealing it. */
export function commitTo(raw: JsonObject, salt: string): string {
  return sha256(`${salt}.${storedText(raw)}`);
}

/** Whether a link commits to this event. */
export function isLinkOf({ link: { json }, salt }: ChainLine, raw: JsonObject): boolean {
  const isLike = json["type"] === raw["type"] && json["at"] === raw["timestamp"];
  return isLike && salt !== undefined && json["event"] === commitTo(raw, salt);
}

/** Codes for why a link is not about an event. */
export type GapReason =
  /** The record had decisions before there was a chain, or the chain was removed. */
  | "no_chain"
  /** The end of the chain was lost, in a crash or deliberately. */
  | "torn";

/** Creates the links that follow a head. */
export class ChainBuilder {
  readonly #conversation: ConversationId;
  readonly #keys = new ChoiceKeys();
  #seq: number;
  #head: string;

  /** `tail`: the end of the chain, at least the links of the current turn. Empty for a new chain. */
  constructor(conversation: ConversationId, tail: readonly ChainLine[] = []) {
    const head = tail.at(-1)?.link;
    this.#conversation = conversation;
    this.#seq = head === undefined ? 0 : head.seq + 1;
    this.#head = head === undefined ? "" : hashLink(head);
    for (const { link, salt } of tail) this.#keys.add(link.json, salt);
  }

  /** The digest of the last link. Empty without one. */
  get head(): string {
    return this.#head;
  }

  /** How many links there are. */
  get length(): number {
    return this.#seq;
  }

  /** `origin`: the conversation that this one was copied from, and the head of its chain then. */
  start(origin?: ChainOrigin): ChainLine {
    const copied = origin && { copy_of: { conversation: origin.conversation, head: origin.head } };
    return this.#line("start", { conversation: this.#conversation, ...copied });
  }

  gap(reason: GapReason): ChainLine {
    return this.#line("gap", { reason });
  }

  /** `isRebuilt`: created later, from the record. */
  event(entry: StreamEntry, salt: string, isRebuilt = false): ChainLine {
    const { link } = this.#line("event", {
      ...linkContentOf(entry, this.#keys),
      event: commitTo(entry.raw, salt),
      ...(isRebuilt && { rebuilt: true }),
    });
    this.#keys.add(link.json, salt);
    return { link, salt };
  }

  #line(kind: string, content: JsonObject): ChainLine {
    const [seq, prev] = [this.#seq, this.#head];
    const json = { kind, seq, prev, version: CHAIN_VERSION, ...content };
    const link = { kind, seq, prev, json };
    this.#seq += 1;
    this.#head = hashLink(link);
    return { link };
  }
}

/** The original of a copied conversation. */
export interface ChainOrigin {
  readonly conversation: ConversationId;
  /** Empty if it had no chain. */
  readonly head: string;
}

/** The consequences of a decision: linked only for calls that have a decision. */
const OUTCOMES: ReadonlySet<EventType | undefined> = new Set([
  "attempt_start",
  "tool_call_response",
] satisfies readonly EventType[]);

/** Picks the entries of a turn that get links, in order. */
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

/**
 * How jp knows who decided. Derived from the channel if not on record. `os_user`: someone with an account on this
 * machine that can run jp there. `token`: a holder of the desk's token.
 */
export function authenticationOf({
  auth,
  channel,
}: {
  readonly auth?: string;
  readonly channel: string;
}): string {
  if (auth !== undefined) return auth;
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

/**
 * The fields of a link that come from its event: codes, names and digests, enough to judge the decision again, and
 * nothing that was typed or shown. `docs/proof.md` describes them; a new field requires a new version of links.
 */
export function linkContentOf({ event, raw }: StreamEntry, keys: ChoiceKeys): JsonObject {
  const summary = event === undefined ? {} : summarize(event, keys);
  const content: Record<string, Json> = {
    type: raw["type"] ?? null,
    at: raw["timestamp"] ?? null,
  };
  for (const [name, value] of Object.entries(summary)) {
    if (value !== undefined) content[name] = value;
  }
  const text = JSON.stringify(content);
  return hasLoneSurrogates(text)
    ? (parseJson(withoutLoneSurrogates(text)) as JsonObject) // The object as it is read back.
    : content;
}

type Summary = Readonly<Record<string, Json | undefined>>;

function summarize(event: ConversationEvent, keys: ChoiceKeys): Summary {
  switch (event.type) {
    case "permission_request":
    case "inquiry_request":
      return summarizeRequest(event);
    case "permission_decision":
    case "inquiry_response":
    case "decision_vote":
      return { ...summarizeAnswer(event), ...answerToJson(event, keys) };
    case "inquiry_escalation":
      return {
        id: event.id,
        decision: event.outcome,
        ...(event.outcome !== "cancelled" && byToJson(event.answeredBy)),
        deadline: event.deadline,
      };
    case "decision_void":
      return { id: event.id, changed: event.changed };
    case "attempt_start":
      return { call: event.toolCallId, ...whomToJson(event) };
    case "tool_call_response":
      return { call: event.id, failed: event.isError };
    default:
      return {};
  }
}

function summarizeRequest(event: PermissionRequestEvent | InquiryRequest): Summary {
  if (event.type === "permission_request") {
    const { id, toolCallId: call, tool, action } = event;
    return { id, call, tool, action, ...termsToJson(event) };
  }
  const { answerType, allowsNote } = event.question;
  return {
    id: event.id,
    call: event.toolCallId,
    question: event.questionId,
    ...termsToJson(event),
    answer_type: answerType.type,
    ...(allowsNote === true && { allows_note: true }),
  };
}

function summarizeAnswer(event: Answer): Summary {
  switch (event.type) {
    case "permission_decision":
      return {
        id: event.id,
        call: event.toolCallId,
        tool: event.tool,
        action: event.action,
        decision: event.decision,
        cause: event.cause,
        by: deciderJson(event.decidedBy),
        ...(event.result !== undefined && { result: true }),
        ...(event.reason !== undefined && { note: true }),
      };
    case "inquiry_response":
      return {
        id: event.id,
        decision: event.outcome,
        ...(event.outcome !== "cancelled" && byToJson(event.answeredBy)),
        ...(event.outcome === "answered" && event.note !== undefined && { note: true }),
      };
    case "decision_vote":
      return {
        id: event.id,
        call: event.toolCallId,
        decision: event.decision ?? "answered",
        by: deciderJson(event.by),
        ...(event.result !== undefined && { result: true }),
      };
    default:
      return event satisfies never;
  }
}

/** The requirements of a decision. Leaves out the label of what an answer for the turn covers, because it was shown. */
function termsToJson(event: DecisionSubject): Summary {
  const { takes, deadline, subject } = event;
  const { turn, note } = takes ?? {};
  return {
    ...whomToJson(event),
    takes: takes && {
      ...(turn !== undefined && { turn: { code: turn.code } }),
      ...(note !== undefined && { note }),
    },
    deadline,
    shown: subject?.digest,
  };
}

type Answer = InquiryResponse | PermissionDecision | DecisionVote;

function answerToJson(event: Answer, keys: ChoiceKeys): Summary {
  const { digest, signature } = event;
  return {
    decided: digest,
    choice: choiceOf(event, keys),
    signature: signature && signatureToJson(signature),
    ...("grant" in event && event.grant !== undefined && { grant: true }),
  };
}

function byToJson(by: Decider | undefined): Summary {
  return by === undefined ? {} : { by: deciderJson(by) };
}

/** Who decided, on which surface, and how jp knows, as recorded. The text of rules is only in the event. */
function deciderJson(by: Decider): JsonObject {
  switch (by.kind) {
    case "user": {
      const { kind, channel, auth, name, personId, role, onBehalfOf, scope } = by;
      return {
        kind,
        surface: channel,
        ...(auth !== undefined && { auth }),
        ...(name !== undefined && { name }),
        ...(personId !== undefined && { person_id: personId }),
        ...(role !== undefined && { role }),
        ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }),
        ...(scope !== undefined && { scope }),
      };
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

/** The claimed key. The signature itself is in the event. */
function signatureToJson(signature: RecordedSignature): JsonObject {
  if ("unknown" in signature) return { type: "unknown" };
  const { type, key } = signature;
  return { type, key };
}

/**
 * The salts for hashing choices: that of the link that asks, so that equal answers to one request can be recognized,
 * but neither guessed nor compared with answers to another. For a doubt without a request, that of the start of its
 * call.
 */
export class ChoiceKeys {
  readonly #asked = new Map<string, string>();
  readonly #started = new Map<string, string>();

  /** Adds a link and its salt. */
  add({ type, id, call }: JsonObject, salt: string | undefined): void {
    if (salt === undefined) return;
    const isRequest = type === "permission_request" || type === "inquiry_request";
    if (isRequest && typeof id === "string") this.#asked.set(id, salt);
    if (type === "attempt_start" && typeof call === "string") this.#started.set(call, salt);
  }

  /** Undefined if the chain has neither link. */
  find(id: string | undefined, call: string | undefined): string | undefined {
    return this.#asked.get(id ?? "") ?? this.#started.get(call ?? "");
  }
}

/** The answer, or the result given instead, so that equal votes can be recognized. */
function choiceOf(event: Answer, keys: ChoiceKeys): string | undefined {
  const call = "toolCallId" in event ? event.toolCallId : undefined;
  const key = keys.find(event.id, call);
  const answer = "answer" in event ? event.answer : undefined;
  const chosen = ("result" in event ? event.result?.content : undefined) ?? answer;
  if (key === undefined || chosen === undefined) return undefined;
  return sha256(`${key}.choice.${storedText(chosen)}`);
}

/** Canonical JSON as it is read back: a record has no lone surrogates. */
function storedText(json: Json): string {
  const text = canonicalJson(json);
  return hasLoneSurrogates(text) ? canonicalJson(parseJson(withoutLoneSurrogates(text))) : text;
}

function hasLoneSurrogates(text: string): boolean {
  return text.includes(String.raw`\ud`);
}
