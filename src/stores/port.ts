/**
 * The interfaces of a store of conversations. Implemented in files (`fs/`), in PostgreSQL (`postgres/`) and in memory
 * (`memory-store.ts`). `storeTests` in `jp-ts/testing` checks an implementation. The extras of a workspace are in
 * `workspace-port.ts`.
 *
 * Several processes may use one store at the same time. They rely on:
 *
 * - **One writer.** `create` and `open` lock a conversation, and nothing else changes it until its writer is released.
 *   The lock of a process that dies becomes free. A store with leases renews them while the writer is open, and a writer
 *   that has lost its lease fails with `write_failed` and never writes.
 * - **Durable, in order.** Once `append` resolves, its entries survive a crash. Entries have the order of the calls,
 *   and no reader sees half of one.
 * - **Unchanged entries.** Entries come back as they were appended (`StreamEntry.raw`), including kinds that this
 *   version does not know. A database stores their JSON, not columns of it.
 * - **Opaque ids.** A store creates ids as it likes, in the syntax of `parseConversationId`. Nothing is derived from an
 *   id: the time of creation is `createdAt`. A store that could not have created an id may throw
 *   `invalid_conversation_id` instead of `conversation_not_found`.
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
  DecisionKind,
  Directory,
  KeptFile,
  OfferedAnswer,
  OpenTurnState,
  PendingPlace,
  SecretAnswer,
  StreamEntry,
  VoteCount,
  Timestamp,
} from "../record/conversation/index.ts";
import type { Clock, JpError, JsonObject } from "../util/index.ts";

/** Stores conversations. Reading never writes, never locks, and never waits for a writer. */
export interface ConversationStore {
  /** In no particular order. Does not read whole records. A broken one is listed with its problem. */
  list(options?: ListOptions): Promise<ConversationSummary[]>;

  /** Undefined if it does not exist, for any id. */
  find(id: ConversationId): Promise<ConversationSummary | undefined>;

  /** Reads the whole record into memory, including everything appended so far. Throws `conversation_not_found`. */
  load(id: ConversationId, options?: LoadOptions): Promise<Conversation>;

  /** Reads the record in order, in pieces of bounded size. Throws `conversation_not_found`. */
  scan(id: ConversationId): AsyncIterable<RecordPiece>;

  /**
   * Reads the chain of the conversation's decisions in order, line by line. Nothing if there is none yet. Absent if the
   * store keeps no chains. Throws `conversation_not_found`, `read_failed`.
   */
  readChain?(id: ConversationId): AsyncIterable<ChainLine | ChainProblem>;

  /**
   * The bytes of a file that the record names. Undefined if the store does not have them, or has others in their place. Absent
   * if the store keeps no files. Throws `conversation_not_found`, `read_failed`.
   */
  readFile?(id: ConversationId, file: KeptFile): Promise<Uint8Array | undefined>;

  /**
   * Reads only the last turns. Undefined if the store has no quick way that is certain to give the same as `scan`.
   * Throws `conversation_not_found`.
   */
  findLastTurns(id: ConversationId, count: number): Promise<LastTurns | undefined>;

  /**
   * The conversations whose last turn is not complete, without archived ones. The cost must not depend on the number of
   * complete ones: note it with every append. A conversation that no writer of this store has touched, such as in a
   * fresh clone of a workspace, may be missing. An unreadable one is listed with its problem.
   */
  listPending(options?: ListPendingTurnsOptions): Promise<readonly PendingTurn[]>;

  /**
   * One page of the list of all pending decisions, oldest first, without archived conversations. Reads no turns: for
   * programs that show some of very many. Absent if the store keeps no such list: then only `listPending` says what is
   * pending. A place says where a decision may be found; whether it is still pending is on record.
   */
  listPendingPage?(query: PendingPageQuery): Promise<PendingPage>;

  /**
   * Calls the listener after a conversation was created, changed, archived or removed, or opened or released by a
   * writer, in this process or any other of this user. The cost does not depend on the number of conversations. Several
   * changes of one conversation may be reported once, and there may be reports without a change. Changes are reported
   * within a fraction of a second, but a system may lose some: reread important data now and then. A store that takes a
   * moment to start listening then reports that any conversation may have changed. Does not keep the process running.
   */
  watch(listener: ChangeListener): Disposable;

