/**
 * Answers that one process offers to the one that has the conversation open, as files in the user's own folder:
 *
 *   <conversation>.<offer>.offered.json   pending; its sender may withdraw it by deleting it
 *   <conversation>.<offer>.claimed.json   the process that has the conversation open decides about it
 *   <conversation>.<offer>.refused.json   it does not fit, and why
 *
 * Clones of a workspace share that folder, and their records may have different contents under the same ids. So an
 * offer has the real path of its workspace, and is refused at another one.
 *
 * The file is removed once the record shows the result. Only the process that holds the lock claims, so a claimed file
 * that it does not know was left behind by a killed process.
 */
import {
  type FSWatcher,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import type {
  AnswerProblem,
  ConversationId,
  OfferedAnswer,
} from "../../record/conversation/index.ts";
import { parseJson, systemErrorCode } from "../../util/index.ts";
import type { Offer } from "../answering.ts";
import {
  decideOffered,
  isRefusal,
  offeredToJson,
  parseRefusal,
  type Refusal,
  refusalToJson,
} from "../offered.ts";
import type { AnswerListener } from "../port.ts";
import { writeError } from "../storage-error.ts";
import { isFolder } from "./durable.ts";
import { OWNER_FOLDER } from "./private-folder.ts";
import { readRegularFile } from "./safe-open.ts";
import type { PrivatePlace } from "./user-data.ts";

const FOLDER = "offers";
/** The delay where the system does not report changes. Otherwise they are noticed at once. */
const POLL_MS = 200;
/** A starting turn has more urgent work, and has not asked anything yet. */
const WATCH_DELAY_MS = 50;
/** For processes that wait for a decision: nothing reports a released lock. */
const LOCK_POLL_MS = 50;
/** After this time, no one will read a refusal. */
const MAX_UNREAD_MS = 60_000;

/** The offers for one conversation. */
export class FileOffers {
  readonly #folder: string;
  readonly #id: ConversationId;
  readonly #workspace: string | undefined;

  constructor({ privateFolder, id, workspace }: PrivatePlace) {
    this.#folder = path.join(privateFolder, FOLDER);
    this.#id = id;
    this.#workspace = workspace;
  }

  /** Throws `write_failed`. */
  place(offered: OfferedAnswer): Offer {
    const offer = new OfferFiles(this.#folder, `${this.#id}.${crypto.randomUUID()}`);
    try {
      makePrivateFolder(this.#folder);
      const json = offeredToJson(offered, this.#workspace);
      writeAtomically(offer.file("offered"), JSON.stringify(json));
    } catch (error) {
      throw writeError(offer.file("offered"), error);
    }
    return new WatchedOffer(this.#folder, offer);
  }

  /**
   * Passes every offer to the listener, until disposed of. Requires the conversation's lock. If the folder cannot be
   * watched, offers are found slightly later. Throws `write_failed`.
   */
  listen(listener: AnswerListener): Disposable {
    const seen = new Set<string>();
    const look = (names: readonly string[]) => {
      for (const name of this.#own(names, /\.(?:offered|claimed)\.json$/)) {
        const key = name.replace(/\.\w+\.json$/, "");
        if (seen.has(key)) continue;
        seen.add(key);
        void handle(new OfferFiles(this.#folder, key), this.#workspace, listener);
      }
    };
    makePrivateFolder(this.#folder);
    const watching = watchTogether(this.#folder, look);
    const names = namesIn(this.#folder);
    this.#removeUnread(names);
    look(names);
    return watching;
  }

  #own(names: readonly string[], ending: RegExp): readonly string[] {
    return names.filter((name) => name.startsWith(`${this.#id}.`) && ending.test(name));
  }

  /** Removes leftovers of processes that were killed before they could read or write them. */
  #removeUnread(names: readonly string[]): void {
    for (const name of this.#own(names, /\.refused\.json$|\.tmp$/)) {
      const file = path.join(this.#folder, name);
      const stats = statSync(file, { throwIfNoEntry: false });
      if (stats !== undefined && Date.now() - stats.mtimeMs > MAX_UNREAD_MS) remove(file);
    }
  }
}

/** An offer, for the process that made it. */
class WatchedOffer implements Offer {
  readonly #offer: OfferFiles;
  readonly #watching: Disposable;
  #changed = Promise.withResolvers<void>();

  constructor(folder: string, offer: OfferFiles) {
    this.#offer = offer;
    this.#watching = watchFolder(folder, () => this.#changed.resolve(), { pollMs: LOCK_POLL_MS });
  }

  async changed(): Promise<void> {
    await this.#changed.promise;
    this.#changed = Promise.withResolvers();
  }

  async findRefusal(): Promise<AnswerProblem | undefined> {
    return this.#offer.findRefusal();
  }

  async withdraw(): Promise<boolean> {
    return remove(this.#offer.file("offered"));
  }

  async discard(): Promise<void> {
    // In this order; otherwise it could be returned in between.
    for (const state of ["claimed", "offered", "refused"] as const) remove(this.#offer.file(state));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching[Symbol.dispose]();
    remove(this.#offer.file("offered"));
  }
}

/** The files of an offer. */
class OfferFiles {
  readonly #folder: string;
  readonly #name: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
  }

  file(state: "offered" | "claimed" | "refused"): string {
    return path.join(this.#folder, `${this.#name}.${state}.json`);
  }

  /** Returns false if it was already withdrawn. */
  claim(): boolean {
    try {
      renameSync(this.file("offered"), this.file("claimed"));
      return true;
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT") throw error;
      return statSync(this.file("claimed"), { throwIfNoEntry: false }) !== undefined;
    }
  }

  giveBack(): void {
    renameSync(this.file("claimed"), this.file("offered"));
  }

  read(): string {
    return readRegularFile(this.file("claimed")).toString("utf8");
  }

  refuse(refusal: Refusal): void {
    writeAtomically(this.file("refused"), JSON.stringify(refusalToJson(refusal)));
    remove(this.file("claimed"));
  }

  findRefusal(): AnswerProblem | undefined {
    try {
      return parseRefusal(parseJson(readRegularFile(this.file("refused")).toString("utf8")));
    } catch {
      return undefined; // Usually: not there.
    }
  }
}

/** Never throws: the sender finds out from the record, or once the lock is free. */
async function handle(
  offer: OfferFiles,
  workspace: string | undefined,
  listener: AnswerListener,
): Promise<void> {
  try {
    if (!offer.claim()) return;
    const result = await decideOffered(() => offer.read(), workspace, listener);
    if (result === undefined) offer.giveBack();
    else if (isRefusal(result)) offer.refuse(result);
    else remove(offer.file("claimed"));
  } catch {
    // The folder is not writable.
  }
}

type NamesListener = (names: readonly string[]) => void;

/** Listeners by folder: a process may have thousands of conversations open. */
const watched = new Map<string, { readonly listeners: Set<NamesListener> } & Disposable>();

/**
 * Calls the listener with the names of all files when they may have changed. Each folder is read once for all
 * listeners.
 */
function watchTogether(folder: string, listener: NamesListener): Disposable {
  const { listeners } = watched.get(folder) ?? watchForAll(folder);
  listeners.add(listener);
  return {
    [Symbol.dispose]: () => {
      listeners.delete(listener);
      const shared = watched.get(folder);
      if (shared?.listeners !== listeners || listeners.size > 0) return;
      watched.delete(folder);
      shared[Symbol.dispose]();
    },
  };
}

function watchForAll(folder: string) {
  const listeners = new Set<NamesListener>();
  const look = () => {
    const names = namesIn(folder);
    for (const listener of listeners) listener(names);
  };
  const watching = watchFolder(folder, look, { pollMs: POLL_MS, delayMs: WATCH_DELAY_MS });
  watching.poll.unref();
  const shared = { listeners, [Symbol.dispose]: () => watching[Symbol.dispose]() };
  watched.set(folder, shared);
  return shared;
}

function watchFolder(
  folder: string,
  onChange: () => void,
  { pollMs, delayMs }: { readonly pollMs: number; readonly delayMs?: number },
): Disposable & { readonly poll: NodeJS.Timeout } {
  let isOpen = true;
  const run = () => {
    if (isOpen) onChange();
  };
  let watcher: FSWatcher | undefined;
  const begin = () => {
    try {
      watcher = watch(folder, { persistent: false }, run);
      watcher.on("error", () => undefined); // The poll remains.
    } catch {
      // The system has no watches left.
    }
  };
  let later: NodeJS.Timeout | undefined;
  if (delayMs === undefined) begin();
  else {
    later = setTimeout(() => {
      begin();
      run(); // For earlier offers.
    }, delayMs).unref();
  }
  const poll = setInterval(run, pollMs);
  return {
    poll,
    [Symbol.dispose]: () => {
      isOpen = false;
      clearTimeout(later);
      clearInterval(poll);
      watcher?.close();
    },
  };
}

/** Someone may remove the folder while it is watched. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Private: answers belong to the user. Throws `write_failed`. */
function makePrivateFolder(folder: string): void {
  try {
    if (!isFolder(folder)) mkdirSync(folder, { recursive: true, mode: OWNER_FOLDER });
  } catch (error) {
    throw writeError(folder, error);
  }
}

function writeAtomically(file: string, text: string): void {
  const temporary = `${file}.tmp`;
  writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
  renameSync(temporary, file);
}

/** Returns false if it did not exist. */
function remove(file: string): boolean {
  try {
    rmSync(file);
    return true;
  } catch {
    return false;
  }
}
