/**
 * Extracts the decisions from a chain: each answer with its request and the votes before it. Decisions voided before
 * they took effect do not count, and are left out.
 */
import { type ChainLink, versionOf } from "../record/conversation/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { findText } from "./statement.ts";

/** A link in an export. */
export interface LinkedEvent {
  readonly json: JsonObject;
  readonly seq: number;
  readonly version: number;
  /** Its line in the file, starting at 1. */
  readonly line: number;
}

/** A request, as far as its link describes it. */
export interface LinkedRequest {
  /** Has the fields of a request's link. */
  readonly json: JsonObject;
  readonly version: number;
}

/** An answer and its request. */
export interface LinkedAnswer {
  readonly said: LinkedEvent;
  /** Undefined if no request was pending. */
  readonly asked?: LinkedRequest | undefined;
  readonly votes: readonly LinkedEvent[];
  /** The whole-turn answer that it repeats. */
  readonly given?: LinkedEvent | undefined;
  /** Links are missing before it, possibly including its request. */
  readonly isAfterGap: boolean;
}

interface Open extends LinkedRequest {
  readonly votes: readonly LinkedEvent[];
}

/** The state of an open call that matters if it ends up in doubt. */
interface StartedCall {
  /** The latest request to run it. */
  readonly request?: JsonObject | undefined;
  /** The digest of the last permission, and the start of the call. */
  readonly permitted?: string | undefined;
  readonly start?: LinkedEvent | undefined;
  readonly startedWith?: string | undefined;
}

/** Takes the links of one chain, in order. */
export class LinkedDecisions {
  readonly #open = new Map<string, Open>();
  readonly #calls = new Map<string, StartedCall>();
  readonly #given = new Map<string, LinkedEvent>();
  readonly #answers = new Set<LinkedAnswer>();
  /** Answers that have not taken effect yet, and their calls. */
  readonly #unused = new Map<LinkedAnswer, string>();
  #hasGap = false;

  read(link: ChainLink, line: number): void {
    const { json, seq, kind } = link;
    if (kind === "gap") this.#hasGap = true;
    const event = { json, seq, line, version: versionOf(link) };
    const [id, call] = [findText(json, "id") ?? "", findText(json, "call") ?? ""];
    switch (json["type"]) {
      case "permission_request":
      case "inquiry_request":
        this.#open.set(id, { ...event, votes: [] });
        if (json["action"] === "run") this.#note(call, { request: json });
        break;
      case "inquiry_escalation":
        this.#escalate(id, json);
        break;
      case "decision_vote":
        this.#vote(id, call, event);
        break;
      case "permission_decision":
      case "inquiry_response":
        this.#answer(findText(json, "id") ?? this.#idAbout(call, json["action"]), call, event);
        break;
      case "decision_void":
        this.#void(id);
        break;
      case "attempt_start":
        this.#use(call);
        this.#note(call, { start: event, startedWith: this.#calls.get(call)?.permitted });
        break;
      case "tool_call_response":
        this.#use(call);
        this.#calls.delete(call);
        break;
      default:
    }
  }

  /** In chain order. */
  get answers(): Iterable<LinkedAnswer> {
    return this.#answers;
  }

  /** An escalated question has the person's deadline. */
  #escalate(id: string, { deadline }: JsonObject): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    const { deadline: _, ...json } = open.json;
    this.#open.set(id, { ...open, json: deadline === undefined ? json : { ...json, deadline } });
  }

  /** A vote without a pending request has no effect. */
  #vote(id: string, call: string, event: LinkedEvent): void {
    const open = this.#open.get(id) ?? this.#doubtOf(call);
    if (open !== undefined) this.#open.set(id, { ...open, votes: [...open.votes, event] });
  }

  #answer(id: string, call: string, event: LinkedEvent): void {
    const { action, decision, decided, by } = event.json;
    const doubt = action === "rerun" ? this.#doubtOf(call) : undefined;
    const open = this.#open.get(id) ?? doubt;
    this.#open.delete(id);
    const from = typeof by === "object" && by !== null && "from" in by ? by["from"] : undefined;
    const answer = {
      said: event,
      asked: open,
      votes: open?.votes ?? [],
      given: typeof from === "string" ? this.#given.get(from) : undefined,
      isAfterGap: this.#hasGap,
    };
    this.#answers.add(answer);
    this.#unused.set(answer, findText(open?.json ?? {}, "call") ?? call);
    this.#given.set(id, event);
    const isPermitting = action === "run" || action === "rerun";
    if (isPermitting && decision !== "denied") {
      this.#note(call, { permitted: typeof decided === "string" ? decided : undefined });
    }
  }

  /** Earlier versions recorded no id with a decision on a call. */
  #idAbout(call: string, action: Json | undefined): string {
    const isAbout = ({ json }: Open) => json["call"] === call && json["action"] === action;
    return [...this.#open].findLast(([, open]) => isAbout(open))?.[0] ?? "";
  }

  /** An answer voided before it took effect is treated as never given. */
  #void(id: string): void {
    this.#open.delete(id);
    for (const answer of this.#unused.keys()) {
      if (answer.said.json["id"] !== id) continue;
      this.#unused.delete(answer);
      this.#answers.delete(answer);
    }
    for (const [call, { request }] of this.#calls) {
      if (request?.["id"] === id) this.#note(call, { request: undefined });
    }
  }

  #use(call: string): void {
    for (const [answer, of] of this.#unused) if (of === call) this.#unused.delete(answer);
  }

  #note(call: string, more: StartedCall): void {
    this.#calls.set(call, { ...this.#calls.get(call), ...more });
  }

  /**
   * If no one was asked about a call in doubt, the decision belongs to those who had to permit it, and covers what they
   * saw.
   */
  #doubtOf(call: string): Open | undefined {
    const { request, start, startedWith } = this.#calls.get(call) ?? {};
    if (start === undefined) return undefined;
    const { for: person, for_any, terms, person_ids } = request ?? start.json;
    const json = {
      call,
      action: "rerun",
      ...(person !== undefined && { for: person }),
      ...(for_any !== undefined && { for_any }),
      ...(terms !== undefined && { terms }),
      ...(person_ids !== undefined && { person_ids }),
      ...(startedWith !== undefined && { shown: startedWith }),
    };
    return { json, version: start.version, votes: [] };
  }
}