  /**
   * Records an answer to a pending decision of the last turn, exactly once, even if others answer too. If another
   * writer has the conversation open, in this process or any other, the answer is offered to it (see
   * `ConversationWriter.onAnswer`), and this waits until it has decided, is released or is gone. A store can leave all
   * of that to `answerPending`, and provide only the offers. A secret (`AnswerOptions.secret`) reaches only a writer
   * that waits for it now (see `ConversationWriter.onSecret`), and is refused otherwise. Throws
   * `conversation_not_found`, `conversation_archived`, `write_failed`, and the signal's reason if the answer was
   * withdrawn in time.
   */
  answer(id: ConversationId, answer: AnswerEvent, options?: AnswerOptions): Promise<AnswerResult>;

  /**
   * Creates a conversation, saves it, and locks it for the caller. Others see it complete or not at all. Two
   * conversations created at the same time get different ids.
   */
  create(options: CreateOptions): Promise<ConversationWriter>;

  /**
   * Locks the conversation and opens it for writing, with all of its entries unless `options` says otherwise. Does not
   * wait for the lock. Repairs damage left by a crash. Throws `conversation_locked` (as a `LockedError`),
   * `conversation_archived`, `record_damaged`, `conversation_not_found`.
   */
  open(id: ConversationId, options?: OpenOptions): Promise<ConversationWriter>;

  /**
   * Copies the entries, or those that `keep` accepts, unchanged to a new conversation. Takes no lock on the original.
   * The copied turn is the user's own if the original was, and is copied whole.
   */
  fork(id: ConversationId, options?: ForkOptions): Promise<ConversationId>;

  /** Deletes it permanently. Throws `conversation_not_found`, `conversation_locked`. */
  remove(id: ConversationId): Promise<void>;

  /**
   * Archived conversations can be read but not written. Does nothing if already archived. Throws
   * `conversation_not_found`, `conversation_locked`.
   */
  archive(id: ConversationId): Promise<void>;
  /** The opposite of `archive`, with the same errors. */
  unarchive(id: ConversationId): Promise<void>;

  /**
   * Calls `run` with turns that are ready to continue, from any process, until stopped. Absent if the store has no
   * workers. Throws `store_package_missing`, `store_not_migrated`, `store_unreachable`.
   */
  work?(options: WorkOptions): Promise<RunningWork>;

  /**
   * Closes its connections; nothing works afterwards. Release open conversations first. Absent if it has none. A
   * program can exit without calling it.
   */
  close?(): Promise<void>;
}

/** How a worker takes turns. */
export interface WorkOptions {
  /** Takes only turns left to workers of this name. */
  readonly queue: string;
  /** The maximum number of concurrent turns. */
  readonly concurrency: number;
  /**
   * Continues the turn, and releases the conversation, which may be open at its end only. With `passed_on`, it cannot
   * continue on this machine: others are offered it at once, and this worker not again for a while. Must not throw.
   */
  readonly run: (conversation: ConversationWriter) => Promise<"ran" | "passed_on">;
  /** Ends the start: `work` throws its reason. A worker that has started is stopped with `stop`. */
  readonly signal?: AbortSignal;
  /** Reports problems between turns. The work continues. */
  readonly onProblem?: (problem: Error) => void;
}

/** A running worker. */
export interface RunningWork {
  /** How many turns are running. */
  readonly running: number;
  /** The pending work of this queue, across all workers. Throws `store_unreachable`. */
  measure(): Promise<WorkLoad>;
  /** Takes no more turns, and resolves once the running ones have ended. */
  stop(): Promise<void>;
}

/** The pending work of a queue. */
export interface WorkLoad {
  /** Turns that are ready to continue and not taken yet. */
  readonly ready: number;
  /** How long the oldest of them has been ready. 0 if there is none. */
  readonly oldestReadyMs: number;
  /** Turns that wait for someone, or for a time. */
  readonly waiting: number;
}

/** Information for workers about a turn that is left open. */
export interface LeftTurn {
  /** The queue that continues it from now on. Defaults to its previous queue. */
  readonly queue?: string;
  /**
   * It could not continue. `retry`: workers retry it with growing pauses, then give up. `final`: workers leave it until
   * someone else has continued it.
   */
  readonly failure?: "retry" | "final";
}

