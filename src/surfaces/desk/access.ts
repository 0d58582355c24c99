/**
 * Identifies callers: one-time logins, page sessions, personal tokens, and a limit on failed attempts.
 *
 * A session belongs to a key pair that the browser keeps and never sends. The page signs a nonce from this process with
 * it, and gets a token that only this process accepts. So a program that later listens on the same port gets neither a
 * token nor a signature that is valid here.
 */
import { createHmac, randomBytes, webcrypto } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type Clock, isSameSecret, jsonLine, oneLine } from "../../util/index.ts";
import { ApiError } from "./http.ts";
import { hashOf, newSecret } from "../../settings/people/index.ts";
import type { PeopleReader, Person } from "./port.ts";
import { isExpired, OWNER, type Sessions } from "./sessions.ts";
import { proofText } from "./wire.ts";

/** Who made a request. */
export interface Caller {
  readonly person: Person;
  /** Identical for all requests with one token or in one session. */
  readonly key: string;
  /** The person as a session stores them. Changes when their keys change. */
  readonly who: string;
  /** Looks the person up again. Undefined once they are removed or logged out. */
  readonly find: () => Promise<Person | undefined>;
}

type Found = Pick<Caller, "person" | "who">;

/** The person as a session stores them: their token's hash and the number of key changes at login. */
function whoOf(tokenHash: string, { keyChanges = 0 }: Person): string {
  return keyChanges === 0 ? tokenHash : `${tokenHash}.${keyChanges}`;
}

function tokenHashOf(who: string): string {
  return who.split(".")[0] ?? "";
}

/** A caller who is not logged in. */
export const ANONYMOUS: Caller = {
  person: { name: "", rights: [] },
  key: "",
  who: "",
  find: async () => undefined,
};

export interface AccessOptions {
  readonly people: PeopleReader;
  readonly owner: Person;
  readonly sessions: Sessions;
  /** Identifies the served content. Sessions started in another scope are not valid. */
  readonly scope: string;
  readonly clock: Clock;
  /** Called with one line of JSON. */
  readonly audit: (line: string) => void;
  /** The origins where the page may be opened. Sessions are valid only at the first. */
  readonly origins: readonly [string, ...string[]];
}

/** Proves that the page holds its session's private key. */
export interface Proof {
  /** The public key: a point of P-256, as 65 bytes in base64url. */
  readonly key: string;
  /** A nonce from `createNonce`. */
  readonly nonce: string;
  /** The private key's signature over `proofText`: ECDSA with SHA-256, in base64url. */
  readonly signature: string;
}

const MINUTE_MS = 60_000;
const LOGIN_MS = 10 * MINUTE_MS;
/** Per person. The oldest is dropped: anyone who holds one can create more. */
const MAX_LOGINS = 50;
const MAX_USER_AGENT = 200;
const NONCE_MS = MINUTE_MS;
const MAX_NONCES = 10_000;

