/** A desk served on this machine, with one pending question. */
import { EventEmitter, once } from "node:events";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { onTestFinished } from "vitest";
import type { ReplyOrCancel } from "../../record/conversation/index.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { FakeClock } from "../../testing/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { createKey, publicKeyOf, signText } from "./page/page-key.ts";
import { openPeople, type People } from "../../settings/people/index.ts";
import type { Desk, DeskAnswerResult, InquiryRef, Person, ResumeResult } from "./port.ts";
import { sessionsInMemory } from "./sessions.ts";
import { type DeskService, serveDesk, type ServeDeskOptions } from "./server.ts";
import {
  type ConversationPart,
  type DeciderJson,
  type DecisionJson,
  type DeskChange,
  type DeskEvent,
  type InquiryQuery,
  type Page,
  type PendingQuery,
  proofText,
} from "./wire.ts";

export const PENDING: DecisionJson = {
  workspace: "/work space",
  conversation: "jp-c17457886043",
  id: "call/1 ü.sure.1",
  kind: "question",
  tool: "fs_delete_file",
  tool_call_id: "call/1 ü",
  label: "fs_delete_file",
  question: { text: "Delete it?", answer_type: { type: "boolean" } },
  acts: true,
  digest: "0123456789abcdef",
  asked_at: "2026-01-02T03:04:05.678Z",
  is_live: false,
};

/** A file of the conversation that would attack whoever opens it. */
export const FILE = {
  digest: "5".repeat(64),
  bytes: Buffer.from("<script>alert(1)</script>"),
};

/** An answer's reference to the version that was read. */
export const READ = { digest: PENDING.digest };

/** The question's path. */
export const QUESTION_PATH = `/conversations/${PENDING.conversation}/inquiries/${encodeURIComponent(PENDING.id)}`;

export const OWNER: Person = { name: "olga", rights: ["see", "answer", "approve", "administer"] };

