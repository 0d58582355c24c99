/** The session of the page: its client has the cookie of a login, and the CSRF token for whatever changes something. */
import type { Clock } from "../../util/index.ts";
import { DeskClient } from "../client.ts";
import type { DeskUser } from "../wire.ts";

/** What the page brings along. */
export interface PageSessionOptions {
  /** Of the page itself. */
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
}

export class PageSession {
  readonly client: DeskClient;
  /** Called when the session turns out to have ended. */
  onLoggedOut: (() => void) | undefined;
  readonly #fetch: typeof fetch;
  #csrf = "";

  constructor({ url, fetch: fetchFunction, clock }: PageSessionOptions) {
    this.#fetch = fetchFunction;
    this.client = new DeskClient({ url, clock, fetch: (path, init) => this.#send(path, init) });
  }

  /**
   * Takes the code of a login link, or a person's token; without one, an earlier login counts. Throws a `DeskError` with the
   * status 401 if no one is logged in.
   */
  async enter(login?: string): Promise<DeskUser> {
    if (login !== undefined) this.#keepToken(await this.client.login(login));
    const me = await this.client.me();
    this.#keepToken(me);
    return me;
  }

  #keepToken({ csrf }: Pick<DeskUser, "csrf">): void {
    if (csrf !== undefined) this.#csrf = csrf;
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    if (init.method === "POST") headers.set("x-csrf-token", this.#csrf);
    const response = await this.#fetch(path, {
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      ...init,
      headers,
    });
    if (response.status === 401) this.onLoggedOut?.();
    return response;
  }
}
