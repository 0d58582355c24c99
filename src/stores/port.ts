/**
 * The interfaces of a store of conversations. Implemented in files (`fs/`), in PostgreSQL (`postgres/`) and in
 * memory (`memory-store.ts`).
 * `storeTests` in `jp-ts/testing` checks an implementation. What only a workspace has is in `workspace-port.ts`.
 *
 * Several processes may use one store at the same time. What they rely on:
 *
 * - **One writer.** `create` and `open` lock a conversation, and nothing else changes it until its writer is
 *   released. The lock of a process that dies becomes free. A store with leases renews them while the writer is open, and
 *   a writer that has lost its lease fails with `write_failed` and never writes.
 * - **Durable, in order.** What `append` has resolved survives a crash. Entries have the order of the calls, and no
 *   reader sees half of one.
 * - **Unchanged entries.** Entries come back as they were appended (`StreamEntry.raw`), also those of kinds that this
 *   version does not know. A database stores their JSON, not columns of it.
 * - **Opaque ids.** A store mints ids as it likes, in the syntax of `parseConversationId`. No one reads anything from
 *   one: when a conversation was created is `createdAt`. A store that could not have minted an id may throw
 *   `invalid_conversation_id` wherever it throws `conversation_not_found`.
 */
import type {
  AnswerEvent,
  AnswerProblem,
  ChainLine,
  ConversationCreation,
  ConversationEvent,
  ConversationId,
  ConversationMetadata,
  ConversationStream,
  Directory,
  OfferedAnswer,
  OpenTurnState,
  SecretAnswer,
  StreamEntry,
  VoteCount,
  Timestamp,
} from "../record/conversation/index.ts";
import type { Clock, JsonObject } from "../util/index.ts";

/** Stores conversations. Reading never writes, never locks, and never waits for a writer. */
export interface ConversationStore {
  /** In no particular order. Does not read whole records. A broken one is listed with its problem. */
  list(options?: ListOptions): Promise<ConversationSummary[]>;

  /** Undefined if it does not exist, whatever the id. */
  find(id: ConversationId): Promise<ConversationSummary | undefined>;

  /** Reads the whole record into memory: everything that was appended before. Throws `conversation_not_found`. */
  load(id: ConversationId, options?: LoadOptions): Promise<Conversation>;

  /** Reads the record in order, in pieces of bounded size. Throws `conversation_not_found`. */
  scan(id: ConversationId): AsyncIterable<RecordPiece>;

  /**
   * Reads the chain of the conversation's decisions in order, line by line. Nothing if there is none yet. Absent if the
   * store keeps no chains. Throws `conversation_not_found`, `read_failed`.
   */
  readChain?(id: ConversationId): AsyncIterable<ChainLine | ChainProblem>;

  /**
   * Reads the last turns, without what comes before them. Undefined if the store has no quick way that is certain to
   * give the same as `scan`. Throws `conversation_not_found`.
   */
  findLastTurns(id: ConversationId, count: number): Promise<LastTurns | undefined>;

  /**
   * The conversations whose last turn is not complete, without archived ones. Costs the same however many
   * are complete: note it with every append. One that no writer of this store has touched, such as a fresh clone of a
   * workspace, may be missing. One that cannot be read is listed with its problem.
   */
  listPending(options?: ListPendingTurnsOptions): Promise<readonly PendingTurn[]>;

  /**
   * Calls the listener after a conversation was created, changed, archived or removed, or opened or released by a
   * writer, in this process or any other of this user. Costs the same however many conversations there are. Several
   * changes of one conversation may be reported once, and it may be reported though nothing has changed. Changes are
   * reported within a fraction of a second, but a system may lose some: read again now and then what matters. A store
   * that takes a moment to listen reports, once it does, that any conversation may have changed.
   * Does not keep the process running.
   */
  watch(listener: ChangeListener): Disposable;

  /**
   * Records an answer to what the last turn waits for, exactly once, whoever else answers. If another writer
   * has the conversation open, in this process or any other, the answer is offered to it (see
   * `ConversationWriter.onAnswer`), and this waits until it has decided, is released or is gone. A store can leave
   * all of that to `answerPending`, and bring only the offers. A secret (`AnswerOptions.secret`) reaches only a
   * writer that waits for it now (see `ConversationWriter.onSecret`), and is refused otherwise. Throws `conversation_not_found`,
   * `conversation_archived`, `write_failed`, and the signal's reason if the answer was withdrawn in time.
   */
  answer(id: ConversationId, answer: AnswerEvent, options?: AnswerOptions): Promise<AnswerResult>;

  /**
   * Creates a conversation, saves it, and locks it for the caller. Others find it complete or not at all. Two that are
   * created at the same time get different ids.
   */
  create(options: CreateOptions): Promise<ConversationWriter>;

  /**
   * Locks the conversation and opens it for writing. Does not wait for the lock. Repairs what a crash has left.
   * Throws `conversation_locked` (as a `LockedError`), `conversation_archived`, `record_damaged`,
   * `conversation_not_found`.
   */
  open(id: ConversationId): Promise<ConversationWriter>;

