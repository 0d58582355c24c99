/** `fs_create_file`: a new file, or a new content for an old one, after a person has seen it. */
import { defineTool, type ToolContext } from "../../../tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import type { Consent } from "./consent.ts";
import { Refusal } from "./file-error.ts";
import { fileToolConfig } from "./file-tool-config.ts";
import {
  findVersion,
  parseText,
  replaceFile,
  saveNewFile,
  toBody,
  toBytes,
  type Version,
} from "./files.ts";
import { findWritableTarget, type Target } from "./place.ts";
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
  "Writes the content to the path, with the folders on the way. The user sees the content, or a diff " +
  "if the file exists, and is asked first. The line ends (CR LF), byte order mark and mode of a file " +
  "that exists are kept. The result says " +
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
  const summary = "Create or overwrite a text file in the workspace, if the user agrees.";
  // It writes nothing before its own question is answered: the call need not ask.
  return { tool, config: fileToolConfig({ summary, description: DESCRIPTION }) };
}

const CREATING = { verb: "create", question: { id: "create_file", default: true } } as const;
const OVERWRITING = {
  verb: "overwrite",
  // What is overwritten is gone: a yes is for this file, and not for the next.
  question: { id: "overwrite_file", default: false, persistence: "none" },
} as const;

async function createFile(
  { root, consent }: WritingToolOptions,
  { path, content }: CreateFileArguments,
  context: ToolContext,
): Promise<string> {
  if (!content.isWellFormed()) throw new Refusal("The content is not valid Unicode text.");
  const target = await findWritableTarget(root, path);
  const { shown, asked } = target;
  const { signal } = context;
  const before = await findVersion(target);
  const { bytes, preview } = plan(target, content, before);
  if (before?.bytes.equals(bytes)) {
    return `${shown} holds exactly this already. Nothing was changed.`;
  }
  const callFor = (question: string) => [NAME, { path, content, question }] as const;
  // A file that was there when the question was asked: whoever said no, said it to this call.
  const wasThere = before !== undefined || consent.isOpen(callFor(OVERWRITING.question.id));
  const { verb, question } = wasThere ? OVERWRITING : CREATING;
  const isAgreed = await consent.ask(context, {
    call: callFor(question.id),
    shown,
    change: [before?.bytes ?? "absent", bytes],
    question: {
      ...question,
      text: `${wasThere ? "Overwrite" : "Create"} ${asked}?`,
      context: preview,
    },
  });
  if (!isAgreed) return `The user declined to ${verb} ${shown}. Nothing was changed.`;
  if (before === undefined) {
    await saveNewFile({ target, bytes, signal });
    return `Created ${shown}.`;
  }
  await replaceFile({ target, bytes, before, signal });
  return `Overwrote ${shown}.`;
}

interface Plan {
  readonly bytes: Buffer;
  /** What a person is shown of it. */
  readonly preview: string;
}

/** What would be written. */
function plan({ shown }: Target, content: string, before: Version | undefined): Plan {
  const old = before && parseText(before.bytes);
  if (old !== undefined) {
    const body = toBody(content, old.format);
    const preview = unifiedDiff({ path: shown, before: old.body, after: body });
    return { bytes: toBytes({ body, format: old.format }), preview };
  }
  const diff = unifiedDiff({ path: shown, before: before && "", after: content });
  const added = diff === "" ? "An empty file." : diff;
  const preview =
    before === undefined
      ? added
      : `The file is binary, or not in UTF-8 (${before.bytes.length} bytes). It would become:\n${added}`;
  return { bytes: Buffer.from(content), preview };
}