/** A self-signed certificate for `localhost`, for tests only. */
export const TLS = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJchRizGo67uRn/Ae
zBHbKFYWMObw8P+FuN67vD3FGZChRANCAAQjplCgcfbPNTdPCbiDt9f/9lRrP1CS
ChfeEmOkrkddEYdV2iyxHqX5I/oRV1ET6DmduNsGT5b5A2L56khPJ0NC
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUWpO0flqfB6r4wEJzRVVJbh3lGI4wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExNjA1MDI1OFoYDzIxMjYxMDIz
MDUwMjU4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQjplCgcfbPNTdPCbiDt9f/9lRrP1CSChfeEmOkrkddEYdV2iyxHqX5
I/oRV1ET6DmduNsGT5b5A2L56khPJ0NCo28wbTAdBgNVHQ4EFgQUaL1K0uRq4obe
aJa/gszbeQa2LAEwHwYDVR0jBBgwFoAUaL1K0uRq4obeaJa/gszbeQa2LAEwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgRROCGGeZR3i7xE9J8J8WbVna3OgEL1D81Lhin0/PUekCIQDo
pTxKKrGoxVML5qBoCVKuJ92ekFXRCadS+X6hUh/PIg==
-----END CERTIFICATE-----
`,
};

/** Keeps everything in memory, including the requests it got. */
class FakeDesk implements Desk {
  answeredBy: DeciderJson | undefined;
  /** If set, answers fail with it. */
  problem: string | undefined;
  #held = 0;
  #hold: Promise<void> = Promise.resolve();
  readonly calls: unknown[] = [];
  readonly #events: DeskEvent[] = [];
  readonly #listeners = new Set<(event: DeskEvent) => void>();
  readonly #changes = new EventEmitter();

  get listeners(): number {
    return this.#listeners.size;
  }

  async untilListeners(count: number): Promise<void> {
    while (this.#listeners.size !== count) await once(this.#changes, "listeners");
  }

  /** Holds answers back until the returned function is called. */
  holdAnswers(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#hold = promise;
    return resolve;
  }

  async untilHeld(count: number): Promise<void> {
    while (this.#held !== count) await once(this.#changes, "held");
  }

  publish(data: JsonObject, type: DeskEvent["type"] = "conversation"): void {
    const change = { type, data } as unknown as DeskChange; // Any type, to check that it arrives unchanged.
    const event = { id: this.#events.length + 1, ...change };
    this.#events.push(event);
    for (const listener of this.#listeners) listener(event);
  }

  async prepareAnswer() {
    return { type: "not_found" } as const;
  }

  async listPending(query: PendingQuery = {}): Promise<Page<DecisionJson>> {
    this.calls.push(query);
    return { items: this.answeredBy === undefined ? [PENDING] : [] };
  }

  async findInquiry({
    conversation,
    id,
    workspace,
  }: InquiryRef): Promise<DecisionJson | undefined> {
    const isIt = conversation === PENDING.conversation && id === PENDING.id;
    if (!isIt || (workspace ?? PENDING.workspace) !== PENDING.workspace) return undefined;
    return this.answeredBy === undefined ? PENDING : { ...PENDING, outcome: "answered" };
  }

  async listInquiries(query: InquiryQuery): Promise<Page<DecisionJson>> {
    this.calls.push(query);
    return { items: [{ ...PENDING, outcome: "answered" }], next: "more" };
  }

  async listConversations(query: { readonly text?: string }) {
    this.calls.push(query);
    return { items: [{ workspace: PENDING.workspace, id: PENDING.conversation }] };
  }

  async readConversation(
    { conversation: id }: { readonly conversation: string },
    first = 0,
  ): Promise<ConversationPart | undefined> {
    if (id !== PENDING.conversation) return undefined;
    const conversation = { workspace: PENDING.workspace, id };
    return { conversation, first, count: first + 1, events: [{ n: first }] };
  }

  async readFile({ conversation }: { readonly conversation: string }, digest: string) {
    if (conversation !== PENDING.conversation || digest !== FILE.digest) return undefined;
    return { name: `${digest}.png`, bytes: FILE.bytes };
  }

  async answer(ref: InquiryRef, reply: ReplyOrCancel, person: Person): Promise<DeskAnswerResult> {
    this.#held += 1;
    this.#changes.emit("held");
    await this.#hold;
    if (this.problem !== undefined) throw new Error(this.problem);
    if ((await this.findInquiry(ref)) === undefined) return { type: "not_found" };
    if (this.answeredBy !== undefined) return { type: "answered", by: this.answeredBy };
    if (!person.rights.includes("answer"))
      return { type: "forbidden", code: "forbidden", message: "You may not." };
    if ("answer" in reply) {
      if (ref.digest === undefined) return { type: "digest_required" };
      if (ref.digest !== PENDING.digest) return { type: "changed", changed: ["arguments"] };
      if (typeof reply.answer !== "boolean") {
        return { type: "refused", code: "misfit", message: "Expected yes or no." };
      }
    }
    this.calls.push(reply);
    this.answeredBy = { kind: "user", channel: "desk", name: person.name };
    this.publish({ id: PENDING.id, answered_by: { ...this.answeredBy } }, "answered");
    return { type: "recorded" };
  }

  async resume({ conversation }: { conversation: string }): Promise<ResumeResult | undefined> {
    if (conversation !== PENDING.conversation) return undefined;
    if (this.answeredBy !== undefined) return { type: "started" };
    return { type: "refused", message: "A question waits." };
  }

  subscribe(listener: (event: DeskEvent) => void, after?: number): Disposable {
    if (after !== undefined) this.#events.slice(after).forEach((event) => listener(event));
    this.#listeners.add(listener);
    this.#changes.emit("listeners");
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
        this.#changes.emit("listeners");
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
  }
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON in the text. */
  readonly json: JsonObject;
}

/** A page session, with the key that the browser keeps. */
export interface PageSession {
  readonly pair: CryptoKeyPair;
  /** The headers that the page sends. */
  readonly headers: { readonly authorization: string };
}

/** The server as its clients see it. */
export class ServedDesk {
  readonly desk = new FakeDesk();
  readonly clock = new FakeClock();
  /** The user's data folder. */
  readonly folder = temporaryFolder();
  readonly people: People = openPeople(this.folder, { now: () => this.clock.now() });
  readonly problems: string[] = [];
  readonly audit: JsonObject[] = [];
  service!: DeskService;
  #port = 0;

  static async start(options: Partial<ServeDeskOptions> = {}): Promise<ServedDesk> {
    const served = new ServedDesk();
    served.service = await serveDesk({
      desk: served.desk,
      people: served.people,
      owner: OWNER,
      sessions: sessionsInMemory(),
      scope: "/work space",
      host: "127.0.0.1",
      port: 0,
      runs: true,
      page: new Map([
        ["/", { type: "text/html; charset=utf-8", body: "<!doctype html><title>jp</title>" }],
        ["/app.js", { type: "text/javascript; charset=utf-8", body: "0;" }],
      ]),
      clock: served.clock,
      onProblem: (problem) => served.problems.push(problem),
      audit: (line) => served.audit.push(JSON.parse(line) as JsonObject),
      ...options,
    });
    served.#port = options.port || Number(new URL(served.service.url).port);
    onTestFinished(() => served.service.close());
    return served;
  }

  get port(): number {
    return this.#port;
  }

  addPerson(name: string, rights: Person["rights"] = ["see", "answer", "approve"]) {
    return this.people.add(name, rights);
  }

  /** Unlike `fetch`, allows any path and headers. The path is below the API's prefix, or below `at`. */
  send(path: string, { method = "GET", headers, body }: Sent = {}, at = "/api/v1") {
    const { promise, resolve, reject } = Promise.withResolvers<Received>();
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const json = body === undefined ? {} : { "content-type": "application/json" };
    const sent = httpRequest(
      {
        host: "127.0.0.1",
        port: this.port,
        path: `${at}${path}`,
        method,
        headers: {
          ...(at === "" && { host: new URL(this.service.url).host }),
          ...json,
          ...headers,
        },
        agent: false, // A reused connection could lead to a stopped server.
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const received = Buffer.concat(chunks).toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: received,
            get json() {
              return JSON.parse(received) as JsonObject;
            },
          });
        });
      },
    );
    sent.on("error", reject);
    sent.end(text);
    return promise;
  }

  /** Logs in like the page, with a new key unless given. */
  async login(
    secret: string | undefined = this.service.createLogin(),
    pair?: CryptoKeyPair,
  ): Promise<PageSession> {
    const own = pair ?? (await createKey());
    return { pair: own, headers: sessionOf(await this.prove(own, secret)) };
  }

  /** Signs a nonce, by default this server's, like the page at this origin. */
  async prove(
    pair: CryptoKeyPair,
    login?: string,
    { origin = this.service.url, nonce }: { origin?: string; nonce?: string } = {},
  ): Promise<Received> {
    const signed = nonce ?? (await this.nonce());
    const signature = await signText(pair, proofText(origin, signed));
    const body = { key: await publicKeyOf(pair), nonce: signed, signature, login };
    return this.send("/session", { method: "POST", body });
  }

  async nonce(): Promise<string> {
    return (await this.send("/challenge", { method: "POST" })).json["nonce"] as string;
  }
}

/** The page's headers after a login. */
export function sessionOf({ json }: Received): { readonly authorization: string } {
  return { authorization: `Session ${json["token"] as string}` };
}

/** A text field of a response. */
export function textIn(json: JsonObject, field: string): string {
  const text = json[field];
  if (typeof text !== "string") throw new Error(`no ${field} in ${JSON.stringify(json)}`);
  return text;
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}
