/** A client of the desk's API, for programs of any kind: it needs nothing but `fetch`. */
import {
  type Clock,
  isJsonObject,
  JpError,
  type Json,
  type JsonObject,
  systemClock,
} from "../util/index.ts";
import { EventParser } from "./event-parser.ts";
import type {
  ConversationJson,
  ConversationPart,
  DeskEvent,
  InquiryQuery,
  Page,
  PendingJson,
  Right,
} from "./port.ts";

export type {
  ConversationJson,
  ConversationPart,
  DeskEvent,
  InquiryQuery,
  Page,
  PendingJson,
  Right,
};

/** Where the desk is, and who is calling. */
export interface DeskClientOptions {
  /** What `jp serve` prints as the address, such as `http://127.0.0.1:4711`. */
  readonly url: string;
  /** What `jp serve people add NAME` prints. */
  readonly token: string;
  /** Instead of the global one, for a proxy or a test. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Waits before `events` connects again. */
  readonly clock?: Clock;
}

/** A conversation, as in what the desk returns. `workspace` matters only if the desk serves several. */
export interface ConversationAddress {
  readonly conversation: string;
  readonly workspace?: string;
}

/** Something that waits, or did. A `PendingJson` is one. */
export interface InquiryAddress extends ConversationAddress {
  readonly id: string;
  /** If given, only the one that was asked then is answered: a later one may have the same id. */
  readonly asked_at?: string;
}

/** What goes with an answer. */
export interface AnswerExtras {
  /** A remark that is recorded with the answer. */
  readonly note?: string;
  /** Whether the answer counts for the rest of the turn. */
  readonly remember?: boolean;
  /** For a delivery: what the model sees instead of the result. */
  readonly content?: string;
}

/** Who a token belongs to. */
export interface DeskUser {
  readonly name: string;
  readonly rights: readonly Right[];
  /** Whether the desk continues turns when their questions are answered. */
  readonly runs: boolean;
}

/**
 * The desk refused. `code` is its own code, such as `unauthorized`, `forbidden`, `not_found`, `already_answered` or
 * `does_not_fit`; `unexpected_response` if something else answered.
 */
export class DeskError extends JpError {
  /** The status of the response. */
  readonly status: number;
  /** For `already_answered`: who was faster, as in the record. */
  readonly answeredBy: JsonObject | undefined;

  constructor(status: number, { code, message, answeredBy }: Refusal) {
    super(code, message);
    this.name = "DeskError";
    this.status = status;
    this.answeredBy = answeredBy;
  }
}

interface Sent extends Omit<RequestInit, "headers"> {
  readonly headers?: Readonly<Record<string, string>>;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly answeredBy?: JsonObject | undefined;
}

/** After an interruption before the first event: no one knows what happened in between. */
const RESET: DeskEvent = { id: 0, type: "reset", data: {} };
const MIN_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;

/** Lists what waits, answers it, and listens to what changes. All methods throw a `DeskError`. */
export class DeskClient {
  readonly #base: string;
  readonly #options: DeskClientOptions;

  constructor(options: DeskClientOptions) {
    this.#base = `${new URL(options.url).origin}/api/v1`;
    this.#options = options;
  }

  /** Who the token belongs to. */
  async me(): Promise<DeskUser> {
    return this.#get<DeskUser>("/me");
  }

  /** Everything that waits, oldest first. */
  async pending(): Promise<readonly PendingJson[]> {
    const { items } = await this.#get<Page<PendingJson>>("/inquiries", { state: "pending" });
    return items;
  }

  /** Questions on record, newest first. Pass `next` as `cursor` to get the next page. */
  async inquiries(query: InquiryQuery = {}): Promise<Page<JsonObject>> {
    return this.#get<Page<JsonObject>>("/inquiries", { ...query });
  }

  /** One that waits, or the same as on record, with `outcome`, once it is answered. */
  async inquiry(address: InquiryAddress): Promise<JsonObject> {
    return this.#get<JsonObject>(inquiryPath(address), inWorkspace(address));
  }

