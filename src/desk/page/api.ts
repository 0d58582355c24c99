/** The desk's API as the page calls it: with the session cookie, and the CSRF token for whatever changes something. */
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import type { Right } from "../port.ts";

/** Who is logged in, and whether the server runs turns. */
export interface Me {
  readonly name: string;
  readonly rights: readonly Right[];
  readonly runs: boolean;
}

/** A conversation, in its workspace. */
export interface ConversationAddress {
  readonly conversation: string;
  readonly workspace?: string | undefined;
}

/** Something that waits or waited, in its conversation. */
export interface InquiryAddress extends ConversationAddress {
  readonly id: string;
  /** When it was asked, as the server says it: a later one may have the same id. */
  readonly asked_at?: string | undefined;
}

/** What is sent as an answer. */
export interface AnswerBody {
  readonly answer: Json;
  readonly note?: string;
  readonly remember?: boolean;
  readonly content?: string;
}

/** One page of a list. */
export interface ListPart {
  readonly items: readonly JsonObject[];
  readonly next?: string;
}

/** A request that failed. `status` is 0 if the server could not be reached. */
export class ApiError extends Error {
  readonly status: number;
  /** The whole body, such as one with `answered_by`. */
  readonly body: JsonObject;

  constructor(status: number, message: string, body: JsonObject = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.body = body;
  }
}

/** Parameters of a query. Those that are empty or undefined are left out. */
export type Query = Readonly<Record<string, string | undefined>>;

const BASE = "api/v1";

/** Talks to the server that the page came from. */
export class Api {
  #csrf = "";
  /** Called when the session turns out to have ended. */
  onLoggedOut: (() => void) | undefined;
  readonly #fetch: typeof fetch;

  constructor(fetchFunction: typeof fetch) {
    this.#fetch = fetchFunction;
  }

  /** Throws `ApiError` with the status 401 if no one is logged in. */
  async me(): Promise<Me> {
    const json = await this.#send("GET", "me");
    this.#keepToken(json);
    const { name, rights, runs } = json;
    return {
      name: typeof name === "string" ? name : "",
      rights: Array.isArray(rights) ? (rights as readonly Right[]) : [], // Others match nothing.
      runs: runs === true,
    };
  }

  /** Takes the code of a login link, or a person's token. */
  async login(login: string): Promise<void> {
    this.#keepToken(await this.#send("POST", "login", { login }));
  }

  async logout(): Promise<void> {
    await this.#send("POST", "logout", {});
  }

  async list(what: "inquiries" | "conversations", query: Query): Promise<ListPart> {
    const { items, next } = await this.#send("GET", withQuery(what, query));
    return {
      items: Array.isArray(items) ? items.filter(isJsonObject) : [],
      ...(typeof next === "string" && { next }),
    };
  }

  /** Everything that waits: the server has it on one page. */
  async listPending(): Promise<readonly JsonObject[]> {
    return (await this.list("inquiries", { state: "pending" })).items;
  }

  inquiry(address: InquiryAddress): Promise<JsonObject> {
    return this.#send("GET", inquiryPath(address));
  }

  async answer(address: InquiryAddress, body: AnswerBody): Promise<void> {
    await this.#send("POST", inquiryPath(address, "answer"), {
      ...body,
      ...askedAtOf(address),
    });
  }

  async cancel(address: InquiryAddress): Promise<void> {
    await this.#send("POST", inquiryPath(address, "cancel"), askedAtOf(address));
  }

  conversation(address: ConversationAddress, first: number): Promise<JsonObject> {
    return this.#send("GET", conversationPath(address, "", { first: String(first) }));
  }

  async resume(address: ConversationAddress): Promise<void> {
    await this.#send("POST", conversationPath(address, "/resume"), {});
  }

  /** Opens the stream of events. The caller reads its body. */
  async openEvents(lastId: string | undefined, signal: AbortSignal): Promise<Response> {
    const headers = {
      accept: "text/event-stream",
      ...(lastId !== undefined && { "last-event-id": lastId }),
    };
    const response = await this.#request("events", { headers, signal });
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  #keepToken({ csrf }: JsonObject): void {
    if (typeof csrf === "string") this.#csrf = csrf;
  }

  async #send(method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    const response = await this.#request(path, {
      method,
      headers: {
        accept: "application/json",
        ...(body !== undefined && {
          "content-type": "application/json",
          "x-csrf-token": this.#csrf,
        }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status === 401) this.onLoggedOut?.();
    if (!response.ok) throw await errorOf(response);
    return readObject(response);
  }

  async #request(path: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#fetch(`${BASE}/${path}`, {
        credentials: "same-origin",
        cache: "no-store",
        redirect: "error",
        ...init,
      });
    } catch (error) {
      init.signal?.throwIfAborted();
      throw new ApiError(0, "The server cannot be reached.", { cause: String(error) });
    }
  }
}

function conversationPath(address: ConversationAddress, rest: string, query: Query = {}): string {
  const { conversation, workspace } = address;
  const path = `conversations/${encodeURIComponent(conversation)}${rest}`;
  return withQuery(path, { ...query, workspace });
}

function inquiryPath(address: InquiryAddress, action?: "answer" | "cancel"): string {
  const rest = action === undefined ? "" : `/${action}`;
  return conversationPath(address, `/inquiries/${encodeURIComponent(address.id)}${rest}`);
}

function askedAtOf({ asked_at }: InquiryAddress): JsonObject {
  return asked_at === undefined ? {} : { asked_at };
}

function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, value] as [string, string]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = await readObject(response);
  const { error } = body;
  const message = isJsonObject(error) ? error["message"] : undefined;
  const { status, statusText } = response;
  return new ApiError(
    status,
    typeof message === "string" ? message : `The server answered ${status} ${statusText}.`,
    body,
  );
}

async function readObject(response: Response): Promise<JsonObject> {
  try {
    const json: unknown = await response.json();
    return isJsonObject(json) ? json : {};
  } catch {
    return {}; // Such as an empty body.
  }
}
