/**
 * Where conversations are kept, as everything above storage sees it. Implementations: `fs/`, the
 * layout of the Rust original, and `memory/`. One suite of tests runs over both.
 */
import type {
  ConversationEvent,
  ConversationId,
  ConversationMetadata,
  ConversationStream,
  StreamEntry,
  Timestamp,
} from "../conversation/index.ts";
import type { JsonObject } from "../util/index.ts";

/** Reading never writes, never locks, and never waits for a writer. */
export interface ConversationStore {
  /** In no particular order. Does not read whole records. A broken one is listed, with its problem. */
  list(options?: ListOptions): Promise<ConversationSummary[]>;

  find(id: ConversationId): Promise<ConversationSummary | undefined>;

  /** The whole of it, in memory. Throws `conversation_not_found`. */
  load(id: ConversationId): Promise<Conversation>;

  /** The same record piece by piece, whatever its length. Throws `conversation_not_found`. */
  scan(id: ConversationId): AsyncIterable<RecordPiece>;

  /** A new conversation, on disk and locked by the caller. */
  create(options: CreateOptions): Promise<ConversationWriter>;

  /**
   * Takes the conversation's lock and opens it for writing; a torn end is repaired first. Throws
   * `conversation_locked` at once if somebody holds it, `conversation_archived`,
   * `record_damaged`, `conversation_not_found`.
   */
  open(id: ConversationId): Promise<ConversationWriter>;

  /** A copy under a new id, of all of it or of what `keep` says. Element by element, unchanged. */
  fork(id: ConversationId, options?: ForkOptions): Promise<ConversationId>;

  /** Gone for good. Throws `conversation_locked`. */
  remove(id: ConversationId): Promise<void>;

  /** Out of the way, still readable. Throws `conversation_locked`. */
  archive(id: ConversationId): Promise<void>;
  unarchive(id: ConversationId): Promise<void>;

  /** Whether it is kept with the workspace or only for this user. Throws `conversation_locked`. */
  setLocal(id: ConversationId, isLocal: boolean): Promise<void>;
}

/** One process's hold on a conversation. Every method may throw `write_failed`. */
export interface ConversationWriter extends AsyncDisposable {
  readonly id: ConversationId;
  readonly metadata: ConversationMetadata;
  /** Grows with each append; read it again rather than keeping its entries. */
  readonly stream: ConversationStream;
  /** What was put right when it was opened. */
  readonly problems: readonly RecordProblem[];

  /**
   * Resolves when the events are on the disk, in the order of the calls. When it throws, none of
   * these events is in the record and all earlier ones are.
   */
  append(...events: readonly ConversationEvent[]): Promise<void>;

  /** For elements that are no events: config deltas, compactions. */
  appendEntries(entries: readonly StreamEntry[]): Promise<void>;

  updateMetadata(change: MetadataChange): Promise<void>;

  /** Gives the lock back. Safe to call twice. */
  release(): Promise<void>;
}

/** The new metadata, made from the old. */
export type MetadataChange = (metadata: ConversationMetadata) => ConversationMetadata;

/** Which conversations are listed. */
export interface ListOptions {
  /** `live` unless said otherwise. */
  readonly which?: "live" | "archived" | "all";
}

/** What a list says of a conversation. */
export interface ConversationSummary {
  readonly id: ConversationId;
  /** Absent if it cannot be read: see `problem`. */
  readonly metadata?: ConversationMetadata;
  readonly isArchived: boolean;
  /** With the workspace, only for this user, or in both places. */
  readonly place: "workspace" | "local" | "both";
  /** The time of the last element; absent in an empty record. */
  readonly lastEventAt?: Timestamp;
  readonly problem?: string;
}

/** A conversation that was read. */
export interface Conversation {
  readonly summary: ConversationSummary;
  readonly stream: ConversationStream;
  readonly problems: readonly RecordProblem[];
}

/** Some of a record, in its order. */
export interface RecordPiece {
  readonly entries: readonly StreamEntry[];
  readonly problems: readonly RecordProblem[];
}

/** Something in a record that could not be read. What it was stays in the file. */
export interface RecordProblem {
  /** `torn`: the end of an interrupted write. `damaged`: bytes in between that are no JSON. */
  readonly type: "torn" | "damaged";
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  readonly message: string;
}

/** What a new conversation begins with. */
export interface CreateOptions {
  readonly title?: string;
  readonly baseConfig?: JsonObject;
  /** What the record begins with; nothing, unless said otherwise. */
  readonly entries?: readonly StreamEntry[];
  /** Kept only for this user, not with the workspace. */
  readonly isLocal?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

/** What a copy is called, and what goes into it. */
export interface ForkOptions {
  readonly title?: string;
  readonly keep?: (entry: StreamEntry) => boolean;
}

/** Which conversation is active where the user is working, and which were before. */
export interface SessionStore {
  /** Most recent first. Empty where there is no session. */
  history(): Promise<readonly ConversationId[]>;
  /** Throws `no_session` where the terminal cannot be told from others. */
  activate(id: ConversationId): Promise<void>;
}

/** The files behind a record, for people who look at them or edit them. */
export interface RecordFiles {
  /** Those that are read. Throws `conversation_not_found`. */
  paths(id: ConversationId): RecordPaths;

  /** Its text; undefined if it is not there. Throws `conversation_not_found`, `read_failed`. */
  read(id: ConversationId, file: RecordFile): string | undefined;

  /**
   * Puts a new text in the place of an old one, if it can be read as such a file. Throws
   * `invalid_record`, which says what is wrong with it; `conversation_locked`; `record_changed` if
   * the file does not hold the old text any more.
   */
  replace(id: ConversationId, file: RecordFile, edit: FileEdit): Promise<void>;
}

/** The text of a file before and after an edit. */
export interface FileEdit {
  readonly before: string;
  readonly after: string;
}

/** One of the files of a record. */
export type RecordFile = "events" | "metadata" | "baseConfig";

/** Where the files of a record are. */
export interface RecordPaths {
  readonly folder: string;
  readonly events: string;
  readonly metadata: string;
  readonly baseConfig: string;
}
