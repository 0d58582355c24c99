/**
 * Keeps text that was typed in a session and not sent, in files that only this user can read: one for each session and
 * conversation. A session holds a lock until it ends in any way, so that the next one sees what was left behind.
 */
import { existsSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { type ConversationId, findConversationId } from "../../../record/conversation/index.ts";
import {
  type ConversationLock,
  holdFileLock,
  makeFolder,
  OWNER_FILE,
  OWNER_FOLDER,
  readPrivate,
  securePrivateFolder,
  type UserEnvironment,
  userDataFolder,
  type Workspace,
  writeDurably,
} from "../../../stores/index.ts";
import {
  arrayField,
  type Clock,
  messageOf,
  mismatch,
  parseJson,
  randomKey,
  sha256,
  shapeOf,
  systemErrorCode,
} from "../../../util/index.ts";
import { mayBeStored } from "./history.ts";

/** The longest time for which typed text is only in memory. */
export const SAVE_MS = 1000;
const MAX_TEXTS = 1000;
/** Limit for all texts of a file together. */
const MAX_TOTAL_LENGTH = 1_000_000;
/** More than any file can have within the limits. */
const MAX_BYTES = 8_000_000;

/** Text that was typed and not sent. Undefined: for a conversation that does not exist yet. */
export interface Unsent {
  readonly id: ConversationId | undefined;
  readonly texts: readonly string[];
}

interface DraftsPlace {
  readonly environment: UserEnvironment;
  readonly workspace: Pick<Workspace, "root">;
}

interface DraftsOptions {
  readonly context: DraftsPlace & { readonly clock: Clock };
  /** The current texts. */
  readonly source: () => Unsent;
  /** Called with a sentence if a file cannot be read, and the first time that one cannot be written. */
  readonly onProblem: (problem: string) => void;
}

interface DraftFile {
  readonly file: string;
  /** Absent for a conversation that does not exist yet. */
  readonly id: ConversationId | undefined;
  /** The key of the session. */
  readonly owner: string;
}

export class Drafts {
  readonly #options: DraftsOptions;
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #key = randomKey();
  #lock: ConversationLock | undefined;
  /** The file of the current texts, as last written. */
  #written: { readonly file: string; readonly content: string | undefined } | undefined;
  #waiting: AbortController | undefined;
  #last: Promise<void> = Promise.resolve();
  #hasFailed = false;

  constructor(options: DraftsOptions) {
    this.#options = options;
    this.#folder = draftsFolder(options.context);
    this.#clock = options.context.clock;
  }

  /** The texts have changed. They are saved soon. */
  note(): void {
    if (this.#waiting !== undefined) return;
    const waiting = new AbortController();
    this.#waiting = waiting;
    void this.#clock.sleep(SAVE_MS, waiting.signal).then(
      () => this.save(),
      () => {}, // Saved before.
    );
  }

  /** Saves the texts at once. Never throws: without files, the session continues. */
  save(): Promise<void> {
    this.#waiting?.abort();
    this.#waiting = undefined;
    return this.#inTurn(() => this.#write(this.#options.source()));
  }

  /** Saves these texts for when the conversation is continued. From now on, `source` is about another one. */
  leave(unsent: Unsent): Promise<void> {
    return this.#inTurn(async () => {
      await this.#write(unsent);
      this.#written = undefined;
    });
  }

  /**
   * Passes on what ended sessions have left for this conversation, the latest first. Their files are deleted once
   * `source` has the texts, and they are saved again.
   */
  takeOver(
    id: ConversationId | undefined,
    onTexts: (texts: readonly string[]) => void,
  ): Promise<void> {
    return this.#inTurn(async () => {
      const left: DraftFile[] = [];
      const locks: ConversationLock[] = [];
      try {
        for (const each of this.#list()) {
          if (each.id !== id || each.owner === this.#key) continue;
          const lock = holdFileLock(this.#lockOf(each.owner));
          if (lock === undefined) continue;
          locks.push(lock);
          left.push(each);
        }
        const texts = left.flatMap(({ file }) => this.#read(file));
        if (texts.length > 0) onTexts(texts);
        await this.#write(this.#options.source());
        for (const { file } of left) rmSync(file, { force: true });
      } finally {
        for (const lock of locks) lock.release();
      }
    });
  }

  /** Other conversations for which ended sessions have left text, the latest first. */
  findOthers(): readonly (ConversationId | undefined)[] {
    const { id: own } = this.#options.source();
    try {
      const others = this.#list().filter(({ id, owner }) => id !== own && this.#hasEnded(owner));
      const withText = others.filter(({ file }) => this.#read(file).length > 0);
      return [...new Set(withText.map(({ id }) => id))];
    } catch {
      return []; // Without locks, no one can tell.
    }
  }

  /** Saves the texts for the next session. */
  async end(): Promise<void> {
    await this.save();
    this.#lock?.release();
    this.#lock = undefined;
  }

  /** One action at a time. */
  #inTurn(action: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(action).catch((error: unknown) => {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      this.#options.onProblem(
        `What you type is not saved, and lost if jp is killed: ${messageOf(error).replace(/\.$/, "")}.`,
      );
    });
    return this.#last;
  }

  async #write({ id, texts }: Unsent): Promise<void> {
    const file = path.join(this.#folder, `${id ?? NEW}.${this.#key}.json`);
    const { variables } = this.#options.context.environment;
    const kept = withinLimits(texts.filter((text) => mayBeStored(text, variables)));
    const content = kept.length === 0 ? undefined : `${JSON.stringify({ texts: kept })}\n`;
    const before = this.#written;
    if (before?.file === file && before.content === content) return;
    if (content !== undefined) await this.#create(file, content);
    else if (existsSync(file)) rmSync(file);
    if (before !== undefined && before.file !== file) rmSync(before.file, { force: true });
    this.#written = { file, content };
  }

  async #create(file: string, content: string): Promise<void> {
    await makeFolder(this.#folder, OWNER_FOLDER);
    for (const folder of [path.dirname(this.#folder), this.#folder]) securePrivateFolder(folder);
    this.#lock ??= holdFileLock(this.#lockOf(this.#key));
    await writeDurably(file, Buffer.from(content), OWNER_FILE);
  }

  /** The files of all sessions, the latest first. */
  #list(): readonly DraftFile[] {
    return listDrafts(this.#folder)
      .map((each) => ({ each, at: statSync(each.file, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .toSorted((one, other) => other.at - one.at)
      .map(({ each }) => each);
  }

  #lockOf(owner: string): string {
    return path.join(this.#folder, `${owner}.lock`);
  }

  #hasEnded(owner: string): boolean {
    if (owner === this.#key) return false;
    const lock = holdFileLock(this.#lockOf(owner));
    lock?.release();
    return lock !== undefined;
  }

  /** A file that cannot be read is put aside. */
  #read(file: string): readonly string[] {
    try {
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES)
        throw new Error("it is too large");
      return parseTexts(readPrivate(file));
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return [];
      const aside = `${file}.damaged`;
      renameSync(file, aside);
      const reason = messageOf(error);
      this.#options.onProblem(
        `Text that was not sent cannot be read: ${reason}. It is in ${aside}.`,
      );
      return [];
    }
  }
}

/** Deletes what sessions have kept for a conversation that is deleted. */
export function removeDrafts(context: DraftsPlace, removed: ConversationId): void {
  const folder = draftsFolder(context);
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder))
    if (name.startsWith(`${removed}.`)) rmSync(path.join(folder, name), { force: true });
}

/** By the path of the workspace: a clone with the same id has its own. */
function draftsFolder({ environment, workspace: { root } }: DraftsPlace): string {
  const place = sha256(realpathSync(root)).slice(0, 16);
  return path.join(userDataFolder(environment), "drafts", place);
}

/** The name of a conversation that does not exist yet. */
const NEW = "new";

function listDrafts(folder: string): readonly DraftFile[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    const [, target = "", owner = ""] = /^([\da-z-]+)\.([\da-f]{32})\.json$/.exec(name) ?? [];
    const id = findConversationId(target);
    const isDraft = id !== undefined || target === NEW;
    return isDraft ? [{ file: path.join(folder, name), id, owner }] : [];
  });
}

function parseTexts(text: string): readonly string[] {
  const texts = arrayField(shapeOf(parseJson(text)), "texts").map((each, index) => {
    if (typeof each !== "string") throw mismatch(`texts.${index}`, "a string", each);
    return each;
  });
  return withinLimits(texts.filter((each) => each.trim() !== ""));
}

/** The first texts that fit. */
function withinLimits(texts: readonly string[]): readonly string[] {
  let total = 0;
  const end = texts.findIndex(({ length }) => (total += length) > MAX_TOTAL_LENGTH);
  return texts.slice(0, end === -1 ? MAX_TEXTS : Math.min(end, MAX_TEXTS));
}
