/** This user's anchors, stored in a file in the data folder, and making new ones. */
import { rmSync, statSync } from "node:fs";
import path from "node:path";
import type { AnchorSettings } from "../settings/config/index.ts";
import {
  headsFileIn,
  makeFolder,
  OWNER_FILE,
  OWNER_FOLDER,
  PrivateFile,
  readHeads,
  type UserEnvironment,
  userDataFolder,
  writeDurably,
} from "../stores/index.ts";
import {
  type Clock,
  isJpError,
  JpError,
  loadModule,
  messageOf,
  parseJson,
  shapeOf,
} from "../util/index.ts";
import {
  type Anchor,
  type AnchorDocument,
  AnchorError,
  type AnchorProof,
  anchorToJson,
  digestOfDocument,
  digestsOf,
  documentToText,
  parseAnchor,
} from "./anchor.ts";
import { ensureMachineKey } from "./machine-key.ts";

export interface AnchorOptions {
  /** The workspace, or else the current folder: git never comes from there. */
  readonly root: string;
  readonly environment: UserEnvironment;
  readonly settings: AnchorSettings;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface AnchorResult {
  /** Absent if there was nothing new. */
  readonly made?: Anchor;
  /** The previous anchor. */
  readonly last?: Anchor;
  /** The number of anchored heads that the log no longer has. */
  readonly lost: number;
}

/**
 * Anchors the new entries in the log of heads. Throws `AnchorError`, `invalid_anchors`, `read_failed`, `write_failed`.
 */
export async function anchorHeads(options: AnchorOptions): Promise<AnchorResult> {
  const { environment } = options;
  const failure = failureFile(environment);
  try {
    const result = await anchorNew(options);
    rmSync(failure, { force: true });
    return result;
  } catch (error) {
    await noteFailure(failure, error);
    throw error;
  }
}

async function anchorNew({
  root,
  environment,
  settings,
  clock,
  signal,
}: AnchorOptions): Promise<AnchorResult> {
  const file = anchorsOf(environment);
  const anchors = file.read();
  const last = anchors.at(-1);
  const noted = new Set(readHeads(environment).flatMap(digestsOf));
  const known = new Set(anchors.flatMap(({ document }) => document.heads));
  const lost = [...known].filter((digest) => !noted.has(digest)).length;
  const heads = [...noted].filter((digest) => !known.has(digest));
  if (heads.length === 0) return { ...(last && { last }), lost };
  const document = { prev: last === undefined ? "" : digestOfDocument(last.document), heads };
  const at = clock.now().toISOString();
  const proof = await withDeadline({ clock, signal }, (until) =>
    prove(document, { root, environment, settings, at, signal: until }),
  );
  const made = { at, document, proof };
  await file.change((before) => [...before, made]);
  return { made, ...(last && { last }), lost };
}

/** All anchors so far. Throws `invalid_anchors`. */
export function readAnchors(environment: UserEnvironment): readonly Anchor[] {
  return anchorsOf(environment).read();
}

interface ProofRequest extends Omit<AnchorOptions, "clock"> {
  readonly at: string;
}

async function prove(
  document: AnchorDocument,
  { root, environment, settings, at, signal }: ProofRequest,
): Promise<AnchorProof> {
  if (settings.kind === "timestamp") {
    const { requestTimestamp } = await loadModule(() => import("./timestamp.ts"));
    return requestTimestamp(settings.url, Buffer.from(documentToText(document)), signal);
  }
  const { key } = await ensureMachineKey(environment);
  const { pushAnchor } = await loadModule(() => import("./git-anchor.ts"));
  const folder = proofFolder(environment);
  await makeFolder(folder, OWNER_FOLDER);
  return pushAnchor({
    ...settings,
    file: `${key.id}.json`,
    content: { at, heads: document.heads.length, sha256: digestOfDocument(document) },
    folder,
    root,
    variables: environment.variables,
    signal,
  });
}

/** The timeout for all remote requests together. */
const TIMEOUT_MS = 60_000;

/** Throws the signal's reason, and `anchor_failed` on timeout. */
async function withDeadline<Result>(
  { clock, signal }: Pick<AnchorOptions, "clock" | "signal">,
  action: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const [late, done] = [new AbortController(), new AbortController()];
  clock.sleep(TIMEOUT_MS, done.signal).then(
    () => late.abort(),
    () => undefined, // The action finished first.
  );
  try {
    return await action(AbortSignal.any([signal, late.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (!late.signal.aborted) throw error;
    throw new AnchorError("anchor_failed", `no response within ${TIMEOUT_MS / 1000} s`);
  } finally {
    done.abort();
  }
}

/** The state of anchoring, for `jp doctor` and to decide when the next anchor is due. */
export interface AnchorState {
  /** When the last anchor was made, in milliseconds. Absent if there is none. */
  readonly lastAt?: number;
  /** Whether the log has grown since. */
  readonly hasNew: boolean;
  /** When the last attempt failed, if it did. */
  readonly failedAt?: number;
}

/** Checks only file times, because it runs after each turn. */
export function anchorState(environment: UserEnvironment): AnchorState {
  const lastAt = changedAt(anchorsFile(environment));
  const notedAt = changedAt(headsFileIn(userDataFolder(environment)));
  const failedAt = changedAt(failureFile(environment));
  return {
    ...(lastAt !== undefined && { lastAt }),
    hasNew: notedAt !== undefined && (lastAt === undefined || notedAt > lastAt),
    ...(failedAt !== undefined && { failedAt }),
  };
}

const DAY_MS = 24 * 60 * 60 * 1000;
const RETRY_MS = 60 * 60 * 1000;

/** Whether a day has passed, or an hour since a failed attempt. */
export function isAnchorDue({ lastAt, hasNew, failedAt }: AnchorState, now: number): boolean {
  if (!hasNew || (failedAt !== undefined && now - failedAt < RETRY_MS)) return false;
  return lastAt === undefined || now - lastAt >= DAY_MS;
}

function changedAt(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}

function proofFolder(environment: UserEnvironment): string {
  return path.join(userDataFolder(environment), "proof");
}

function anchorsFile(environment: UserEnvironment): string {
  return path.join(proofFolder(environment), "anchors.jsonl");
}

/** Records the last attempt, if it failed. */
function failureFile(environment: UserEnvironment): string {
  return path.join(proofFolder(environment), "anchor-failure.json");
}

/** Never throws: the caller reports the recorded error. */
async function noteFailure(file: string, error: unknown): Promise<void> {
  const code = isJpError(error) ? error.code : "error";
  const text = `${JSON.stringify({ code, message: messageOf(error) })}\n`;
  try {
    await makeFolder(path.dirname(file), OWNER_FOLDER);
    rmSync(file, { force: true }); // So that the file's time is that of the last attempt.
    await writeDurably(file, Buffer.from(text), OWNER_FILE);
  } catch {
    // Only makes the next attempt come earlier.
  }
}

function anchorsOf(environment: UserEnvironment): PrivateFile<readonly Anchor[]> {
  return new PrivateFile<readonly Anchor[]>(anchorsFile(environment), {
    empty: [],
    parse: (text) =>
      text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => parseAnchor(shapeOf(parseJson(line)))),
    format: (anchors) =>
      anchors.map((anchor) => `${JSON.stringify(anchorToJson(anchor))}\n`).join(""),
    onInvalid: (name, cause) => {
      throw new JpError("invalid_anchors", `${name} cannot be used: ${messageOf(cause)}.`, {
        cause,
        hint: "Only you may read it. If it is damaged, move it away, and jp anchors the whole log again.",
      });
    },
  });
}