  /** The first valid answer counts: later ones get `already_answered`. */
  async answer(address: InquiryAddress, answer: Json, extras: AnswerExtras = {}): Promise<void> {
    await this.#post(`${inquiryPath(address)}/answer`, address, {
      answer,
      ...extras,
      ...askedAtOf(address),
    });
  }

  /** Cancels the question, and with it the call that asks. */
  async cancel(address: InquiryAddress): Promise<void> {
    await this.#post(`${inquiryPath(address)}/cancel`, address, askedAtOf(address));
  }

  /** Conversations, newest first. `text` is searched for in titles and in what was said. */
  async conversations(
    query: { readonly text?: string; readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<Page<ConversationJson>> {
    return this.#get<Page<ConversationJson>>("/conversations", query);
  }

  /** The events of a conversation, from the index `first` on. */
  async conversation(address: ConversationAddress, first = 0): Promise<ConversationPart> {
    return this.#get<ConversationPart>(conversationPath(address), {
      ...inWorkspace(address),
      first,
    });
  }

  /** Continues a turn whose questions are answered. Throws `not_resumed` if it does not. */
  async resume(address: ConversationAddress): Promise<void> {
    await this.#post(`${conversationPath(address)}/resume`, address, {});
  }

  /**
   * What changes from now on, until the signal aborts. Connects again after an interruption, and goes on after the
   * last event. Where events may be missing, a `reset` says to read everything again. Throws if the desk refuses.
   */
  async *events(signal: AbortSignal = new AbortController().signal): AsyncGenerator<DeskEvent> {
    const { clock = systemClock } = this.#options;
    let last: number | undefined;
    let delay = 0;
    let isConnected = false;
    while (!signal.aborted) {
      try {
        await clock.sleep(delay, signal);
        const response = await this.#connect(last, signal);
        if (isConnected && last === undefined) yield RESET;
        isConnected = true;
        for await (const event of readEvents(response)) {
          last = event.id;
          delay = 0;
          yield event;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof DeskError && error.status < 500) throw error;
      }
      delay = Math.min(Math.max(delay * 2, MIN_RETRY_MS), MAX_RETRY_MS);
    }
  }

  #connect(last: number | undefined, signal: AbortSignal): Promise<Response> {
    const headers = last === undefined ? {} : { "last-event-id": String(last) };
    return this.#send("/events", { headers: { accept: "text/event-stream", ...headers }, signal });
  }

  async #get<Result>(
    path: string,
    query: Readonly<Record<string, string | number>> = {},
  ): Promise<Result> {
    const words = new URLSearchParams(
      Object.entries(query).map(([key, value]) => [key, String(value)]),
    );
    const response = await this.#send(words.size === 0 ? path : `${path}?${words}`, {});
    return (await response.json()) as Result; // What the API returns; its types are in `port.ts`.
  }

  async #post(path: string, address: ConversationAddress, body: JsonObject): Promise<void> {
    const words = new URLSearchParams(inWorkspace(address));
    await this.#send(words.size === 0 ? path : `${path}?${words}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  }

  async #send(path: string, init: Sent): Promise<Response> {
    const { fetch: send = fetch, token } = this.#options;
    const headers = { ...init.headers, authorization: `Bearer ${token}` };
    const response = await send(`${this.#base}${path}`, { ...init, headers });
    if (response.ok) return response;
    throw new DeskError(response.status, await readRefusal(response));
  }
}

function askedAtOf({ asked_at }: InquiryAddress): JsonObject {
  return asked_at === undefined ? {} : { asked_at };
}

function conversationPath({ conversation }: ConversationAddress): string {
  return `/conversations/${encodeURIComponent(conversation)}`;
}

function inquiryPath(address: InquiryAddress): string {
  return `${conversationPath(address)}/inquiries/${encodeURIComponent(address.id)}`;
}

function inWorkspace({ workspace }: ConversationAddress): Record<string, string> {
  return workspace === undefined ? {} : { workspace };
}

async function readRefusal(response: Response): Promise<Refusal> {
  const body: unknown = await response.json().catch(() => undefined);
  const { error, answered_by: by } = isJsonObject(body) ? body : {};
  const { code, message } = isJsonObject(error) ? error : {};
  if (typeof code === "string" && typeof message === "string") {
    return { code, message, answeredBy: isJsonObject(by) ? by : undefined };
  }
  const status = `${response.status} ${response.statusText}`.trim();
  return { code: "unexpected_response", message: `This is not a desk: it answered ${status}.` };
}

/** An event that was not received completely is left out. */
async function* readEvents(response: Response): AsyncGenerator<DeskEvent> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  const parser = new EventParser();
  for await (const chunk of response.body) {
    for (const { id, type, data } of parser.push(decoder.decode(chunk, { stream: true }))) {
      yield { id: Number(id), type: type as DeskEvent["type"], data }; // The desk sends no others.
    }
  }
}
