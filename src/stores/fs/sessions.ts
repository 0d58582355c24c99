/** Terminal sessions: which one this process belongs to, and the conversations used in it. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { type ConversationId } from "../../record/conversation/index.ts";
import { type Clock, isJsonArray, isJsonObject, type Json } from "../../util/index.ts";
import type { SessionStore } from "../workspace-port.ts";
import { StorageError } from "../storage-error.ts";
import { makeFolder, writeJson } from "./durable.ts";
import { fileIdFromNumber, fileIdToNumber } from "./file-id.ts";

export interface FsSessionOptions {
  readonly session: SessionId | undefined;
  readonly findUserFolder: () => string | undefined;
  readonly ensureUserFolder: () => Promise<string>;
  readonly clock: Clock;
}

interface Visit {
  readonly id: ConversationId;
  /** RFC 3339, unlike timestamps in a record. */
  readonly activatedAt: string;
}

export class FsSessionStore implements SessionStore {
  readonly #options: FsSessionOptions;

  constructor(options: FsSessionOptions) {
    this.#options = options;
  }

  async history(): Promise<readonly ConversationId[]> {
    const { session, findUserFolder } = this.#options;
    const folder = findUserFolder();
    if (session === undefined || folder === undefined) return [];
    return readVisits(await sessionFile(folder, session)).map((visit) => visit.id);
  }

  async activate(id: ConversationId): Promise<void> {
    const { session, ensureUserFolder, clock } = this.#options;
    if (session === undefined) throw noSessionError();
    const file = await sessionFile(await ensureUserFolder(), session);
    await makeFolder(path.dirname(file));
    const earlier = readVisits(file).filter((visit) => visit.id !== id);
    const visits = [{ id, activatedAt: clock.now().toISOString() }, ...earlier];
    await writeJson(file, {
      history: visits.map((visit) => ({
        id: fileIdToNumber(visit.id),
        activated_at: visit.activatedAt,
      })),
      id: session.id,
      source: session.source,
    });
  }
}

const SESSIONS = "sessions";

async function sessionFile(userFolder: string, session: SessionId): Promise<string> {
  return path.join(userFolder, SESSIONS, `${await sessionKey(session)}.json`);
}

/** An unreadable file counts as an empty history. */
function readVisits(file: string): readonly Visit[] {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    const history = isJsonObject(value) ? value["history"] : undefined;
    return isJsonArray(history) ? history.flatMap(parseVisit) : [];
  } catch {
    return [];
  }
}

function parseVisit(value: Json): readonly Visit[] {
  if (!isJsonObject(value) || typeof value["id"] !== "number") return [];
  const activatedAt = value["activated_at"];
  const id = fileIdFromNumber(value["id"]);
  return [{ id, activatedAt: typeof activatedAt === "string" ? activatedAt : "" }];
}

function noSessionError(): StorageError {
  return new StorageError("no_session", "Cannot identify this terminal session.", {
    hint: "Set JP_SESSION to a name of your choice, or pass the conversation's id each time.",
  });
}

interface SessionId {
  readonly id: string;
  readonly source: { readonly type: "getsid" } | { readonly type: "env"; readonly key: string };
}

const TERMINAL_VARIABLES = [
  "TMUX_PANE",
  "WEZTERM_PANE",
  "TERM_SESSION_ID",
  "ITERM_SESSION_ID",
  "WT_SESSION",
];

/** From `JP_SESSION`, the system's session id, or a variable of the terminal, in this order. */
export function findSessionId(
  variables: Readonly<Record<string, string | undefined>>,
): SessionId | undefined {
  const own = fromVariable(variables, "JP_SESSION");
  if (own !== undefined) return own;
  const sid = findSystemSession();
  if (sid !== undefined) return { id: sid, source: { type: "getsid" } };
  for (const key of TERMINAL_VARIABLES) {
    const found = fromVariable(variables, key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The name of a session's file, without its extension. */
export async function sessionKey({ id, source }: SessionId): Promise<string> {
  if (source.type === "getsid") return `getsid-${safe(id)}`;
  // Loaded lazily: it takes a fifth of Node's own start-up time.
  const { createHash } = process.getBuiltinModule("node:crypto");
  const digest = createHash("sha256").update(id).digest("hex").slice(0, 16);
  return `env-${safe(source.key)}-${digest}`;
}

function fromVariable(
  variables: Readonly<Record<string, string | undefined>>,
  key: string,
): SessionId | undefined {
  const id = variables[key];
  return id === undefined || id === "" ? undefined : { id, source: { type: "env", key } };
}

/** Node has no `getsid`. Linux has it in a file, after the command's name in parentheses. */
function findSystemSession(): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const text = readFileSync("/proc/self/stat", "utf8");
    const sid = text.slice(text.lastIndexOf(")") + 2).split(" ")[3];
    return sid === undefined || sid === "0" ? undefined : sid;
  } catch {
    return undefined;
  }
}

function safe(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_]/g, "_");
}
