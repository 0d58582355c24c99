/**
 * The conversations of a workspace that keeps them in a database. The code that connects to it is loaded on first use,
 * so that commands which do not need it do not wait.
 */
import type { ChainLine, ConversationId } from "../../record/conversation/index.ts";
import { loaderOf } from "../../util/index.ts";
import type {
  ChainProblem,
  ChangeListener,
  ConversationWriter,
  ListOptions,
  RecordPiece,
} from "../port.ts";
import type { PortableStore } from "../portable.ts";
import { StorageError } from "../storage-error.ts";
import { checkRecordFile } from "../fs/conversation-files.ts";
import { BASE_CONFIG, EVENTS, METADATA } from "../fs/conversation-folders.ts";
import type {
  FileEdit,
  RecordFile,
  RecordFiles,
  WorkspaceClaims,
  WorkspaceCreateOptions,
  WorkspaceStore,
  WorkspaceSummary,
} from "../workspace-port.ts";
import type { PostgresStore } from "./postgres-store.ts";
import { addressOf, type PostgresStoreOptions } from "./store-options.ts";

/** The names of these parts as files. */
const FILE_NAMES = { events: EVENTS, metadata: METADATA, baseConfig: BASE_CONFIG } as const;

export class DatabaseWorkspaceStore implements WorkspaceStore, RecordFiles, WorkspaceClaims {
  readonly #store: () => Promise<PostgresStore>;
  readonly #address: string;
  #opened: PostgresStore | undefined;

  readonly load: PostgresStore["load"] = async (...given) => (await this.#store()).load(...given);
  readonly readFile: PostgresStore["readFile"] = async (...given) =>
    (await this.#store()).readFile(...given);
  readonly findLastTurns: PostgresStore["findLastTurns"] = async (...given) =>
    (await this.#store()).findLastTurns(...given);
  readonly listPending: PostgresStore["listPending"] = async (...given) =>
    (await this.#store()).listPending(...given);
  readonly listPendingPage: PostgresStore["listPendingPage"] = async (...given) =>
    (await this.#store()).listPendingPage(...given);
  readonly answer: PostgresStore["answer"] = async (...given) =>
    (await this.#store()).answer(...given);
  readonly open: PostgresStore["open"] = async (...given) => (await this.#store()).open(...given);
  readonly fork: PostgresStore["fork"] = async (...given) => (await this.#store()).fork(...given);
  readonly remove: PostgresStore["remove"] = async (...given) =>
    (await this.#store()).remove(...given);
  readonly archive: PostgresStore["archive"] = async (...given) =>
    (await this.#store()).archive(...given);
  readonly unarchive: PostgresStore["unarchive"] = async (...given) =>
    (await this.#store()).unarchive(...given);
  readonly findSigned: PostgresStore["findSigned"] = async (...given) =>
    (await this.#store()).findSigned(...given);
  readonly work: PostgresStore["work"] = async (...given) => (await this.#store()).work(...given);
  readonly findStored: PostgresStore["findStored"] = async () => (await this.#store()).findStored();
  readonly claim: PostgresStore["claim"] = async (...given) =>
    (await this.#store()).claim(...given);

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

  async *scan(id: ConversationId): AsyncGenerator<RecordPiece> {
    yield* (await this.#store()).scan(id);
  }

  async *readChain(id: ConversationId): AsyncGenerator<ChainLine | ChainProblem> {
    yield* (await this.#store()).readChain(id);
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

  async create({
    isLocal = false,
    ...options
  }: WorkspaceCreateOptions): Promise<ConversationWriter> {
    if (isLocal) throw noLocalError();
    return (await this.#store()).create(options);
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
    const after = checkRecordFile(file, edit.after);
    await (await this.#store()).replaceText(id, file, { ...edit, after });
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
