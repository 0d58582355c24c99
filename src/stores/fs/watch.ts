/**
 * Watches a file store with a handful of watchers, regardless of the number of conversations. Every writer locks its
 * conversation and touches the marker of its open turn, so changes show in the folders of locks and markers. The
 * folders of conversations show what other programs add or remove.
 */
import { type FSWatcher, statSync, watch } from "node:fs";
import path from "node:path";
import type { ConversationId } from "../../record/conversation/index.ts";
import type { ChangeListener } from "../port.ts";

/** A folder to watch. It need not exist yet. */
export interface WatchedFolder {
  readonly folder: string;
  /** The conversation that a name in it belongs to. Absent if it is watched only until another folder exists. */
  readonly idOf?: (name: string) => ConversationId | undefined;
}

/** One append writes to several files. They are reported as one change. */
const SETTLE_MS = 5;
/** How long to wait before retrying a folder that cannot be watched, for example because the system has no watches left. */
const RETRY_MS = 5000;

interface OpenWatcher {
  readonly watcher: FSWatcher;
  readonly identity: string;
}

/** Reports changes until it is disposed of. Does not keep the process running. */
export class FolderWatch implements Disposable {
  /** A function, because the paths may change while the folders are created. */
  readonly #folders: () => readonly WatchedFolder[];
  readonly #listener: ChangeListener;
  readonly #watchers = new Map<string, OpenWatcher>();
  readonly #changed = new Set<ConversationId>();
  /** An unknown change. */
  #isUnknown = false;
  /** A name that is not a conversation's has changed: possibly a folder itself. */
  #mayHaveMoved = false;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(folders: () => readonly WatchedFolder[], listener: ChangeListener) {
    this.#folders = folders;
    this.#listener = listener;
    this.#update();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    for (const folder of this.#watchers.keys()) this.#close(folder);
  }

  /** Returns whether a folder of conversations is new, so that changes in it may have been missed. */
  #update(): boolean {
    let hasNew = false;
    // A folder may be created while its parent is not watched yet.
    for (let isStable = false; !isStable;) {
      const wanted = findExisting(this.#folders());
      const opened = [...wanted].filter(([folder, watched]) => this.#open(folder, watched));
      hasNew ||= opened.some(([, { idOf }]) => idOf !== undefined);
      for (const folder of this.#watchers.keys()) if (!wanted.has(folder)) this.#close(folder);
      isStable = opened.length === 0;
    }
    return hasNew;
  }

  /** Returns false if it is already watched, or cannot be. */
  #open(folder: string, { idOf }: WatchedFolder): boolean {
    const identity = identityOf(folder);
    if (identity === undefined || this.#watchers.get(folder)?.identity === identity) return false;
    this.#close(folder);
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (name === null) this.#isUnknown = true;
        // The folder itself was moved or removed. Another one in its place may get the same inode.
        if (name === path.basename(folder)) {
          this.#close(folder);
          this.#isUnknown ||= idOf !== undefined;
        }
        const id = name === null ? undefined : idOf?.(name);
        if (id === undefined) this.#mayHaveMoved = true;
        else this.#changed.add(id);
        this.#schedule();
      });
      watcher.on("error", () => {
        this.#close(folder);
        this.#scheduleRetry();
      });
      this.#watchers.set(folder, { watcher, identity });
      return true;
    } catch {
      this.#scheduleRetry();
      return false;
    }
  }

  #close(folder: string): void {
    this.#watchers.get(folder)?.watcher.close();
    this.#watchers.delete(folder);
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => this.#report(), SETTLE_MS).unref();
  }

  #scheduleRetry(): void {
    if (this.#isClosed) return;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#isUnknown = true;
      this.#mayHaveMoved = true;
      this.#report();
    }, RETRY_MS).unref();
  }

  #report(): void {
    this.#timer = undefined;
    const ids = [...this.#changed];
    this.#changed.clear();
    if (this.#mayHaveMoved && this.#update()) this.#isUnknown = true;
    this.#mayHaveMoved = false;
    if (!this.#isUnknown) return ids.forEach((id) => this.#listener({ id }));
    this.#isUnknown = false;
    this.#listener({});
  }
}

/** The folders by their paths; for one that does not exist, the nearest parent that does. */
function findExisting(folders: readonly WatchedFolder[]): ReadonlyMap<string, WatchedFolder> {
  const existing = new Map<string, WatchedFolder>();
  for (const watched of folders) {
    let { folder } = watched;
    while (identityOf(folder) === undefined && folder !== path.dirname(folder)) {
      folder = path.dirname(folder);
    }
    if (folder === watched.folder) existing.set(folder, watched);
    else if (!existing.has(folder)) existing.set(folder, { folder });
  }
  return existing;
}

/** Changes if the folder is removed and created again. Undefined if it does not exist. */
function identityOf(folder: string): string | undefined {
  try {
    const { dev, ino } = statSync(folder, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}
