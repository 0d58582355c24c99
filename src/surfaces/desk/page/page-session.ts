/** The page's session: its client has a token, which the page gets by signing with its key. */
import type { Clock } from "../../../util/index.ts";
import { DeskClient, DeskError } from "../client.ts";
import { type DeskUser, proofText } from "../wire.ts";
import { createKey, type KeyStore, publicKeyOf, signText } from "./page-key.ts";

/** The page's environment. */
export interface PageSessionOptions {
  /** The page's own address. */
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly keys: KeyStore;
}

export class PageSession {
  readonly client: DeskClient;
  /** Called when the session has ended. */
  onLoggedOut: (() => void) | undefined;
  readonly #options: PageSessionOptions;
  /** Has no token and does not refresh one. */
  readonly #anonymous: DeskClient;
  #token = "";
  #proving: Promise<void> | undefined;

  constructor(options: PageSessionOptions) {
    const { url, clock } = options;
    this.#options = options;
    this.#anonymous = new DeskClient({ url, clock, fetch: (path, init) => this.#send(path, init) });
    this.client = new DeskClient({ url, clock, fetch: (path, init) => this.#sendAs(path, init) });
  }

  /**
   * Logs in with a login link's code or a person's token; without one, continues an earlier login. Throws a `DeskError`
   * with the status 401 if no one is logged in.
   */
  async enter(login?: string): Promise<DeskUser> {
    await this.#prove(login);
    return this.client.me();
  }

  /** Ends the session and deletes its key. */
  async leave(): Promise<void> {
    await this.client.logout().catch(() => undefined); // The page forgets the person anyway.
    this.#token = "";
    await this.#options.keys.remove();
  }

  async #prove(login?: string): Promise<void> {
    const { keys, url } = this.#options;
    const known = await keys.find();
    if (known === undefined && login === undefined) throw notLoggedIn();
    const pair = known ?? (await createKey());
    if (known === undefined) await keys.save(pair);
    const { nonce } = await this.#anonymous.challenge();
    const signature = await signText(pair, proofText(new URL(url).origin, nonce));
    const proof = { key: await publicKeyOf(pair), nonce, signature, login };
    this.#token = (await this.#anonymous.startSession(proof)).token;
  }

  /** Proves the session again if the server has restarted. */
  async #sendAs(path: string, init: RequestInit): Promise<Response> {
    const token = this.#token;
    const response = await this.#send(path, withToken(init, token));
    if (response.status !== 401) return response;
    try {
      if (token === this.#token) {
        this.#proving ??= this.#prove().finally(() => (this.#proving = undefined));
        await this.#proving;
      }
    } catch (error) {
      if (error instanceof DeskError && error.status === 401) this.onLoggedOut?.();
      return response;
    }
    const again = await this.#send(path, withToken(init, this.#token));
    if (again.status === 401) this.onLoggedOut?.();
    return again;
  }

  /** Sends no cookies: nothing that a browser sends by itself grants access. */
  #send(path: string, init: RequestInit): Promise<Response> {
    return this.#options.fetch(path, {
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      ...init,
    });
  }
}

function withToken(init: RequestInit, token: string): RequestInit {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Session ${token}`);
  return { ...init, headers };
}

function notLoggedIn(): DeskError {
  return new DeskError(401, { code: "unauthorized", message: "Log in." });
}
