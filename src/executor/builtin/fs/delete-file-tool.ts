/** `fs_delete_file`: deletes one file after a person has agreed. */
import type { BigIntStats } from "node:fs";
import { lstat, unlink } from "node:fs/promises";
import { defineTool, type ToolContext } from "../../../tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import type { WritingToolOptions } from "./create-file-tool.ts";
import { fileToolConfig } from "./file-tool-config.ts";
import { openFolder } from "./folder.ts";
import { findWritableTarget, type Target } from "./place.ts";
import { changedMeanwhile, explainFailure, notThere, Refusal, systemCode } from "./file-error.ts";

interface DeleteFileArguments {
  readonly path: string;
}

const NAME = "fs_delete_file";
const DESCRIPTION =
  "Deletes one file; the user is asked first. The result says whether it was deleted or the user " +
  "declined. Errors: the path does not exist, is a folder or a symbolic link, is outside the workspace " +
  "or protected (.git, .jp), or the file changed meanwhile; then nothing was deleted.";

export function createDeleteFileTool(options: WritingToolOptions): ShippedTool {
  const tool = defineTool<DeleteFileArguments>({
    name: NAME,
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "the file, relative to the workspace's root" },
      },
      required: ["path"],
      additionalProperties: false,
    },
    run: (args, context) => deleteFile(options, args, context),
  });
  const summary = "Delete a file of the workspace, if the user agrees.";
  // It deletes nothing before its own question is answered: the call need not ask.
  return { tool, config: fileToolConfig({ summary, description: DESCRIPTION }) };
}

async function deleteFile(
  { root, consent }: WritingToolOptions,
  { path }: DeleteFileArguments,
  context: ToolContext,
): Promise<string> {
  const target = await findWritableTarget(root, path);
  const { shown, asked } = target;
  const before = await inspect(target);
  const isAgreed = await consent.ask(context, {
    call: [NAME, { path }],
    shown,
    change: [identityOf(before)],
    question: {
      id: "delete_file",
      text: `Delete ${asked}?`,
      context: `${before.size} bytes, last changed ${before.mtime.toISOString()}.`,
      default: false,
      // What is deleted is gone: a yes is for this file, and not for the next.
      persistence: "none",
    },
  });
  if (!isAgreed) return `The user declined to delete ${shown}. Nothing was changed.`;
  await remove(target, before, context.signal);
  return `Deleted ${shown}.`;
}

async function inspect(target: Target): Promise<BigIntStats> {
  const { shown } = target;
  if (target.newFolders.length > 0) throw notThere(shown);
  if (target.isLink) throw new Refusal(`${shown} is a symbolic link. Only files are deleted.`);
  try {
    await using folder = await openFolder(target.folder);
    const stats = await lstat(folder.entry(target.name), { bigint: true });
    if (stats.isDirectory()) throw new Refusal(`${shown} is a folder. Only files are deleted.`);
    if (!stats.isFile()) throw new Refusal(`${shown} is not a regular file.`);
    return stats;
  } catch (error) {
    throw systemCode(error) === "ENOENT" ? notThere(shown) : explainFailure("delete", shown, error);
  }
}

async function remove(target: Target, before: BigIntStats, signal: AbortSignal): Promise<void> {
  const { name, shown } = target;
  try {
    await using folder = await openFolder(target.folder);
    const now = await lstat(folder.entry(name), { bigint: true });
    if (identityOf(now) !== identityOf(before)) throw changedMeanwhile(shown);
    signal.throwIfAborted();
    await unlink(folder.entry(name));
    await folder.sync();
  } catch (error) {
    throw explainFailure("delete", shown, error);
  }
}

/** Another file, or the same one after somebody wrote to it, has another one. */
function identityOf({ dev, ino, mode, size, mtimeNs }: BigIntStats): string {
  return [dev, ino, mode, size, mtimeNs].join(":");
}
