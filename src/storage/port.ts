/**
 * The interfaces of storage. Implemented by `fs/`, in the layout of the Rust original, and by
 * `memory-store.ts`. One test suite covers both.
 */
import type {
  AnswerEvent,
  AnswerProblem,
  ConversationEvent,
  ConversationId,
  ConversationMetadata,
  ConversationStream,
  OfferedAnswer,
  OpenTurnState,
  StreamEntry,
  Timestamp,
} from "../conversation/index.ts";
import type { JsonObject } from "../util/index.ts";

/** Reading never writes, never locks, and never waits for a writer. */
export interface ConversationStore {
  /** In no particular order. Does not read whole records. A broken one is listed with its problem. */
  list(options?: ListOptions): Promise<ConversationSummary[]>;

  find(id: ConversationId): Promise<ConversationSummary | undefined>;

  /** Reads the whole record into memory. Throws `conversation_not_found`. */
  load(id: ConversationId): Promise<Conversation>;

  /** Reads the record in pieces of bounded size. Throws `conversation_not_found`. */
  scan(id: ConversationId): AsyncIterable<RecordPiece>;

  /**
   * Reads the last turns, without what comes before them. Undefined if this is not certain to give the
   * same as `scan`, as after an edit by hand. Throws `conversation_not_found`.
   */
  findLastTurns(id: ConversationId, count: number): Promise<LastTurns | undefined>;

  /**
   * The conversations whose last turn is not complete, without archived ones. Costs the same however many
   * are complete. One that no writer of this program has touched, such as a fresh clone, may be missing. One
   * that cannot be read is listed with its problem.
   */
  listPending(): Promise<readonly PendingTurn[]>;

  /**
   * Records an answer to what the last turn waits for, exactly once, whoever else answers. If another writer
   * has the conversation open, the answer is offered to it, and this waits until it has decided or is gone.
   * Throws `conversation_not_found`, `conversation_archived`, `write_failed`, and the signal's reason if the
   * answer was withdrawn in time.
   */
  answer(id: ConversationId, answer: AnswerEvent, options?: AnswerOptions): Promise<AnswerResult>;

  /** Creates a conversation, saves it, and locks it for the caller. */
  create(options: CreateOptions): Promise<ConversationWriter>;

  /**
   * Locks the conversation and opens it for writing. Repairs a torn end first. Does not wait for the
   * lock. `loaded` saves reading the record again, if it has not changed since. Throws `conversation_locked`, `conversation_archived`, `record_damaged`,
   * `conversation_not_found`.
   */
  open(id: ConversationId, loaded?: Conversation): Promise<ConversationWriter>;

  /** Copies the entries, or those that `keep` accepts, unchanged to a new conversation. */
  fork(id: ConversationId, options?: ForkOptions): Promise<ConversationId>;

  /** Deletes it permanently. Throws `conversation_locked`. */
  remove(id: ConversationId): Promise<void>;

  /** Archived conversations can be read but not written. Throws `conversation_locked`. */
  archive(id: ConversationId): Promise<void>;
  unarchive(id: ConversationId): Promise<void>;

  /** Moves it to the user's own folder, or back to the workspace. Throws `conversation_locked`. */
  setLocal(id: ConversationId, isLocal: boolean): Promise<void>;
}

/** A locked conversation, open for writing. Every method may throw `write_failed`. */
export interface ConversationWriter extends AsyncDisposable {
  readonly id: ConversationId;
  readonly metadata: ConversationMetadata;
  /** Grows with each append. Do not hold on to its entries. */
  readonly stream: ConversationStream;
  /** What was repaired on opening. */
  readonly problems: readonly RecordProblem[];
  /**
   * The turn that the record ends with is as processes of this user have left it. Records may come with a clone:
   * someone else's turn may have decisions on record that this user has never made. A turn that starts here is
   * the user's own.
   */
  readonly isOwnTurn: boolean;

  /**
   * Resolves when the events are on disk, in the order of the calls. If it throws, none of these
   * events are in the record, and all earlier ones are.
   */
  append(...events: readonly ConversationEvent[]): Promise<void>;

  /** For entries that are not events: config deltas, compactions. */
  appendEntries(entries: readonly StreamEntry[]): Promise<void>;

  updateMetadata(change: MetadataChange): Promise<void>;

  /**
   * Gets the answers that others offer while the conversation is open here, and first those that were left
   * behind. The listener alone records them. Without one, they wait for the release. Ended by the release.
   */
  onAnswer(listener: AnswerListener): Disposable;

  /** Releases the lock. Safe to call twice. */
  release(): Promise<void>;
}

/** Undefined if it could not be decided, so that the other side has to try again. */
export type AnswerListener = (offered: OfferedAnswer) => Promise<AnswerResult | undefined>;