  /**
   * Copies the entries, or those that `keep` accepts, unchanged to a new conversation. Takes no lock on the
   * original. The copied turn is the user's own if it was, and is copied whole.
   */
  fork(id: ConversationId, options?: ForkOptions): Promise<ConversationId>;

  /** Deletes it permanently. Throws `conversation_not_found`, `conversation_locked`. */
  remove(id: ConversationId): Promise<void>;

  /**
   * Archived conversations can be read but not written. Does nothing if it is archived. Throws
   * `conversation_not_found`, `conversation_locked`.
   */
  archive(id: ConversationId): Promise<void>;
  /** The opposite of `archive`, with the same errors. */
  unarchive(id: ConversationId): Promise<void>;

  /**
   * Calls `run` with turns that can go on, wherever they were left, until it is stopped. Absent if the store has no workers.
   * Throws `store_package_missing`, `store_not_migrated`, `store_unreachable`.
   */
  work?(options: WorkOptions): Promise<RunningWork>;

  /**
   * Ends its connections; nothing works afterwards. Release what is open first. Absent if it has none. A program that does not
   * call it can end all the same.
   */
  close?(): Promise<void>;
}

/** How to take up turns. */
export interface WorkOptions {
  /** Only turns that were left to workers of this name. */
  readonly queue: string;
  /** The most turns at once. */
  readonly concurrency: number;
  /** Continues the turn, and releases the conversation. Must not throw. */
  readonly run: (conversation: ConversationWriter) => Promise<void>;
  /** Told what goes wrong in between. The work goes on. */
  readonly onProblem?: (problem: Error) => void;
}

/** A store that takes up turns. */
export interface RunningWork {
  /** How many turns run. */
  readonly running: number;
  /** What there is to do, for this and all other workers of the queue. Throws `store_unreachable`. */
  measure(): Promise<WorkLoad>;
  /** Takes no more, and resolves once those that run have ended. */
  stop(): Promise<void>;
}

/** What there is to do for workers. */
export interface WorkLoad {
  /** Turns that could go on, and that no one has taken up. */
  readonly ready: number;
  /** For how long the first of them could have. 0 if there is none. */
  readonly oldestReadyMs: number;
  /** Turns that wait for someone, or for a time. */
  readonly waiting: number;
}

/** What workers have to know of a turn that is left. */
export interface LeftTurn {
  /** Who continues it, from now on. By default those that did before. */
  readonly queue?: string;
  /**
   * It could not go on. `retry`: workers try it again, each time after a longer pause, and then no more. `final`: not before
   * someone else has continued it.
   */
  readonly failure?: "retry" | "final";
}

/** A locked conversation, open for writing. Every method may throw `write_failed`, and does so after the release. */
export interface ConversationWriter extends AsyncDisposable {
  readonly id: ConversationId;
  readonly metadata: ConversationMetadata;
  /** What turns go by, unless they are given another one: that of a server which several machines share. Absent for the system's. */
  readonly clock?: Clock;
  /** Grows with each append. Do not hold on to its entries. */
  readonly stream: ConversationStream;
  /** The problems that were repaired on opening. Only stores whose records can be damaged have it. */
  readonly problems?: readonly RecordProblem[];
  /**
   * The turn that the record ends with is as the user's own processes have left it. A workspace's records may come with
   * a clone: someone else's turn may have decisions on record that this user has never made. A turn that starts here is
   * the user's own. In a database that only the program writes, every turn is, except one that `create` was given
   * without `isOwnTurn`, or that a fork has copied in part.
   */
  readonly isOwnTurn: boolean;
  /**
   * Set if the last turn is as the user has left it, but in another folder: the workspace was moved or copied since. Then
   * `isOwnTurn` is false. Only stores whose records can be copied have it.
   */
  readonly startedIn?: string | undefined;
  /**
   * Other machines may have the conversation open too, and the workspace in another folder. Decisions then name files relative to
   * the workspace, and programs by their content, so that a yes counts on all of them. Absent: by their real paths.
   */
  readonly isShared?: boolean;

  /**
   * Resolves when the events are stored durably, in the order of the calls; those of one call together. If it throws,
   * none of these events are in the record, and all earlier ones are.
   */
  append(...events: readonly ConversationEvent[]): Promise<void>;

  /** The same for entries that are not events: config deltas, compactions. */
  appendEntries(entries: readonly StreamEntry[]): Promise<void>;

  /** Changes of several calls are applied one after the other. */
  updateMetadata(change: MetadataChange): Promise<void>;

  /**
   * Gets each answer that others offer while the conversation is open here, and first those that were offered
   * before. The listener alone records them. Without one, they wait for the release. Ended by the release.
   */
  onAnswer(listener: AnswerListener): Disposable;

  /**
   * Gets each secret that others offer, from when this resolves until it is disposed of or the writer is released.
   * Called while something waits for a secret. The listener alone records that it came, never what it is. It has to
   * come from memory to memory, and never through a file or a database. Absent if the store has no way to do that.
   * Never throws: a listener that no one can reach is not worth ending a turn.
   */
  onSecret?(listener: AnswerListener): Promise<Disposable>;

