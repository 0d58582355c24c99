/**
 * The desk's API client, for any program and for the page itself: it needs only `fetch`. Programs pass a token; the
 * page passes a `fetch` that adds its session.
 */
import type { Reply } from "../../record/conversation/index.ts";
import {
  type Clock,
  isJsonObject,
  JpError,
  type Json,
  type JsonObject,
  systemClock,
} from "../../util/index.ts";
import { EventParser } from "./event-parser.ts";
import type {
  AnswerOutcome,
  ConversationAddress,
  ConversationJson,
  ConversationPart,
  ConversationQuery,
  DeciderJson,
  DecisionJson,
  DeskEvent,
  DeskUser,
  InquiryAddress,
  InquiryQuery,
  Page,
  PendingQuery,
  PersonJson,
} from "./wire.ts";

export type {
  AnsweredJson,
  ChangedConversation,
  ConversationAddress,
  ConversationJson,
  ConversationPart,
  ConversationQuery,
  DeciderJson,
  DecisionJson,
  DeskChange,
  DeskEvent,
  DeskUser,
  InquiryAddress,
  InquiryQuery,
  KeyChangeJson,
  KnownJson,
  OutcomeJson,
  Page,
  PendingQuery,
  PersonJson,
  QuestionJson,
  Right,
  VoteJson,
} from "./wire.ts";

/** The desk's address, and who is calling. */
export interface DeskClientOptions {
  /** The address that `jp serve` prints, such as `http://127.0.0.1:4711`. */
  readonly url: string;
  /** The token that `jp serve people add NAME` prints. Without one, `fetch` has to identify the caller. */
  readonly token?: string;
  /** Replaces the global `fetch`, for a proxy or a test. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Times the pause before `events` reconnects. */
  readonly clock?: Clock;
}

/** Proves that a page holds its session's key. The API's description says how to make one. */
export interface SessionProof {
  readonly key: string;
  readonly nonce: string;
  readonly signature: string;
  readonly login?: string | undefined;
}

/** Optional parts of an answer. Arguments can be edited only where the turn runs. */
export interface AnswerExtras extends Omit<Reply, "answer" | "arguments"> {
  /** Resending the answer with the same key gives the same result, as long as the server runs. */
  readonly idempotencyKey?: string;
  /** A signature over the result of `signing`, for a yes that has to be signed (`terms.proof`). */
  readonly signature?: AnswerSignature;
}

/** One of several answers. What takes a signature, or an edited result, is answered alone. */
export interface AnswerToOne extends Omit<
  AnswerExtras,
  "idempotencyKey" | "signature" | "content"
> {
  /** A decision from `pending` or `inquiry`. */
  readonly item: InquiryAddress;
  readonly answer: Json;
}

/** A passkey's signature. Everything is in base64url. */
export interface AnswerSignature {
  readonly nonce: string;
  /** The credential's id. */
  readonly key: string;
  readonly sig: string;
  readonly authenticator_data: string;
  readonly client_data: string;
}

/** A challenge for a passkey to sign, valid once and for two minutes. */
export interface SigningJson {
  readonly nonce: string;
  /** In base64url. */
  readonly challenge: string;
  readonly rp_id: string;
  readonly credentials: readonly { readonly id: string; readonly transports: readonly string[] }[];
}

/** One of the caller's passkeys. */
export interface PasskeyJson {
  readonly id: string;
  readonly added: string;
  readonly rp_id: string;
}

/** A new passkey as the browser returns it, in base64url. `replaces` is the id of one to remove at the same time. */
export interface NewPasskeyJson {
  readonly challenge: string;
  readonly id: string;
  readonly client_data: string;
  readonly attestation: string;
  readonly transports?: readonly string[];
  readonly replaces?: string;
}

/** The input for creating a passkey in a browser. */
export interface PasskeyChallengeJson {
  readonly challenge: string;
  readonly rp_id: string;
  readonly name: string;
  readonly known: readonly string[];
}

/** The state of the connection that `events` reads from. */
export type Connection = "connecting" | "live" | "lost";

/**
 * A request that the desk refused. `code` is the desk's own, such as `unauthorized`, `forbidden`, `not_found`,
 * `already_answered`, `changed` or `does_not_fit`; `unreachable` if nothing answered, and `unexpected_response` if
 * something else did.
 */
export class DeskError extends JpError {
  /** The response's HTTP status, or 0 without a response. */
  readonly status: number;
  /**
   * With `does_not_fit` and `not_for_you`: a code for why the answer does not count, such as `misfit` or
   * `wrong_person`.
   */
  readonly reason: string | undefined;
  /** With `already_answered`: who answered first, as recorded. */
  readonly answeredBy: DeciderJson | undefined;
  /** With `changed`: codes for the differences since it was read, if known. */
  readonly changed: readonly string[];