/** Secrets are stored and looked up as hashes. So lookup times reveal nothing, and memory holds no usable secret. */
export class Access {
  readonly #options: AccessOptions;
  /** The person and the expiry of each one-time login. */
  readonly #logins = new Map<string, { readonly who: string; readonly expiresAt: number }>();
  readonly #failures: Failures;
  /** Neither stored nor sent: anything made with it is worthless after this process ends. */
  readonly #secret = randomBytes(32);
  readonly #usedNonces = new Map<string, true>();

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#failures = new Failures(options.clock);
  }

  /**
   * A one-time login, valid for ten minutes, that a person can pass to another of their browsers. Defaults to the
   * owner.
   */
  createLogin(who = OWNER): string {
    const code = newSecret();
    const now = this.#now();
    for (const [key, { expiresAt }] of this.#logins) if (expiresAt < now) this.#logins.delete(key);
    const own = [...this.#logins].filter(([, login]) => login.who === who);
    const [oldest] = own;
    if (own.length >= MAX_LOGINS && oldest !== undefined) this.#logins.delete(oldest[0]);
    this.#logins.set(hashOf(code), { who, expiresAt: now + LOGIN_MS });
    return code;
  }

  /** Open to anyone. Nonces are not stored, so no caller can exhaust them. */
  createNonce(): string {
    const content = `${this.#now()}.${newSecret()}`;
    return `${content}.${this.#sign("nonce", content)}`;
  }

  /**
   * Returns a session token. A one-time login or a person's token starts a new session; without one, the key's existing
   * session continues. Throws an `ApiError`, and `write_failed`.
   */
  async startSession(
    proof: Proof,
    login: string | undefined,
    request: IncomingMessage,
  ): Promise<string> {
    const origin = request.headers.origin ?? this.#options.origins[0];
    if (!(await this.#isProof(proof, origin))) {
      throw unauthorized(
        "The signature is not valid, or its nonce was used already or is too old.",
      );
    }
    const key = this.#keyOf(proof.key);
    if (login !== undefined) await this.#login(login, key, request);
    else if ((await this.#findBySession(key)) === undefined) throw unauthorized("Log in.");
    return `${key}.${this.#sign("session", key)}`;
  }

  async #login(secret: string, key: string, request: IncomingMessage): Promise<void> {
    const who = this.#useLogin(secret);
    const found =
      who === undefined ? await this.#findByToken(hashOf(secret)) : await this.#findBy(who);
    if (found === undefined) {
      throw this.#refuse(request, {
        what: "login_refused",
        message: "This login was used already, has expired, or is unknown.",
      });
    }
    const now = this.#now();
    const session = { key, who: found.who, startedAt: now, usedAt: now };
    await this.#options.sessions.start(session, [key]);
    this.audit("login", request, { name: found.person.name });
  }

  /** Keeps the caller's session alive after a key change, which ends all their other sessions. */
  async keepSession({ key, who }: Caller): Promise<void> {
    const { sessions } = this.#options;
    const session = await sessions.find(key);
    const now = await this.#findByToken(tokenHashOf(who));
    if (session?.who !== who || now === undefined) return; // A token instead of a session, or the person was removed.
    await sessions.start({ ...session, who: now.who }, [key]);
  }

  /** Ends the session of the page. Throws `write_failed`. */
  async logout(request: IncomingMessage, { person, key }: Caller): Promise<void> {
    await this.#options.sessions.end(key);
    this.audit("logout", request, { name: person.name });
  }

  /** Throws an `ApiError`: 401, or 429 after too many wrong tokens. */
  async identify(request: IncomingMessage): Promise<Caller> {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      throw unauthorized("Log in, or send a token: Authorization: Bearer TOKEN.");
    }
    const session = /^Session (\S+)$/i.exec(authorization)?.[1];
    return session === undefined
      ? this.#identifyToken(request, authorization)
      : this.#identifySession(session);
  }

  async #identifyToken(request: IncomingMessage, authorization: string): Promise<Caller> {
    const token = /^Bearer (\S+)$/i.exec(authorization)?.[1] ?? "";
    const key = hashOf(token);
    const found = await this.#findByToken(key);
    if (found !== undefined) {
      return { ...found, key, find: async () => (await this.#findByToken(key))?.person };
    }
    throw this.#refuse(request, {
      what: "token_refused",
      message: "The Authorization header does not contain a valid token.",
    });
  }

  async #identifySession(token: string): Promise<Caller> {
    const [key = "", signature = ""] = token.split(".", 2);
    const isOwn = isSameSecret(signature, this.#sign("session", key));
    const found = isOwn ? await this.#findBySession(key) : undefined;
    if (found === undefined) throw unauthorized("The session has ended, or is to be proved again.");
    await this.#options.sessions.use(key, this.#now());
    return { ...found, key, find: async () => (await this.#findBySession(key))?.person };
  }

  /** Also uses up the nonce. */
  async #isProof({ key, nonce, signature }: Proof, origin: string): Promise<boolean> {
    const end = nonce.lastIndexOf(".");
    const content = nonce.slice(0, Math.max(0, end));
    if (!isSameSecret(nonce.slice(end + 1), this.#sign("nonce", content))) return false;
    const isFresh = this.#now() - Number.parseInt(content, 10) <= NONCE_MS;
    if (!isFresh || this.#usedNonces.has(nonce) || !this.#options.origins.includes(origin)) {
      return false;
    }
    if (!(await isSignedBy(key, signature, proofText(origin, nonce)))) return false;
    if (this.#usedNonces.has(nonce)) return false; // Used by a concurrent request.
    this.#usedNonces.set(nonce, true);
    dropOldest(this.#usedNonces, MAX_NONCES);
    return true;
  }

  #sign(purpose: "nonce" | "session", content: string): string {
    const text = JSON.stringify([purpose, content]);
    return createHmac("sha256", this.#secret).update(text).digest("base64url");
  }

  /** Undefined if the session has ended or expired, the person was removed, or their keys have changed since. */
  async #findBySession(key: string): Promise<Found | undefined> {
    const session = await this.#options.sessions.find(key);
    if (session === undefined || isExpired(session, this.#now())) return undefined;
    return this.#findBy(session.who);
  }

  async #findBy(who: string): Promise<Found | undefined> {
    if (who === OWNER) return { person: this.#options.owner, who };
    const found = await this.#findByToken(tokenHashOf(who));
    return found?.who === who ? found : undefined;
  }

  async #findByToken(hash: string): Promise<Found | undefined> {
    const person = await this.#options.people.findByHash(hash);
    return person && { person, who: whoOf(hash, person) };
  }

  /** Uses up a valid login and returns its person. */
  #useLogin(code: string): string | undefined {
    const key = hashOf(code);
    const login = this.#logins.get(key);
    this.#logins.delete(key);
    return login !== undefined && this.#now() <= login.expiresAt ? login.who : undefined;
  }

  /** Binds a key to this origin and scope, so that it is worthless elsewhere on this machine. */
  #keyOf(publicKey: string): string {
    const { origins, scope } = this.#options;
    return hashOf(JSON.stringify([origins[0], scope, publicKey]));
  }

  /**
   * Valid secrets are accepted even after too many wrong ones: nobody guesses 256 bits, and others behind the same
   * address, such as a proxy, must not be locked out.
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

  /** Logs who did it and, if known, to whom. */
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

/** Counts failures per client and minute. */
class Failures {
  readonly #clock: Clock;
  /** Oldest first. */
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

function clientOf(request: IncomingMessage): string {
  return request.socket.remoteAddress ?? "unknown";
}

function dropOldest(map: Map<string, unknown>, max: number): void {
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}

const CURVE = { name: "ECDSA", namedCurve: "P-256" };
const PUBLIC_KEY_BYTES = 65;

/** Also false for a malformed key or signature. */
async function isSignedBy(key: string, signature: string, text: string): Promise<boolean> {
  const [point, signed] = [Buffer.from(key, "base64url"), Buffer.from(signature, "base64url")];
  // A key must have a single encoding, because sessions are looked up by it.
  if (point.length !== PUBLIC_KEY_BYTES || point.toString("base64url") !== key) return false;
  const { subtle } = webcrypto;
  try {
    const imported = await subtle.importKey("raw", point, CURVE, false, ["verify"]);
    const how = { name: "ECDSA", hash: "SHA-256" };
    return await subtle.verify(how, imported, signed, Buffer.from(text));
  } catch {
    return false;
  }
}