  /**
   * Called before the lock is released, and waited for: for whatever still writes. Until then the writer works as
   * before. A listener, and whatever it waits for, must not wait for the release itself. What it throws, `release`
   * throws once the lock is free. Absent if the store does not tell.
   */
  onRelease?(listener: () => Promise<void>): Disposable;

  /** Takes effect with the release, if the turn is not complete then. Absent if the store has no workers. */
  leaveTo?(left: LeftTurn): void;

  /** Waits for `onRelease` and for pending writes, then releases the lock. Further calls only wait for the first. */
  release(): Promise<void>;
}

/** Undefined if it could not be decided, so that the other side has to try again. */
export type AnswerListener = (offered: OfferedAnswer) => Promise<AnswerResult | undefined>;

/** The result of answering. */
export type AnswerResult =
  | {
      readonly type: "recorded";
      /** See `AnswerOptions.keepsOpen`. */
      readonly conversation?: ConversationWriter;
    }
  /** It is on record, and others have to say the same before anything is decided. */
  | ({ readonly type: "counted" } & VoteCount)
  | AnswerProblem;

/** How to answer. */
export interface AnswerOptions {
  /** When it was asked, for certainty: a later question may have the same id. */
  readonly askedAt?: Timestamp;
  /** The answer, if it is a secret. The event then says `redacted`. */
  readonly secret?: SecretAnswer;
  /** Who is known. Without it, an answer that takes people who are known is refused. */
  readonly directory?: Directory;
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

/** Told of changes. Must not throw. */
export type ChangeListener = (change: ConversationChange) => void;

/** A conversation that may have changed. */
export interface ConversationChange {
  /** Absent if any of them may have. */
  readonly id?: ConversationId;
}

/** Which incomplete turns are listed. */
export interface ListPendingTurnsOptions {
  /** Only that of this conversation. */
  readonly id?: ConversationId;
  /** Only those of these conversations, read at once. */
  readonly ids?: readonly ConversationId[];
  /** Only those of conversations that have all of these labels. One whose labels cannot be read is not listed. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Adds the titles and labels. */
  readonly hasMetadata?: boolean;
  /**
   * With `version` instead of entries and metadata: for programs that list often, and read only what has changed. Some
   * of the turns may be complete. A store without versions ignores it.
   */
  readonly isBrief?: boolean;
}

/** The turn that a conversation ends with, and that can be continued. */
export interface PendingTurn {
  readonly id: ConversationId;
  /** The conversation's title, if it has one: see `ListPendingTurnsOptions.hasMetadata`. */
  readonly title?: string;
  /** The conversation's labels, if it has some, under the same condition. */
  readonly labels?: Readonly<Record<string, string>>;
  /** From its start on. With a `problem`, as far as it is known. */
  readonly entries: readonly StreamEntry[];
  /** A process has the conversation open. */
  readonly isLive: boolean;
  /** Another one once the turn, the metadata or `isLive` has changed: see `ListPendingTurnsOptions.isBrief`. */
  readonly version?: string;
  /** Set if the record does not have the whole turn, so that no one knows whether it is complete. */
  readonly problem?: string;
}

/** Returns the new metadata. */
export type MetadataChange = (metadata: ConversationMetadata) => ConversationMetadata;

/** Which conversations are listed. */
export interface ListOptions {
  /** Defaults to `live`. */
  readonly which?: "live" | "archived" | "all";
  /** Only the newest ones, at most so many. */
  readonly limit?: number;
  /**
   * Only those that come before this in the order of creation: by time, and then by id as text (see `compareCreation`).
   * It need not exist: it may have been removed since, or be of another store.
   */
  readonly before?: ConversationCreation;
}

/** One conversation in a list. */
export interface ConversationSummary extends ConversationCreation {
  /** Absent if it cannot be read; see `problem`. */
  readonly metadata?: ConversationMetadata;
  readonly isArchived: boolean;
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
  /** The parts of the record that could not be read. Only stores whose records can be damaged have it. */
  readonly problems?: readonly RecordProblem[];
}

/** Part of a record, in order. */
export interface RecordPiece {
  readonly entries: readonly StreamEntry[];
  /** See `Conversation.problems`. */
  readonly problems?: readonly RecordProblem[];
}

/** A line of a chain that could not be read. */
export interface ChainProblem {
  /** Counted from 1. */
  readonly line: number;
  readonly problem: string;
}

/** How much of a record to read at once. */
export interface LoadOptions {
  /**
   * Read the last turn only, and the others once someone asks for all entries, if the store can. Damage before the last turn is
   * not among the problems then, but an error of whoever asks.
   */
  readonly onlyEnd?: boolean;
}

/** The end of a record. */
export interface LastTurns {
  /** From a turn start on. If the record has fewer turns, these are all its entries. */
  readonly entries: readonly StreamEntry[];
  /** The index of the first turn in them. */
  readonly firstTurn: number;
}

/** Part of a file that could not be read. It stays in the file. */
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
  readonly labels?: Readonly<Record<string, string>>;
}

/** The title of the copy, and which entries to copy. */
export interface ForkOptions {
  readonly title?: string;
  readonly keep?: (entry: StreamEntry) => boolean;
}
