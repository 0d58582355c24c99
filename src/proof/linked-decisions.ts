/**
 * Reads the decisions out of a chain: for each answer what it answers, with the votes before it. What was made void before
 * anything came of it does not count, and is left out.
 */
import { type ChainLink, versionOf } from "../record/conversation/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { findText } from "./statement.ts";

/** A link in an export. */
export interface LinkedEvent {
  readonly json: JsonObject;
  readonly seq: number;
  readonly version: number;
  /** Its line in the file, counted from 1. */
  readonly line: number;
}

/** What was asked, as far as its link says. */
export interface LinkedRequest {
  /** With the fields of a link that asks. */
  readonly json: JsonObject;
  readonly version: number;
}

/** An answer, and what it answers. */
export interface LinkedAnswer {
  readonly said: LinkedEvent;
  /** Undefined if nothing waited for it. */
  readonly asked?: LinkedRequest | undefined;
  readonly votes: readonly LinkedEvent[];
  /** The answer for the whole turn that it repeats. */
  readonly given?: LinkedEvent | undefined;
  /** Links are missing before it, and what it answers may be one of them. */
  readonly isAfterGap: boolean;
}

interface Open extends LinkedRequest {
  readonly votes: readonly LinkedEvent[];
}

/** A call that has not ended, as far as a doubt about it depends on it. */
interface StartedCall {
  /** The latest request to let it run. */
  readonly request?: JsonObject | undefined;
  /** The digest of what was permitted last, and when the call has started. */
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
  /** Those that nothing has come of yet, and the calls that they are about. */
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

  /** In order. */
  get answers(): Iterable<LinkedAnswer> {
    return this.#answers;
  }

  /** A question that goes to a person waits as long as that person may take. */
  #escalate(id: string, { deadline }: JsonObject): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    const { deadline: _, ...json } = open.json;
    this.#open.set(id, { ...open, json: deadline === undefined ? json : { ...json, deadline } });
  }

  /** One that nothing waits for decides nothing. */
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

  /** Earlier versions recorded no id with a decision about a call. */
  #idAbout(call: string, action: Json | undefined): string {
    const isAbout = ({ json }: Open) => json["call"] === call && json["action"] === action;
    return [...this.#open].findLast(([, open]) => isAbout(open))?.[0] ?? "";
  }

  /** An answer that no longer counts before anything came of it is as if it had not been given. */
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

  /** A call in doubt that no one was asked about is for those who had to let it run, and about what they saw. */
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