/** A locked conversation, open for writing. Every method may throw `write_failed`, and does so after the release. */
export interface ConversationWriter extends AsyncDisposable {
  readonly id: ConversationId;
  readonly metadata: ConversationMetadata;
  /** The default clock of turns: that of a server shared by several machines. Absent for the system clock. */
  readonly clock?: Clock;
  /** Grows with each append. Do not keep references to its entries. */
  readonly stream: ConversationStream;
  /** Problems that were repaired on opening. Only stores whose records can be damaged have it. */
  readonly problems?: readonly RecordProblem[];
  /**
   * The last turn on record is exactly what the user's own processes wrote. A workspace's records may come with a
   * clone: someone else's turn may have decisions on record that this user never made. A turn that starts here is the
   * user's own. In a database that only the program writes, every turn is, except one that `create` was given without
   * `isOwnTurn`, or that a fork has copied in part.
   */
  readonly isOwnTurn: boolean;
  /**
   * Set if the last turn is the user's own, but was left in another folder: the workspace was moved or copied since.
   * Then `isOwnTurn` is false. Only stores whose records can be copied have it.
   */
  readonly startedIn?: string | undefined;
  /**
   * Set if the last turn is older than a state of it that this machine has signed or acted on: someone has put it back, or
   * restored a backup. Then `isOwnTurn` is false. Only stores that several machines share have it.
   */
  readonly steppedBack?: JpError | undefined;
  /**
   * Other machines may have the conversation open too, with the workspace in another folder. Decisions then name files
   * relative to the workspace, and programs by their content, so that a yes counts on all machines. If absent, both are
   * named by their real paths.
   */
  readonly isShared?: boolean;

  /**
   * Resolves when the events are stored durably, in the order of the calls; the events of one call together. If it
   * throws, none of these events are in the record, and all earlier ones are.
   */
  append(...events: readonly ConversationEvent[]): Promise<void>;

  /**
   * Like `append`, but stored together with the events of the next call if that follows at once: one write instead of
   * two. They are in `stream` from now on, so nothing outside this process may depend on them before this resolves.
   * Absent if the store gains nothing from it.
   */
  appendSoon?(...events: readonly ConversationEvent[]): Promise<void>;

  /** Like `append`, for entries that are not events: config deltas, compactions. */
  appendEntries(entries: readonly StreamEntry[]): Promise<void>;

  /**
   * Stores the bytes of a file durably, before an event names it. It is removed with the conversation, and copied with the
   * events that name it. Does nothing if it is already stored. Absent if the store keeps no files.
   */
  saveFile?(file: KeptFile, bytes: Uint8Array): Promise<void>;

  /** Changes are applied one at a time, in the order of the calls. */
  updateMetadata(change: MetadataChange): Promise<void>;

  /**
   * Receives each answer that others offer while the conversation is open here, starting with those offered before.
   * Only the listener records them. Without one, they wait for the release, which also ends this.
   */
  onAnswer(listener: AnswerListener): Disposable;

  /**
   * Receives each secret that others offer, from when this resolves until it is disposed of or the writer is released.
   * Called while something waits for a secret. Only the listener records that it arrived, never its value. It must be
   * passed from memory to memory, and never through a file or a database. Absent if the store cannot do that. Never
   * throws: an unreachable listener is not worth ending a turn.
   */
  onSecret?(listener: AnswerListener): Promise<Disposable>;

  /**
   * Called and awaited before the lock is released, so that pending work can still write. Until then the writer works
   * as before. A listener must not wait for the release, directly or indirectly. If it throws, `release` throws the
   * error once the lock is free. Absent if the store does not report it.
   */
  onRelease?(listener: () => Promise<void>): Disposable;

  /** Takes effect on release, if the turn is not complete then. Absent if the store has no workers. */
  leaveTo?(left: LeftTurn): void;

  /** Waits for `onRelease` and for pending writes, then releases the lock. Further calls only wait for the first. */
  release(): Promise<void>;
}

/** Undefined if it could not be decided, so the other side has to try again. */
export type AnswerListener = (offered: OfferedAnswer) => Promise<AnswerResult | undefined>;

/** The result of answering. */
export type AnswerResult =
  | {
      readonly type: "recorded";
      /** See `AnswerOptions.keepsOpen`. */
      readonly conversation?: ConversationWriter;
    }
  /** Recorded as a vote; the quorum is not met yet. */
  | ({ readonly type: "counted" } & VoteCount)
  | AnswerProblem;

/** How to answer. */
export interface AnswerOptions {
  /** When it was asked, to be certain: a later question may have the same id. */
  readonly askedAt?: Timestamp;
  /** The answer, if it is a secret. The event then says `redacted`. */
  readonly secret?: SecretAnswer;
  /** The known people. Without it, an answer that needs known people is refused. */
  readonly directory?: Directory;
  /** Withdraws an answer that another process has not claimed yet. */
  readonly signal?: AbortSignal;
  /** Called if the answer has to wait for another writer. */
  readonly onWait?: (wait: AnswerWait) => void;
  /**
   * Once the answer is recorded, keep the conversation open, for a turn that continues here. The caller releases it.
   * Has no effect if another writer records the answer.
   */
  readonly keepsOpen?: boolean;
}