/** What became of an answer. */
export type AnswerResult =
  | {
      readonly type: "recorded";
      /** See `AnswerOptions.keepsOpen`. */
      readonly conversation?: ConversationWriter;
    }
  | AnswerProblem;

/** How to answer. */
export interface AnswerOptions {
  /** When it was asked, for certainty: a later question may have the same id. */
  readonly askedAt?: Timestamp;
  /** Withdraws an answer that another process has not taken yet. */
  readonly signal?: AbortSignal;
  /** Told if the answer has to wait for another writer. */
  readonly onWait?: (wait: AnswerWait) => void;
  /**
   * Once the answer is recorded, leave the conversation open, for a turn that is to go on here. The caller releases
   * it. Has no effect if another writer records the answer.
   */
  readonly keepsOpen?: boolean;
}

/** An answer that has to wait for another writer, which has the conversation open. */
export interface AnswerWait {
  /**
   * `offered`: the writer has yet to take the answer. `claimed`: the answer was to be withdrawn, but the writer
   * has taken it already, and decides about it.
   */
  readonly type: "offered" | "claimed";
  /** Such as `process 123`. */
  readonly holder: string;
}

/** The turn that a conversation ends with, and that can be continued. */
export interface PendingTurn {
  readonly id: ConversationId;
  /** From its start on. */
  readonly entries: readonly StreamEntry[];
  /** A process has the conversation open. */
  readonly isLive: boolean;
  /** Set if the record cannot be read, so that no one knows whether the turn is complete. */
  readonly problem?: string;
}

/** Returns the new metadata. */
export type MetadataChange = (metadata: ConversationMetadata) => ConversationMetadata;

/** Which conversations are listed. */
export interface ListOptions {
  /** Defaults to `live`. */
  readonly which?: "live" | "archived" | "all";
}

/** One conversation in a list. */
export interface ConversationSummary {
  readonly id: ConversationId;
  /** Absent if it cannot be read; see `problem`. */
  readonly metadata?: ConversationMetadata;
  readonly isArchived: boolean;
  /** In the workspace, in the user's own folder, or in both. */
  readonly place: "workspace" | "local" | "both";
  /** The time of the last entry. Absent in an empty record. */
  readonly lastEventAt?: Timestamp;
  /** Set if the last turn is not complete, as far as `listPending` knows of it. */
  readonly openTurn?: OpenTurnState;
  readonly problem?: string;
}

/** A conversation in memory. */
export interface Conversation {
  readonly id: ConversationId;
  readonly stream: ConversationStream;
  /** See `ConversationWriter.isOwnTurn`. */
  readonly isOwnTurn: boolean;
  readonly problems: readonly RecordProblem[];
}

/** Part of a record, in order. */
export interface RecordPiece {
  readonly entries: readonly StreamEntry[];
  readonly problems: readonly RecordProblem[];
}

/** The end of a record. */
export interface LastTurns {
  /** From a turn start on. If the record has fewer turns, these are all its entries. */
  readonly entries: readonly StreamEntry[];
  /** The index of the first turn in them. */
  readonly firstTurn: number;
}

/** Part of a record that could not be read. It stays in the file. */
export interface RecordProblem {
  /** `torn`: the end of an interrupted write. `damaged`: bytes in between that are not JSON. */
  readonly type: "torn" | "damaged";
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  readonly message: string;
}

/** The initial contents of a conversation. */
export interface CreateOptions {
  readonly title?: string;
  readonly baseConfig?: JsonObject;
  /** The first entries. Empty by default. */
  readonly entries?: readonly StreamEntry[];
  /** Whether the turn that they end with is the user's own: see `ConversationWriter`. False by default. */
  readonly isOwnTurn?: boolean;
  /** Store it in the user's own folder, not in the workspace. */
  readonly isLocal?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The title of the copy, and which entries to copy. */
export interface ForkOptions {
  readonly title?: string;
  readonly keep?: (entry: StreamEntry) => boolean;
}

/** Which conversation is active in this terminal session, and which were before. */
export interface SessionStore {
  /** Most recent first. Empty if there is no session. */
  history(): Promise<readonly ConversationId[]>;
  /** Throws `no_session` if the terminal session cannot be identified. */
  activate(id: ConversationId): Promise<void>;
}

/** The files behind a record, for users who want to look at or edit them. */
export interface RecordFiles {
  /** The files that jp reads. Throws `conversation_not_found`. */
  paths(id: ConversationId): RecordPaths;

  /** Undefined if it does not exist. Throws `conversation_not_found`, `read_failed`. */
  read(id: ConversationId, file: RecordFile): string | undefined;

  /**
   * Replaces the text of a file after validating it. Throws `invalid_record` with the reason,
   * `conversation_locked`, and `record_changed` if the file no longer contains the old text.
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

/** The paths of a record's files. */
export interface RecordPaths {
  readonly folder: string;
  readonly events: string;
  readonly metadata: string;
  readonly baseConfig: string;
}