  constructor(status: number, refusal: Refusal) {
    const { code, message, cause, reason, answeredBy, changed = [] } = refusal;
    super(code, message, { cause });
    this.name = "DeskError";
    this.status = status;
    this.reason = reason;
    this.answeredBy = answeredBy;
    this.changed = changed;
  }
}

interface Sent extends Omit<RequestInit, "headers"> {
  readonly headers?: Readonly<Record<string, string>>;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly cause?: unknown;
  readonly reason?: string | undefined;
  readonly answeredBy?: DeciderJson | undefined;
  readonly changed?: readonly string[];
}

type Query = Readonly<Record<string, string | number | undefined>>;

/** Sent after an interruption before the first event, when events may be missing. */
const RESET: DeskEvent = { id: 0, type: "reset", data: {} };
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
/** The desk sends comments in between, so a stream that stays silent for longer is dead. */
const MAX_SILENCE_MS = 60_000;

/** Lists pending decisions, answers them, and streams changes. All methods throw a `DeskError`. */
export class DeskClient {
  readonly #base: string;
  readonly #options: DeskClientOptions;

  constructor(options: DeskClientOptions) {
    this.#base = new URL("api/v1", options.url).href;
    this.#options = options;
  }

  /** The caller. */
  async me(): Promise<DeskUser> {
    return this.#get<DeskUser>("/me");
  }

  /** For a page in a browser: the challenge to sign for `startSession`. */
  async challenge(): Promise<{ readonly nonce: string }> {
    return this.#ask<{ nonce: string }>("/challenge", {});
  }

  /** For a page in a browser: logs in with a login link's code or a person's token, or continues its session. */
  async startSession(proof: SessionProof): Promise<{ readonly token: string }> {
    return this.#ask<{ token: string }>("/session", proof);
  }

  /** A one-time login for the same person: append `#login=…` to the page's address to log in another browser. */
  async createLogin(): Promise<{ readonly login: string }> {
    return this.#ask<{ login: string }>("/logins", {});
  }

  /** Ends the session. */
  async logout(): Promise<void> {
    await this.#post("/logout", {});
  }

  /** All pending decisions, oldest first. There may be very many: use `pendingPage` to get some of them. */
  async pending(): Promise<readonly DecisionJson[]> {
    const all: DecisionJson[] = [];
    for (let cursor: string | undefined; ;) {
      const { items, next } = await this.pendingPage(cursor === undefined ? {} : { cursor });
      for (const item of items) all.push(item);
      if (next === undefined) return all;
      cursor = next;
    }
  }

  /** One page of pending decisions, oldest first. Pass `next` as `cursor` to get the next page. */
  async pendingPage(query: PendingQuery = {}): Promise<Page<DecisionJson>> {
    return this.#get<Page<DecisionJson>>("/inquiries", { ...query, state: "pending" });
  }

  /** Decisions on record, newest first. Pass `next` as `cursor` to get the next page. */
  async inquiries(query: InquiryQuery = {}): Promise<Page<DecisionJson>> {
    return this.#get<Page<DecisionJson>>("/inquiries", { ...query });
  }

  /** A pending decision, or its record with `outcome` once it is decided. */
  async inquiry(address: InquiryAddress): Promise<DecisionJson> {
    return this.#get<DecisionJson>(inquiryPath(address), workspaceOf(address));
  }

  /**
   * Answers a decision from `pending` or `inquiry`. The first valid answer counts: later ones get `already_answered`.
   * If the question has changed since it was read, the answer gets `changed`.
   */
  async answer(
    address: InquiryAddress,
    answer: Json,
    extras: AnswerExtras = {},
  ): Promise<AnswerOutcome> {
    const { isRemembered: remember, idempotencyKey: key, note, redirects, ...more } = extras;
    const { content, signature } = more;
    const body = { answer, note, remember, redirects, content, signature, ...readingOf(address) };
    const headers: Sent["headers"] = key === undefined ? {} : { "idempotency-key": key };
    const path = `${inquiryPath(address)}/answer`;
    return this.#ask<AnswerOutcome>(withQuery(path, workspaceOf(address)), body, headers);
  }

