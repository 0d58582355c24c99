/**
 * Decides who is calling: one-time logins, sessions of the page, personal tokens, and how often one may fail.
 *
 * A session belongs to a key pair that a browser keeps and never sends. With it, the page signs a nonce of this process, and
 * gets a token that only this process accepts. So whatever else later listens on the same port gets nothing from the browser
 * that counts here: neither the token, nor a signature.
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
  /** The same for all requests with the same token, or of the same session. */
  readonly key: string;
  /** Which person it is, as in a session: another once their keys have changed. */
  readonly who: string;
  /** The same person as they are now: undefined once they are removed or logged out. */
  readonly find: () => Promise<Person | undefined>;
}

type Found = Pick<Caller, "person" | "who">;

/** What a session has of its person: the hash of their token, and how often their keys had changed when it started. */
function whoOf(tokenHash: string, { keyChanges = 0 }: Person): string {
  return keyChanges === 0 ? tokenHash : `${tokenHash}.${keyChanges}`;
}

function tokenHashOf(who: string): string {
  return who.split(".")[0] ?? "";
}

/** A caller who has not said who they are. */
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
  /** What is served. A session that was started for something else does not count. */
  readonly scope: string;
  readonly clock: Clock;
  /** Called with a line of JSON. */
  readonly audit: (line: string) => void;
  /** Where the page may be opened. A session counts only for the first one. */
  readonly origins: readonly [string, ...string[]];
}

/** Shows that the page has the key of its session. */
export interface Proof {
  /** The public key: a point of P-256, as 65 bytes in base64url. */
  readonly key: string;
  /** As `createNonce` has made it. */
  readonly nonce: string;
  /** Of `proofText` by the private key: ECDSA with SHA-256, in base64url. */
  readonly signature: string;
}

const MINUTE_MS = 60_000;
const LOGIN_MS = 10 * MINUTE_MS;
/** Of one person. The oldest is dropped: whoever has one can make more. */
const MAX_LOGINS = 50;
const MAX_USER_AGENT = 200;
const NONCE_MS = MINUTE_MS;
const MAX_NONCES = 10_000;

/**
 * Secrets are kept as hashes, and looked up by them. So the time of a lookup says nothing about a secret, and memory
 * has none that someone could use.
 */
export class Access {
  readonly #options: AccessOptions;
  /** Whom each one-time login is for, and when it expires. */
  readonly #logins = new Map<string, { readonly who: string; readonly expiresAt: number }>();
  readonly #failures: Failures;
  /** Neither stored nor sent: what is made with it ends with the process. */
  readonly #secret = randomBytes(32);
  readonly #usedNonces = new Map<string, true>();

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#failures = new Failures(options.clock);
  }

  /** For a person, who can hand it to another browser of theirs: the owner, unless given. It works once, for ten minutes. */
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

  /** For anyone, and not stored: no one can use up what others need. */
  createNonce(): string {
    const content = `${this.#now()}.${newSecret()}`;
    return `${content}.${this.#sign("nonce", content)}`;
  }

  /**
   * Returns the token of a session: of a new one with a one-time login or a person's token, else of the one that was
   * started with the same key. Throws an `ApiError`, and `write_failed`.
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

  /** After a change of the caller's keys, which has ended all of their sessions: this one goes on. */
  async keepSession({ key, who }: Caller): Promise<void> {
    const { sessions } = this.#options;
    const session = await sessions.find(key);
    const now = await this.#findByToken(tokenHashOf(who));
    if (session?.who !== who || now === undefined) return; // Not a session but a token, or removed.
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
    if (this.#usedNonces.has(nonce)) return false; // Meanwhile.
    this.#usedNonces.set(nonce, true);
    dropOldest(this.#usedNonces, MAX_NONCES);
    return true;
  }

  #sign(purpose: "nonce" | "session", content: string): string {
    const text = JSON.stringify([purpose, content]);
    return createHmac("sha256", this.#secret).update(text).digest("base64url");
  }

  /** Undefined if the session has ended or expired, if the person was removed, or if their keys have changed since. */
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

  /** Returns whom it is for, if it is valid, and uses it up. */
  #useLogin(code: string): string | undefined {
    const key = hashOf(code);
    const login = this.#logins.get(key);
    this.#logins.delete(key);
    return login !== undefined && this.#now() <= login.expiresAt ? login.who : undefined;
  }

  /** So a key is worth nothing at another address of this machine, or when something else is served. */
  #keyOf(publicKey: string): string {
    const { origins, scope } = this.#options;
    return hashOf(JSON.stringify([origins[0], scope, publicKey]));
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

function clientOf(request: IncomingMessage): string {
  return request.socket.remoteAddress ?? "unknown";
}

function dropOldest(map: Map<string, unknown>, max: number): void {
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}

const CURVE = { name: "ECDSA", namedCurve: "P-256" };
const PUBLIC_KEY_BYTES = 65;

/** False also if either is not what it should be. */
async function isSignedBy(key: string, signature: string, text: string): Promise<boolean> {
  const [point, signed] = [Buffer.from(key, "base64url"), Buffer.from(signature, "base64url")];
  // One key has one spelling, because sessions are found by it.
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
