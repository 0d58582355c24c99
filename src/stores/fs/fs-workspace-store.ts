/** The store of a workspace: conversations in two places, and access to their files for users who edit them. */
import path from "node:path";
import { compareCreation, type ConversationId } from "../../record/conversation/index.ts";
import { findJson } from "../../util/index.ts";
import type { ListOptions } from "../port.ts";
import { noWorkspaceError, recordChangedError } from "../storage-error.ts";
import type {
  FileEdit,
  RecordFile,
  RecordFiles,
  RecordPaths,
  WorkspaceCreateOptions,
  WorkspaceStore,
  WorkspaceSummary,
} from "../workspace-port.ts";
import {
  checkRecordFile,
  copyFolder,
  findFile,
  mergeCopies,
  removeFolder,
} from "./conversation-files.ts";
import {
  BASE_CONFIG,
  type ConversationCopy,
  currentCopies,
  EVENTS,
  METADATA,
  parentFolder,
} from "./conversation-folders.ts";
import { renameFolder, writeDurably } from "./durable.ts";
import { folderName } from "./file-id.ts";
import { FsConversationStore } from "./fs-store.ts";
import type { FsConversationWriter } from "./fs-writer.ts";
import { findCopy, unmark } from "./open-turns.ts";
import { folderOfLatest, summarize } from "./summary.ts";

export class FsWorkspaceStore extends FsConversationStore implements WorkspaceStore, RecordFiles {
  override async list(options?: ListOptions): Promise<WorkspaceSummary[]> {
    const found = await this.summaries(options);
    return found.map(({ summary, copies }) => ({ ...summary, place: placeOf(copies) }));
  }

  override async find(id: ConversationId): Promise<WorkspaceSummary | undefined> {
    const found = await this.findSummary(id);
    return found && { ...found.summary, place: placeOf(found.copies) };
  }

  override async create(options: WorkspaceCreateOptions): Promise<FsConversationWriter> {
    const { isLocalOnly = false, userFolder } = this.context.options;
    const isLocal = isLocalOnly || options.isLocal === true;
    if (isLocal) await userFolder?.ensureOwn();
    return await this.createIn(isLocal ? "local" : "main", options);
  }

  /** Leaves out the user's own conversations, which stay where they are. */
  override async listRecords(): Promise<readonly ConversationId[]> {
    const found = await this.list({ which: "all" });
    const shared = found.filter(({ place }) => place !== "local");
    return shared.toSorted(compareCreation).map(({ id }) => id);
  }

  async setLocal(id: ConversationId, isLocal: boolean): Promise<void> {
    const { isLocalOnly = false, storage } = this.context.options;
    if (isLocalOnly && !isLocal) throw noWorkspaceError(path.dirname(storage));
    await this.context.withLock(id, async () => {
      const copies = this.context.liveCopies(id);
      const root = isLocal ? "local" : "main";
      if (isLocal) await this.context.options.userFolder?.ensureOwn();
      const folder = await mergeCopies(copies, root);
      const parent = parentFolder(this.context.roots(), root, false);
      const target = path.join(parent, path.basename(folder));
      if (folder !== target) await copyFolder(folder, target);
      for (const copy of copies) if (copy.folder !== target) await removeFolder(copy.folder);
    });
  }

  paths(id: ConversationId): RecordPaths {
    const copies = this.context.readableCopies(id);
    const folder = folderOfLatest(copies, EVENTS, BASE_CONFIG);
    return {
      folder,
      events: path.join(folder, EVENTS),
      metadata: path.join(folderOfLatest(copies, METADATA), METADATA),
      baseConfig: path.join(folder, BASE_CONFIG),
    };
  }

  nameOf(id: ConversationId, file: RecordFile | "folder"): string {
    return this.paths(id)[file];
  }

  async read(id: ConversationId, file: RecordFile): Promise<string | undefined> {
    const bytes = await this.context.reading(id, () => findFile(this.paths(id)[file]));
    return bytes?.toString("utf8");
  }

  async replace(id: ConversationId, file: RecordFile, edit: FileEdit): Promise<void> {
    const after = checkRecordFile(file, edit.after);
    await this.context.withLock(id, async () => {
      const target = this.paths(id)[file];
      if ((await this.read(id, file)) !== edit.before) throw recordChangedError(target);
      await writeDurably(target, Buffer.from(after));
      if (file === "events") this.#unmarkEmptied(id, after);
      if (file === "metadata") await this.#renameFolders(id);
    });
  }

  /** The user has removed the open turn too. If its marker stayed, the record would seem to have lost it. */
  #unmarkEmptied(id: ConversationId, events: string): void {
    const list = findJson(events);
    const place = this.context.findPlace(id);
    const isEmptied = Array.isArray(list) && list.length === 0;
    if (isEmptied && place && findCopy(place) !== undefined) unmark(place.privateFolder, id);
  }

  /** Folder names contain the title. */
  async #renameFolders(id: ConversationId): Promise<void> {
    const copies = this.context.readableCopies(id);
    const name = folderName(id, summarize(id, copies).metadata?.title);
    for (const { folder } of copies) await renameFolder(folder, name);
  }
}

function placeOf(copies: readonly ConversationCopy[]): WorkspaceSummary["place"] {
  if (copies.length === 1) return copies[0]?.root === "local" ? "local" : "workspace";
  const roots = new Set(currentCopies(copies).map(({ root }) => root));
  if (roots.size > 1) return "both";
  return roots.has("local") ? "local" : "workspace";
}