  /**
   * Answers up to 20 decisions in one request. Each is judged alone: returns the outcome of each in order, or why it was
   * refused. Decisions that take several people or a signature, or are for other people than the first, are refused
   * (`decided_alone`).
   */
  async answerSeveral(
    answers: readonly AnswerToOne[],
    { idempotencyKey: key }: Pick<AnswerExtras, "idempotencyKey"> = {},
  ): Promise<readonly (AnswerOutcome | DeskError)[]> {
    const given = answers.map(({ item, answer, isRemembered: remember, note, redirects }) => {
      const { conversation, id } = item;
      const which = { ...workspaceOf(item), conversation, id, ...readingOf(item) };
      return { ...which, answer, note, remember, redirects };
    });
    const headers: Sent["headers"] = key === undefined ? {} : { "idempotency-key": key };
    const body = { answers: given };
    const { items } = await this.#ask<{ readonly items: readonly AnswersItem[] }>(
      "/inquiries/answers",
      body,
      headers,
    );
    return items.map((item) =>
      item.status === 200 ? item : new DeskError(item.status, refusalIn(item, item.status)),
    );
  }

  /** The challenge to sign for this answer. Throws `no_passkey` if the caller has none for this address. */
  async signing(address: InquiryAddress, answer: Json, content?: string): Promise<SigningJson> {
    const path = withQuery(`${inquiryPath(address)}/challenge`, workspaceOf(address));
    return this.#ask<SigningJson>(path, { answer, content, ...readingOf(address) });
  }

  /** The caller's passkeys that work at this address. */
  async passkeys(): Promise<readonly PasskeyJson[]> {
    const { items } = await this.#get<Page<PasskeyJson>>("/passkeys");
    return items;
  }

  /**
   * For a page in a browser: the input for creating a passkey for the caller. `link` is the code of a link from the
   * command line; without it, the caller needs another passkey here. Throws `link_needed`, `link_refused`.
   */
  async startPasskey(link?: string): Promise<PasskeyChallengeJson> {
    return this.#ask<PasskeyChallengeJson>("/passkeys/challenge", { link });
  }

  /**
   * Adds a passkey for the caller. Unless a link allows it, returns a challenge that one of their passkeys has to sign
   * first.
   */
  async addPasskey(passkey: NewPasskeyJson): Promise<SigningJson | undefined> {
    const response = await this.#post("/passkeys", passkey);
    return response.status === 202 ? ((await response.json()) as SigningJson) : undefined; // As for `#get`.
  }

  /** Starts to remove a passkey. Returns a challenge that one of the caller's passkeys has to sign. */
  async removePasskey(id: string): Promise<SigningJson> {
    return this.#ask<SigningJson>(`/passkeys/${encodeURIComponent(id)}/removal`, {});
  }

  /**
   * Makes the change for which `addPasskey` or `removePasskey` returned a challenge. Ends the caller's other sessions.
   */
  async signPasskeyChange(signature: AnswerSignature): Promise<void> {
    await this.#post("/passkeys/signature", signature);
  }

  /** Lists everyone who may use the desk. Needs the right to administer. */
  async people(): Promise<readonly PersonJson[]> {
    const { items } = await this.#get<Page<PersonJson>>("/people");
    return items;
  }

  /** Confirms an account that another person added at the desk. Throws `not_independent`. */
  async confirmPerson(id: string): Promise<void> {
    await this.#post(`/people/${encodeURIComponent(id)}/confirm`, {});
  }

  /** Cancels the question, and with it the call that asked. */
  async cancel(address: InquiryAddress): Promise<void> {
    const path = `${inquiryPath(address)}/cancel`;
    await this.#post(withQuery(path, workspaceOf(address)), readingOf(address));
  }

  /** Conversations, newest first. */
  async conversations(query: ConversationQuery = {}): Promise<Page<ConversationJson>> {
    return this.#get<Page<ConversationJson>>("/conversations", { ...query });
  }

  /** The events of a conversation, starting at index `first`. */
  async conversation(address: ConversationAddress, first = 0): Promise<ConversationPart> {
    const query = { ...workspaceOf(address), first };
    return this.#get<ConversationPart>(conversationPath(address), query);
  }

  /** The bytes of a file that the model has sent: the `digest` of a `reply_file` event. */
  async file(address: ConversationAddress, digest: string): Promise<Uint8Array<ArrayBuffer>> {
    const path = `${conversationPath(address)}/files/${encodeURIComponent(digest)}`;
    const response = await this.#send(withQuery(path, workspaceOf(address)), {});
    return new Uint8Array(await response.arrayBuffer());
  }

  /** Continues a turn whose questions are answered. Throws `not_resumed` if it does not. */
  async resume(address: ConversationAddress): Promise<void> {
    const path = `${conversationPath(address)}/resume`;
    await this.#post(withQuery(path, workspaceOf(address)), {});
  }

  /**
   * Streams changes until the signal aborts. After an interruption, reconnects and continues after the last event. A
   * `reset` means that events may be missing: read everything again. Throws if the desk refuses.
   */
  async *events(
    signal: AbortSignal = new AbortController().signal,
    onConnection: (connection: Connection) => void = () => undefined,
  ): AsyncGenerator<DeskEvent> {
    const { clock = systemClock } = this.#options;
    let last: number | undefined;
    let delay = 0;
    let isConnected = false;
    onConnection("connecting");
    while (!signal.aborted) {
      const silence = new Silence(signal);
      try {
        if (delay > 0) await clock.sleep(delay, signal);
        silence.restart();
        const response = await this.#connect(last, silence.signal);
        onConnection("live");
        if (isConnected && last === undefined) yield RESET;
        isConnected = true;
        for await (const event of readEvents(response, silence)) {
          last = event.id;
          delay = 0;
          yield event;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof DeskError && error.status >= 400 && error.status < 500) throw error;
      } finally {
        silence.stop();
      }
      if (signal.aborted) return;
      onConnection("lost");
      delay = Math.min(Math.max(delay * 2, MIN_RETRY_MS), MAX_RETRY_MS);
    }
  }

  #connect(last: number | undefined, signal: AbortSignal): Promise<Response> {
    const headers: Sent["headers"] = last === undefined ? {} : { "last-event-id": String(last) };
    return this.#send("/events", { headers: { accept: "text/event-stream", ...headers }, signal });
  }

  async #get<Result>(path: string, query: Query = {}): Promise<Result> {
    const response = await this.#send(withQuery(path, query), {});
    return (await response.json()) as Result; // The API's result; `wire.ts` has the types.
  }

  /** Posts the body and returns the result. */
  async #ask<Result>(path: string, body: object, headers?: Sent["headers"]): Promise<Result> {
    const response = await this.#post(path, body, headers);
    return (await response.json()) as Result; // As for `#get`.
  }

  #post(path: string, body: object, headers: Sent["headers"] = {}): Promise<Response> {
    return this.#send(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  }

  async #send(path: string, init: Sent): Promise<Response> {
    const { fetch: send = fetch, token } = this.#options;
    const headers = {
      ...init.headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    const response = await send(`${this.#base}${path}`, { ...init, headers }).catch(
      (cause: unknown) => {
        init.signal?.throwIfAborted();
        const message = "The server cannot be reached.";
        throw new DeskError(0, { code: "unreachable", message, cause });
      },
    );
    if (response.ok) return response;
    throw new DeskError(response.status, await readRefusal(response));
  }
}

