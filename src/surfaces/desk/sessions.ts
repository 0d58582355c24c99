/** Stores the page's sessions, so that a server restart logs no one out. */
import path from "node:path";
import { PrivateFile, type SessionTable } from "../../stores/index.ts";
import {
  arrayField,
  messageOf,
  monotonicMs,
  parseJson,
  shapeOf,
  stringField,
} from "../../util/index.ts";

/** A stored session. It contains no secret, so no one can log in with it. */
export interface Session {
  /** A hash of its secret and of the secret's scope. */
  readonly key: string;
  /**
   * The login token's hash, with the number of key changes at the time: a later key change ends the session. `OWNER`
   * for a one-time login.
   */
  readonly who: string;
  /** In milliseconds since 1970, like `Date.now()`. */
  readonly startedAt: number;
  /** Rounded to the hour. */
  readonly usedAt: number;
}

/** A desk's sessions. Several servers may share them. */
export interface Sessions {
  find(key: string): Promise<Session | undefined>;
  /** Ends the sessions it replaces. Throws `write_failed`, `store_unreachable`. */
  start(session: Session, replaced?: readonly string[]): Promise<void>;
  /** Does nothing if the session has ended: sessions never come back. */
  use(key: string, now: number): Promise<void>;
  /**
   * Throws `write_failed`, `store_unreachable` if the session would come back with a restart. It has ended until then.
   */
  end(key: string): Promise<void>;
}

/** Not a hash. */
export const OWNER = "owner";

const HOUR_MS = 3_600_000;
const IDLE_MS = 24 * HOUR_MS;
const MAX_AGE_MS = 7 * 24 * HOUR_MS;
/** Drops the same person's least recently used: no one can end another's session by logging in often. */
const MAX_SESSIONS_EACH = 50;
/** How long a session that ended at another desk may remain valid here. */
const KNOWN_MS = 2000;
const MAX_KNOWN = 10_000;

/** Whether it was started or last used too long ago. */
export function isExpired({ startedAt, usedAt }: Session, now: number): boolean {
  return now - usedAt > IDLE_MS || now - startedAt > MAX_AGE_MS;
}

/** Lasts as long as the process runs. */
export function sessionsInMemory(): Sessions {
  let sessions: readonly Session[] = [];
  return new StoredSessions({
    read: () => sessions,
    change: async (change) => {
      sessions = change(sessions) ?? sessions;
    },
    onProblem: () => undefined,
  });
}

/**
 * Stores sessions in this folder's `desk-sessions.json`. If the file is damaged or not private, no one is logged in,
 * and `onProblem` is called. Deleting it logs everyone out.
 */
export function openSessions(folder: string, onProblem: (problem: string) => void): Sessions {
  const file = new PrivateFile<readonly Session[]>(path.join(folder, "desk-sessions.json"), {
    empty: [],
    parse: (text) => arrayField(shapeOf(parseJson(text)), "sessions").map(fromJson),
    format: (sessions) => `${JSON.stringify({ sessions: sessions.map(toJson) }, null, 2)}\n`,
    onInvalid: (name, error) => {
      onProblem(`Everyone has to log in again, because ${name} is not used: ${messageOf(error)}.`);
      return [];
    },
  });
  return new StoredSessions({
    read: () => file.read(),
    change: (change) => file.change(change),
    onProblem,
  });
}

/**
 * Stores sessions in a database shared with other desks: a login at one is valid at all with the same address and
 * scope. The owner belongs to one desk, so owner sessions stay in `own`: write access to the database cannot create
 * one.
 */
export function openSharedSessions(
  table: SessionTable,
  own: Sessions,
  onProblem: (problem: string) => void,
): Sessions {
  return new SharedSessions(table, own, onProblem);
}

interface Storage {
  readonly read: () => readonly Session[];
  /** The callback returns undefined if there is nothing to change. */
  readonly change: (
    change: (sessions: readonly Session[]) => readonly Session[] | undefined,
  ) => Promise<void>;
  readonly onProblem: (problem: string) => void;
}

class StoredSessions implements Sessions {
  readonly #storage: Storage;
  /** Sessions whose end could not be stored. */
  readonly #ended = new Set<string>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async find(key: string): Promise<Session | undefined> {
    if (this.#ended.has(key)) return undefined;
    return this.#storage.read().find((session) => session.key === key);
  }

