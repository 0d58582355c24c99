/**
 * The conversations of a workspace that keeps them in a database. The code that connects to it is loaded on first use,
 * so that commands which do not need it do not wait.
 */
import type { AnswerEvent, ChainLine, ConversationId } from "../../record/conversation/index.ts";
import { loaderOf } from "../../util/index.ts";
import type {
  AnswerOptions,
  AnswerResult,
  ChainProblem,
  ChangeListener,
  Conversation,
  ConversationWriter,
  ForkOptions,
  LastTurns,
  ListOptions,
  ListPendingTurnsOptions,
  PendingTurn,
  RecordPiece,
  RunningWork,
  WorkOptions,
} from "../port.ts";
import type { PortableStore } from "../portable.ts";
import { StorageError } from "../storage-error.ts";
import { assertValidRecordFile } from "../fs/conversation-files.ts";
import { BASE_CONFIG, EVENTS, METADATA } from "../fs/conversation-folders.ts";
import type {
  FileEdit,
  RecordFile,
  RecordFiles,
  WorkspaceCreateOptions,
  WorkspaceStore,
  WorkspaceSummary,
} from "../workspace-port.ts";
import type { PostgresStore } from "./postgres-store.ts";
import { addressOf, type PostgresStoreOptions } from "./store-options.ts";

/** The names of these parts as files. */
const FILE_NAMES = { events: EVENTS, metadata: METADATA, baseConfig: BASE_CONFIG } as const;

export class DatabaseWorkspaceStore implements WorkspaceStore, RecordFiles {
  readonly #store: () => Promise<PostgresStore>;
  readonly #address: string;
  #opened: PostgresStore | undefined;

  constructor(options: PostgresStoreOptions) {
    this.#address = addressOf(options.url);
    const load = loaderOf(() => import("./postgres-store.ts"));
    this.#store = async () => {
      const { PostgresStore } = await load();
      this.#opened ??= new PostgresStore(options);
      return this.#opened;
    };
  }

  async list(options?: ListOptions): Promise<WorkspaceSummary[]> {
    const found = await (await this.#store()).list(options);
    return found.map((summary) => ({ ...summary, place: "workspace" }));
  }

  async find(id: ConversationId): Promise<WorkspaceSummary | undefined> {
    const found = await (await this.#store()).find(id);
    return found && { ...found, place: "workspace" };
  }

  async load(id: ConversationId): Promise<Conversation> {
    return (await this.#store()).load(id);
  }

  async *scan(id: ConversationId): AsyncGenerator<RecordPiece> {
    yield* (await this.#store()).scan(id);
  }

  async *readChain(id: ConversationId): AsyncGenerator<ChainLine | ChainProblem> {
    yield* (await this.#store()).readChain(id);
  }

  async findLastTurns(id: ConversationId): Promise<LastTurns | undefined> {
    return (await this.#store()).findLastTurns(id);
  }

  async listPending(options?: ListPendingTurnsOptions): Promise<readonly PendingTurn[]> {
    return (await this.#store()).listPending(options);
  }

  watch(listener: ChangeListener): Disposable {
    let isStopped = false;
    let watching: Disposable | undefined;
    const start = async () => {
      const store = await this.#store();
      if (!isStopped) watching = store.watch(listener);
    };
    void start();
    return {
      [Symbol.dispose]: () => {
        isStopped = true;
        watching?.[Symbol.dispose]();
      },
    };
  }

  async answer(
    id: ConversationId,
    event: AnswerEvent,
    options?: AnswerOptions,
  ): Promise<AnswerResult> {
    return (await this.#store()).answer(id, event, options);
  }

  async create({
    isLocal = false,
    ...options
  }: WorkspaceCreateOptions): Promise<ConversationWriter> {
    if (isLocal) throw noLocalError();
    return (await this.#store()).create(options);
  }

  async open(id: ConversationId): Promise<ConversationWriter> {
    return (await this.#store()).open(id);
  }

  async fork(id: ConversationId, options?: ForkOptions): Promise<ConversationId> {
    return (await this.#store()).fork(id, options);
  }

  async remove(id: ConversationId): Promise<void> {
    return (await this.#store()).remove(id);
  }

  async archive(id: ConversationId): Promise<void> {
    return (await this.#store()).archive(id);
  }

  async unarchive(id: ConversationId): Promise<void> {
    return (await this.#store()).unarchive(id);
  }

  async work(options: WorkOptions): Promise<RunningWork> {
    return (await this.#store()).work(options);
  }

  /** For copies to and from other stores. */
  openPortable(): Promise<PortableStore> {
    return this.#store();
  }

  async close(): Promise<void> {
    await this.#opened?.close();
  }

  async setLocal(_id: ConversationId, isLocal: boolean): Promise<void> {
    if (isLocal) throw noLocalError();
  }

  paths(): never {
    throw noFilesError();
  }

  nameOf(id: ConversationId, file: RecordFile | "folder"): string {
    return file === "folder" ? this.#address : `${FILE_NAMES[file]} of ${id} in ${this.#address}`;
  }

  async read(id: ConversationId, file: RecordFile): Promise<string | undefined> {
    return (await this.#store()).readText(id, file);
  }

  async replace(id: ConversationId, file: RecordFile, edit: FileEdit): Promise<void> {
    assertValidRecordFile(file, edit.after);
    await (await this.#store()).replaceText(id, file, edit);
  }
}

function noLocalError(): StorageError {
  return new StorageError("no_local", "A store in a database has no local conversations.", {
    commandHint: "Keep this one in files: jp --store files …",
  });
}

function noFilesError(): StorageError {
  return new StorageError("no_files", "The conversation is in a database, not in files.", {
    commandHint: "To get files: jp store copy ADDRESS files",
  });
}