/** The version that the caller read. */
function readingOf({ asked_at, digest }: InquiryAddress) {
  return { asked_at, digest };
}

function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

function conversationPath({ conversation }: ConversationAddress): string {
  return `/conversations/${encodeURIComponent(conversation)}`;
}

function inquiryPath(address: InquiryAddress): string {
  return `${conversationPath(address)}/inquiries/${encodeURIComponent(address.id)}`;
}

function workspaceOf({ workspace }: ConversationAddress) {
  return { workspace };
}

/** An outcome, or a refusal with its own status. */
type AnswersItem = AnswerOutcome & { readonly status: number };

async function readRefusal(response: Response): Promise<Refusal> {
  const body: unknown = await response.json().catch(() => undefined);
  return refusalIn(body, `${response.status} ${response.statusText}`.trim());
}

function refusalIn(body: unknown, status: string | number): Refusal {
  const { error, answered_by: by, changed } = isJsonObject(body) ? body : {};
  const { code, message, reason } = isJsonObject(error) ? error : {};
  if (typeof code === "string" && typeof message === "string") {
    return {
      code,
      message,
      reason: typeof reason === "string" ? reason : undefined,
      answeredBy: isDecider(by) ? by : undefined,
      changed: Array.isArray(changed) ? changed.map(String) : [],
    };
  }
  return { code: "unexpected_response", message: `This is not a desk: it answered ${status}.` };
}

function isDecider(json: Json | undefined): json is JsonObject & DeciderJson {
  return isJsonObject(json) && typeof json["kind"] === "string";
}

/** Aborts a stream that has gone silent. */
class Silence {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.signal = AbortSignal.any([signal, this.#controller.signal]);
  }

  restart(): void {
    this.stop();
    this.#timer = setTimeout(() => this.#controller.abort(), MAX_SILENCE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** Skips events that were not received completely. */
async function* readEvents(response: Response, silence: Silence): AsyncGenerator<DeskEvent> {
  const decoder = new TextDecoder();
  const parser = new EventParser();
  const reader = response.body?.getReader();
  try {
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { done: true };
      if (done) return;
      silence.restart();
      for (const { id, type, data } of parser.push(decoder.decode(value, { stream: true }))) {
        yield { id: Number(id), type, data } as unknown as DeskEvent; // The desk sends no other types.
      }
    }
  } finally {
    await reader?.cancel().catch(() => undefined); // The stream may be broken.
  }
}