  async start(session: Session, replaced: readonly string[] = []): Promise<void> {
    await this.#storage.change((sessions) => {
      const rest = sessions.filter(
        (other) => !replaced.includes(other.key) && !isExpired(other, session.startedAt),
      );
      const dropped = tooMany(rest.filter(({ who }) => who === session.who));
      return [...rest.filter((other) => !dropped.includes(other)), session];
    });
  }

  async use(key: string, now: number): Promise<void> {
    const isDue = (session: Session) => session.key === key && now - session.usedAt >= HOUR_MS;
    if (!this.#storage.read().some(isDue)) return;
    try {
      await this.#storage.change((sessions) =>
        sessions.map((session) => (isDue(session) ? { ...session, usedAt: now } : session)),
      );
    } catch (error) {
      this.#storage.onProblem(messageOf(error));
    }
  }

  async end(key: string): Promise<void> {
    this.#ended.add(key);
    await this.#storage.change((sessions) => {
      const others = sessions.filter((session) => session.key !== key);
      return others.length < sessions.length ? others : undefined;
    });
    this.#ended.delete(key);
  }
}

class SharedSessions implements Sessions {
  readonly #table: SessionTable;
  readonly #own: Sessions;
  readonly #onProblem: (problem: string) => void;
  /** Sessions whose end could not be stored. */
  readonly #ended = new Set<string>();
  /** A short-lived cache, because each event is sent to many. Oldest first. */
  readonly #known = new Map<string, { readonly session: Session; readonly until: number }>();
  /** Counts changes: a lookup that started before the last one may be out of date. */
  #changes = 0;

  constructor(table: SessionTable, own: Sessions, onProblem: (problem: string) => void) {
    this.#table = table;
    this.#own = own;
    this.#onProblem = onProblem;
  }

  async find(key: string): Promise<Session | undefined> {
    if (this.#ended.has(key)) return undefined;
    const own = await this.#own.find(key);
    if (own !== undefined) return own.who === OWNER ? own : undefined;
    const known = this.#known.get(key);
    if (known !== undefined && monotonicMs() < known.until) return known.session;
    const [until, changes] = [monotonicMs() + KNOWN_MS, this.#changes];
    const session = await this.#table.find(key);
    this.#known.delete(key);
    if (session === undefined || session.who === OWNER || this.#ended.has(key)) return undefined;
    if (changes === this.#changes) this.#known.set(key, { session, until });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    return session;
  }

  async start(session: Session, replaced: readonly string[] = []): Promise<void> {
    const { who, startedAt } = session;
    if (who === OWNER) {
      for (const key of replaced) await this.end(key);
      return this.#own.start(session, replaced);
    }
    for (const key of replaced) await this.#own.end(key);
    await this.#table.start(session, {
      keys: replaced,
      startedBefore: startedAt - MAX_AGE_MS,
      usedBefore: startedAt - IDLE_MS,
      kept: MAX_SESSIONS_EACH - 1,
    });
    this.#forget(session.key);
    this.#ended.delete(session.key);
  }

  async use(key: string, now: number): Promise<void> {
    await this.#own.use(key, now);
    const { session } = this.#known.get(key) ?? {};
    if (session !== undefined && now - session.usedAt < HOUR_MS) return;
    this.#known.delete(key);
    try {
      await this.#table.use(key, { now, before: now - HOUR_MS });
    } catch (error) {
      this.#onProblem(messageOf(error));
    }
  }

  async end(key: string): Promise<void> {
    this.#ended.add(key);
    this.#forget(key);
    await this.#own.end(key);
    await this.#table.end(key);
    this.#ended.delete(key);
  }

  #forget(key: string): void {
    this.#changes += 1;
    this.#known.delete(key);
  }
}

/** The least recently used sessions that have to make room for another. */
function tooMany(own: readonly Session[]): readonly Session[] {
  const oldestFirst = own.toSorted((left, right) => left.usedAt - right.usedAt);
  return oldestFirst.slice(0, Math.max(0, own.length + 1 - MAX_SESSIONS_EACH));
}

function fromJson(value: unknown): Session {
  const shape = shapeOf(value, "sessions");
  return {
    key: stringField(shape, "key_sha256"),
    who: stringField(shape, "who"),
    startedAt: parseTime(stringField(shape, "started_at")),
    usedAt: parseTime(stringField(shape, "used_at")),
  };
}

function toJson({ key, who, startedAt, usedAt }: Session) {
  return {
    key_sha256: key,
    who,
    started_at: new Date(startedAt).toISOString(),
    used_at: new Date(usedAt).toISOString(),
  };
}

/** Rejects an invalid time, which would never expire. */
function parseTime(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new SyntaxError(`${text} is not a time`);
  return time;
}
