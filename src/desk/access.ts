/** Decides who is calling: one-time logins, sessions of the page, personal tokens, and how often one may fail. */
import { createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { jsonLine, oneLine } from "../render/index.ts";
import { type Clock, isSameSecret } from "../util/index.ts";
import { ApiError } from "./http.ts";
import { hashOf, newSecret } from "./people.ts";
import type { People, Person } from "./port.ts";
import { isExpired, OWNER, type Sessions } from "./sessions.ts";

/** Who made a request. */
export interface Caller {
  readonly person: Person;
  /** The same for all requests with the same token, or of the same session. */
  readonly key: string;
  /** The same person as they are now: undefined once they are removed or logged out. */
  readonly find: () => Promise<Person | undefined>;
  /** Only if they use the page. Its requests that change something need this token. */
  readonly csrf?: string;
}

/** A caller who has not said who they are. */
export const ANONYMOUS: Caller = {
  person: { name: "", rights: [] },
  key: "",
  find: async () => undefined,
};

export interface AccessOptions {
  readonly people: People;
  readonly owner: Person;
  readonly sessions: Sessions;
  /** What is served. A session that was started for something else does not count. */
  readonly scope: string;
  readonly clock: Clock;
  /** Called with a line of JSON. */
  readonly audit: (line: string) => void;
  /** Cookies do not know ports: this name has to differ from that of another desk on this machine. */
  readonly cookie: string;
  /** Whether browsers may send the cookie only over HTTPS. */
  readonly isSecure: boolean;
}

/** A new session of the page. */
export interface Login {
  readonly csrf: string;
  /** The value of the Set-Cookie header. */
  readonly cookie: string;
}

const MINUTE_MS = 60_000;
const LOGIN_MS = 10 * MINUTE_MS;
/** The oldest are dropped: whoever has one can make more. */
const MAX_LOGINS = 100;
const MAX_USER_AGENT = 200;

/**
 * Secrets are kept as hashes, and looked up by them. So the time of a lookup says nothing about a secret, and memory
 * has none that someone could use.
 */
export class Access {
  readonly #options: AccessOptions;
  /** When each one-time login expires. */
  readonly #logins = new Map<string, number>();
  readonly #failures: Failures;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#failures = new Failures(options.clock);
  }

  /** For the owner, who can hand it to their own browser. It works once, for ten minutes. */
  createLogin(): string {
    const code = newSecret();
    this.#logins.set(hashOf(code), this.#now() + LOGIN_MS);
    dropOldest(this.#logins, MAX_LOGINS);
    return code;
  }

  /** Starts a session with a one-time login or a person's token. Throws an `ApiError`, and `write_failed`. */
  async login(secret: string, request: IncomingMessage): Promise<Login> {
    const who = this.#useLogin(secret) ? OWNER : hashOf(secret);
    const person = await this.#findPerson(who);
    if (person === undefined) {
      throw this.#refuse(request, {
        what: "login_refused",
        message: "This login was used already, has expired, or is unknown.",
      });
    }
    const id = newSecret();
    const now = this.#now();
    await this.#options.sessions.start(
      { key: this.#keyOf(id), who, startedAt: now, usedAt: now },
      this.#sessionIds(request).map((replaced) => this.#keyOf(replaced)),
    );
    this.audit("login", request, { name: person.name });
    return { csrf: csrfOf(id), cookie: this.#cookie(id) };
  }

  /**
   * Ends the session of the page. Returns the Set-Cookie header that makes the browser forget it. Throws
   * `write_failed`.
   */
  async logout(request: IncomingMessage, { person }: Caller): Promise<string> {
    for (const id of this.#sessionIds(request)) await this.#options.sessions.end(this.#keyOf(id));
    this.audit("logout", request, { name: person.name });
    return `${this.#cookie("")}; Max-Age=0`;
  }

  /** Throws an `ApiError`: 401, or 429 after too many wrong tokens. */
  async identify(request: IncomingMessage): Promise<Caller> {
    const { authorization } = request.headers;
    return authorization === undefined
      ? this.#identifySession(request)
      : this.#identifyToken(request, authorization);
  }

  /** Throws an `ApiError` if a page of another site could have sent the request. Tokens are not sent by browsers. */
  assertIntended(request: IncomingMessage, { csrf }: Caller): void {
    const given = request.headers["x-csrf-token"];
    if (csrf === undefined || (typeof given === "string" && isSameSecret(given, csrf))) return;
    throw new ApiError(403, "csrf", {
      message: "The x-csrf-token header is missing or belongs to another session.",
    });
  }

  async #identifyToken(request: IncomingMessage, authorization: string): Promise<Caller> {
    const token = /^Bearer (\S+)$/i.exec(authorization)?.[1] ?? "";
    const key = hashOf(token);
    const find = () => this.#options.people.findByHash(key);
    const person = await find();
    if (person !== undefined) return { person, key, find };
    throw this.#refuse(request, {
      what: "token_refused",
      message: "The Authorization header does not contain a valid token.",
    });
  }

  async #identifySession(request: IncomingMessage): Promise<Caller> {
    const [id, ...more] = this.#sessionIds(request);
    if (more.length > 0) throw ambiguous();
    const key = id === undefined ? "" : this.#keyOf(id);
    const find = () => this.#findBySession(key);
    const person = await find();
    if (id === undefined || person === undefined) {
      throw unauthorized("Log in, or send a token: Authorization: Bearer TOKEN.");
    }
    await this.#options.sessions.use(key, this.#now());
    return { person, key, csrf: csrfOf(id), find };
  }

  /** Undefined if the session has ended or expired, or if the person was removed. */
  async #findBySession(key: string): Promise<Person | undefined> {
    const session = await this.#options.sessions.find(key);
    if (session === undefined || isExpired(session, this.#now())) return undefined;
    return this.#findPerson(session.who);
  }

  async #findPerson(who: string): Promise<Person | undefined> {
    const { people, owner } = this.#options;
    return who === OWNER ? owner : people.findByHash(who);
  }

  /** Also uses it up. */
  #useLogin(code: string): boolean {
    const key = hashOf(code);
    const expiresAt = this.#logins.get(key);
    this.#logins.delete(key);
    return expiresAt !== undefined && this.#now() <= expiresAt;
  }

  /** So a secret is worth nothing at another address of this machine, or when something else is served. */
  #keyOf(id: string): string {
    const { cookie, scope } = this.#options;
    return hashOf(JSON.stringify([cookie, scope, id]));
  }

  #sessionIds(request: IncomingMessage): readonly string[] {
    const prefix = `${this.#options.cookie}=`;
    const cookies = (request.headers.cookie ?? "").split(";").map((part) => part.trim());
    const own = cookies.filter((part) => part.startsWith(prefix));
    return [...new Set(own.map((part) => part.slice(prefix.length)))];
  }

  #cookie(value: string): string {
    const { cookie, isSecure } = this.#options;
    return `${cookie}=${value}; HttpOnly; SameSite=Strict; Path=/${isSecure ? "; Secure" : ""}`;
  }

  /**
   * A valid secret is accepted even after too many wrong ones: no one guesses 256 bits, and others at the same
   * address, such as a proxy's, must not be locked out.
   */
  #refuse(request: IncomingMessage, { what, message }: { what: string; message: string }) {
    const failure = this.#failures.add(clientOf(request));
    if (failure.isFirstTooMany) this.audit("too_many_failures", request);
    if (!failure.isTooMany) {
      this.audit(what, request);
      return unauthorized(message);
    }
    return new ApiError(429, "too_many_failures", {
      message: "Too many wrong tokens or logins. Wait a minute.",
      headers: { "retry-after": String(Math.ceil(FAILURES_MS / 1000)) },
    });
  }

  /** Writes who did it, and to whom, if that is known. */
  audit(
    what: string,
    request: IncomingMessage,
    who: { readonly name?: string; readonly person?: string } = {},
  ): void {
    const agent = request.headers["user-agent"];
    const entry = {
      time: this.#options.clock.now().toISOString(),
      what,
      ...who,
      client: clientOf(request),
      ...(agent !== undefined && { user_agent: oneLine(agent.slice(0, MAX_USER_AGENT)) }),
    };
    this.#options.audit(jsonLine(entry));
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

const FAILURES_MS = MINUTE_MS;
const MAX_FAILURES = 20;
const MAX_CLIENTS = 10_000;

/** Counts failures for each client, a minute at a time. */
class Failures {
  readonly #clock: Clock;
  /** The oldest comes first. */
  readonly #clients = new Map<string, { readonly since: number; count: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(client: string): { readonly isTooMany: boolean; readonly isFirstTooMany: boolean } {
    const now = this.#clock.now().getTime();
    const known = this.#clients.get(client);
    const isCurrent = known !== undefined && now - known.since < FAILURES_MS;
    const counted = isCurrent ? known : { since: now, count: 0 };
    counted.count += 1;
    if (!isCurrent) {
      this.#clients.delete(client);
      this.#clients.set(client, counted);
      dropOldest(this.#clients, MAX_CLIENTS);
    }
    const { count } = counted;
    return { isTooMany: count > MAX_FAILURES, isFirstTooMany: count === MAX_FAILURES + 1 };
  }
}

function unauthorized(message: string): ApiError {
  return new ApiError(401, "unauthorized", {
    message,
    headers: { "www-authenticate": "Bearer" },
  });
}

/** A page on another port of this host can set a cookie of any name, and the browser may send that one first. */
function ambiguous(): ApiError {
  return new ApiError(400, "ambiguous_session", {
    message: "The browser sent several sessions. Delete the cookies of this site, and log in.",
  });
}

function clientOf(request: IncomingMessage): string {
  return request.socket.remoteAddress ?? "unknown";
}

function dropOldest(map: Map<string, unknown>, max: number): void {
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}

/** Only the browser has what it is made from, so it stays the same over a restart without being stored. */
function csrfOf(id: string): string {
  return createHmac("sha256", id).update("csrf").digest("base64url");
}
