/** `fs_delete_file`: deletes one file, if you agree. */
import type { BigIntStats } from "node:fs";
import { lstat, unlink } from "node:fs/promises";
import { defineTool, type ToolContext } from "../../../../record/tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import { askConsent, consentQuestion, withNote } from "./consent.ts";
import type { WritingToolOptions } from "./create-file-tool.ts";
import {
  fileChangedError,
  FileError,
  type FileTarget,
  MAX_KEPT_FILE_BYTES,
  notFoundError,
  openFolder,
  parseText,
  resolveTarget,
  toFileError,
} from "../../../files/index.ts";
import { type Json, systemErrorCode } from "../../../../util/index.ts";
import { keepBefore } from "./save-file.ts";
import { type FileIdentity, identifyByTime, identifyFile } from "../../file-identity.ts";

interface DeleteFileArguments {
  readonly path: string;
}

const NAME = "fs_delete_file";
const DESCRIPTION =
  "Deletes one file. Asks the user first; the result says whether it was deleted or the user declined. " +
  "Fails if the path does not exist, is a folder or a symbolic link, is outside the workspace or " +
  "protected (.git, .jp), or if the file changed in the meantime; nothing is deleted then.";

const QUESTIONS = {
  // The content is lost, so a yes covers this file only.
  delete_file: consentQuestion("delete_file", "Delete the file?", {
    default: false,
    persistence: "none",
  }),
};

export interface DeletingToolOptions extends WritingToolOptions {
  /** The user's data folder, which keeps the digests of long files. Without it, they are kept for the process. */
  readonly dataFolder?: string | undefined;
}

export function createDeleteFileTool(options: DeletingToolOptions): ShippedTool {
  const tool = defineTool({
    name: NAME,
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "the file, relative to the workspace root" },
      },
      required: ["path"],
      additionalProperties: false,
    },
    questions: QUESTIONS,
    run: async (args: DeleteFileArguments, context) =>
      withNote(await deleteFile(options, args, context), context),
  });
  return {
    tool,
    config: { summary: "Delete a file in the workspace, if the user agrees." },
    effect: "destroys",
    argumentKinds: { "/path": "path" },
  };
}

async function deleteFile(
  { root, changes, dataFolder }: DeletingToolOptions,
  { path }: DeleteFileArguments,
  context: ToolContext<typeof QUESTIONS>,
): Promise<string> {
  const target = await resolveTarget(root, path);
  const { displayPath, questionPath } = target;
  const { stats: before, identity, bytes } = await examineFile(target, dataFolder);
  const isAgreed = await askConsent(context.ask.delete_file, context, {
    changes: [{ target, before: identity, after: undefined }],
    text: `Delete ${questionPath}?`,
    // The content is left out because the conversation would keep it.
    context: [
      ...countLines(bytes),
      `${before.size} bytes`,
      `last changed ${before.mtime.toISOString()}.`,
    ]
      .join(", ")
      .concat(before.size > MAX_KEPT_FILE_BYTES ? " Too large to undo." : ""),
  });
  if (!isAgreed) return `The user declined to delete ${displayPath}. Nothing was changed.`;
  const kept = await keepBefore(changes, target, undefined);
  await unlinkFile(target, before, context.signal);
  await kept?.done();
  return `Deleted ${displayPath}.`;
}

/** Empty unless it is text that is short enough to read. */
function countLines(bytes: Buffer | undefined): readonly string[] {
  const text = bytes && parseText(bytes);
  if (text === undefined) return [];
  const count = text.body.split("\n").length - (/(^|\n)$/.test(text.body) ? 1 : 0);
  return [`${count} ${count === 1 ? "line" : "lines"}`];
}

interface ExaminedFile extends Pick<FileIdentity, "bytes"> {
  readonly stats: BigIntStats;
  readonly identity: Json;
}

async function examineFile(
  target: FileTarget,
  dataFolder: string | undefined,
): Promise<ExaminedFile> {
  const { displayPath } = target;
  if (target.newFolders.length > 0) throw notFoundError(displayPath);
  if (target.isLink) throw cannotDelete(displayPath, "a symbolic link");
  try {
    await using folder = await openFolder(target.folder);
    const file = folder.entry(target.name);
    const stats = await lstat(file, { bigint: true });
    if (stats.isDirectory()) throw cannotDelete(displayPath, "a folder");
    if (!stats.isFile()) throw new FileError(`${displayPath} is not a regular file.`);
    // A hard link is not read: the same file may be outside the workspace.
    if (stats.nlink > 1n) {
      return { stats, identity: { ...identifyByTime(stats), inode: String(stats.ino) } };
    }
    return { stats, ...(await identifyFile(file, stats, dataFolder)) };
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") throw notFoundError(displayPath);
    throw toFileError("delete", displayPath, error);
  }
}

function cannotDelete(displayPath: string, kind: string): FileError {
  return new FileError(`${displayPath} is ${kind}. Only files can be deleted.`);
}

async function unlinkFile(
  { folder: parent, name, displayPath }: FileTarget,
  before: BigIntStats,
  signal: AbortSignal,
): Promise<void> {
  try {
    await using folder = await openFolder(parent);
    const now = await lstat(folder.entry(name), { bigint: true });
    if (identityOf(now) !== identityOf(before)) throw fileChangedError(displayPath);
    signal.throwIfAborted();
    await unlink(folder.entry(name));
    await folder.sync();
  } catch (error) {
    throw toFileError("delete", displayPath, error);
  }
}

/** Differs for another file, and once this one has been written to. */
function identityOf({ dev, ino, mode, size, mtimeNs }: BigIntStats): string {
  return [dev, ino, mode, size, mtimeNs].join(":");
}