/** An answer that waits for another writer, which has the conversation open. */
export interface AnswerWait {
  /**
   * `offered`: the writer has not claimed the answer yet. `claimed`: the answer was to be withdrawn, but the writer has
   * already claimed it, and decides about it.
   */
  readonly type: "offered" | "claimed";
  /** For example `process 123`. */
  readonly holder: string;
}

/** Called on changes. Must not throw. */
export type ChangeListener = (change: ConversationChange) => void;

/** A conversation that may have changed. */
export interface ConversationChange {
  /** Absent if any conversation may have changed. */
  readonly id?: ConversationId;
}

/** Which incomplete turns are listed. */
export interface ListPendingTurnsOptions {
  /** Only this conversation's turn. */
  readonly id?: ConversationId;
  /** Only the turns of these conversations, read together. */
  readonly ids?: readonly ConversationId[];
  /** Only conversations that have all of these labels. One with unreadable labels is not listed. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Adds the titles and labels. */
  readonly hasMetadata?: boolean;
  /**
   * Returns `version` instead of entries and metadata, for programs that list often and read only what has changed.
   * Some of the turns may be complete. A store without versions ignores it.
   */
  readonly isBrief?: boolean;
}

/** Which page of the list of pending decisions. */
export interface PendingPageQuery {
  /** The maximum number of places. */
  readonly limit: number;
  /** Only what comes after this place, or, without a conversation, what was asked after this time. */
  readonly after?: Pick<PendingPlace, "askedAt"> & Partial<Pick<ListedPlace, "id" | "order">>;
  /** Only this conversation. */
  readonly id?: ConversationId;
  readonly kind?: DecisionKind;
  /** Adds turns that can be continued without a person to `unlisted`. */
  readonly hasReady?: boolean;
}

/** The place of a pending decision in the list. It is sorted by time, then by conversation as text, then by `order`. */
export interface ListedPlace extends PendingPlace {
  /** The conversation. */
  readonly id: ConversationId;
}

/** One page of the list of pending decisions. */
export interface PendingPage {
  readonly places: readonly ListedPlace[];
  /**
   * Turns whose decisions are in no page, such as running ones, as `listPending` lists them with `isBrief`. Read them to
   * know whether something is pending in them.
   */
  readonly unlisted: readonly PendingTurn[];
}

/** A conversation's last turn, which can be continued. */
export interface PendingTurn {
  readonly id: ConversationId;
  /** The conversation's title, if it has one: see `ListPendingTurnsOptions.hasMetadata`. */
  readonly title?: string;
  /** The conversation's labels, if it has any, under the same condition. */
  readonly labels?: Readonly<Record<string, string>>;
  /** From its start. With a `problem`, as far as known. */
  readonly entries: readonly StreamEntry[];
  /** A process has the conversation open. */
  readonly isLive: boolean;
  /**
   * Changes with the turn, the metadata or `isLive`: see `ListPendingTurnsOptions.isBrief`. A store with
   * `listPendingPage` always has it.
   */
  readonly version?: string;
  /** Set if the record lacks part of the turn, so it is unknown whether the turn is complete. */
  readonly problem?: string;
}

/** Returns the new metadata. */
export type MetadataChange = (metadata: ConversationMetadata) => ConversationMetadata;

/** Which conversations are listed. */
export interface ListOptions {
  /** Defaults to `live`. */
  readonly which?: "live" | "archived" | "all";
  /** Only the newest ones, at most this many. */
  readonly limit?: number;
  /**
   * Only conversations before this one in the order of creation: by time, and then by id as text (see
   * `compareCreation`). It need not exist: it may have been removed since, or be from another store.
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
  /** Set if the last turn is not complete, as far as `listPending` knows. */
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
   * Read only the last turn (`end`), or only what models see (`visible`), if the store can, and the rest once it is needed.
   * Damage in the rest is then not listed as a problem, but thrown at that point. Await the `load` of the stream before
   * you use its `entries`.
   */
  readonly only?: "end" | "visible";
}

/** How much of a record to read when it is opened. */
export interface OpenOptions {
  /**
   * Read only the last turn, if the store can: all that `runTurn` and `resumeTurn` need before a model is asked. Await
   * the `load` of the stream before you use its `entries`.
   */
  readonly only?: "end";
  /** As it was loaded before. May save reading it again, if it has not changed since. */
  readonly loaded?: Conversation;
}

/** The end of a record. */
export interface LastTurns {
  /** Starts with a turn start. If the record has fewer turns, these are all its entries. */
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
  /** Whether their last turn is the user's own: see `ConversationWriter`. False by default. */
  readonly isOwnTurn?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The title of the copy, and which entries to copy. */
export interface ForkOptions {
  readonly title?: string;
  readonly keep?: (entry: StreamEntry) => boolean;
}
