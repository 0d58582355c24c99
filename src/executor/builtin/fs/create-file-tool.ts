/** `fs_create_file`: a new file, or, after a question, a new content for an old one. */
import { defineTool, type ToolContext } from "../../../tool/index.ts";
import type { ShippedTool } from "../shipped-tool.ts";
import type { Consent } from "./consent.ts";
import { afterApproval } from "./file-tool-config.ts";
import { findVersion, type Version } from "./open-file.ts";
import { findWritableTarget, type Target } from "./place.ts";
import { Refusal } from "./refusal.ts";
import { replaceFile, saveNewFile } from "./save-file.ts";
import { parseText, toBody, toBytes } from "./text-format.ts";
import { unifiedDiff } from "./unified-diff.ts";

interface CreateFileArguments {
  readonly path: string;
  readonly content: string;
}

export interface WritingToolOptions {
  readonly root: string;
  readonly consent: Consent;
}

const NAME = "fs_create_file";
const DESCRIPTION =
  "Writes the content to the path, with the folders on the way. If the file exists, the user sees a " +
  "diff and is asked first; its line ends (CR LF), byte order mark and mode are kept. The result says " +
  "whether the file was created, overwritten, or left alone because the user declined. Errors: the " +
  "path is a folder or a hard link, is outside the workspace or protected (.git, .jp), or the file changed " +
  "meanwhile; then nothing was written. To change a part of a file use fs_modify_file.";

export function createCreateFileTool(options: WritingToolOptions): ShippedTool {
  const tool = defineTool<CreateFileArguments>({
    name: NAME,
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "the file, relative to the workspace's root" },
        content: { type: "string", description: "the whole text of the file" },
      },
      required: ["path", "content"],
      additionalProperties: false,
    },
    run: (args, context) => createFile(options, args, context),
  });
  const summary = "Create a text file in the workspace, or overwrite one if the user agrees.";
  // Its own question is about files that exist. A new one is written without it, so the call asks.
  return { tool, config: afterApproval({ summary, description: DESCRIPTION }) };
}

async function createFile(
  { root, consent }: WritingToolOptions,
  args: CreateFileArguments,
  context: ToolContext,
): Promise<string> {
  const { path, content } = args;
  if (!content.isWellFormed()) throw new Refusal("The content is not valid Unicode text.");
  const target = await findWritableTarget(root, path);
  const { shown } = target;
  const { signal } = context;
  const before = await findVersion(target);
  const call = [NAME, { path, content }] as const;
  // A file that was there when the question was asked: whoever said no, said it to this call.
  if (before === undefined && !consent.isOpen(call)) {
    await saveNewFile({ target, bytes: Buffer.from(content), signal });
    return `Created ${shown}.`;
  }
  const { bytes, diff } = plan(target, content, before);
  if (before?.bytes.equals(bytes))
    return `${shown} holds exactly this already. Nothing was changed.`;
  const isAgreed = await consent.ask(context, {
    call,
    shown,
    change: [before?.bytes ?? "absent", bytes],
    question: { id: "overwrite_file", text: `Overwrite ${shown}?`, context: diff, default: false },
  });
  if (!isAgreed) return `The user declined to overwrite ${shown}. Nothing was changed.`;
  if (before === undefined) {
    await saveNewFile({ target, bytes, signal });
    return `Created ${shown}.`;
  }
  await replaceFile({ target, bytes, before, signal });
  return `Overwrote ${shown}.`;
}

interface Plan {
  readonly bytes: Buffer;
  readonly diff: string;
}

/** What would be written, and what a person is shown of it. */
function plan({ shown }: Target, content: string, before: Version | undefined): Plan {
  const old = before === undefined ? undefined : parseText(before.bytes);
  if (old === undefined) {
    const was =
      before === undefined
        ? "The file is not there any more; it would be created again:"
        : `The file is binary, or not in UTF-8 (${before.bytes.length} bytes). It would become:`;
    const diff = unifiedDiff({ path: shown, before: "", after: content });
    return { bytes: Buffer.from(content), diff: `${was}\n${diff}` };
  }
  const body = toBody(content, old.format);
  const diff = unifiedDiff({ path: shown, before: old.body, after: body });
  return { bytes: toBytes({ body, format: old.format }), diff };
}
