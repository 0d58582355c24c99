/** `fs_create_file`: creates or overwrites a file, after showing you the content or a diff. */
import { defineTool, type ToolCall, type ToolContext } from "../../../../record/tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import { ALL_EDITS, askConsent, consentQuestion, withNote } from "./consent.ts";
import { FileError, parseText, toBody, toBytes, resolveTarget } from "../../../files/index.ts";
import { type FileSnapshot, findSnapshot, saveFiles } from "./save-file.ts";
import { unifiedDiff } from "./unified-diff.ts";
import type { ChangeKeeper } from "../../../undo/index.ts";

interface CreateFileArguments {
  readonly path: string;
  readonly content: string;
}

export interface WritingToolOptions {
  readonly root: string;
  /** Saves the old content for undo. Without it, nothing is saved. */
  readonly changes?: ChangeKeeper | undefined;
}

const NAME = "fs_create_file";
const DESCRIPTION =
  "Writes the content to the path and creates missing folders. Asks the user first, showing the " +
  "content, or a diff if the file exists. Keeps the line endings (CR LF), byte order mark and mode of " +
  "an existing file. The result says whether the file was created, overwritten, or left unchanged " +
  "because the user declined. Fails if the path is a folder or a hard link, is outside the workspace " +
  "or protected (.git, .jp), or if the file changed in the meantime; nothing is written then. To " +
  "change part of a file, use fs_modify_file.";

export function createCreateFileTool({ root, changes }: WritingToolOptions): ShippedTool {
  const tool = defineCreateFile({ root, answers: {} });
  const define = (call: ToolCall) => defineCreateFile({ root, changes, ...call });
  return {
    tool: { ...tool, execute: (call) => define(call).execute(call) },
    config: { summary: "Create or overwrite a text file in the workspace, if the user agrees." },
    effect: "edits",
    argumentKinds: { "/path": "path" },
  };
}

type CreateFileOptions = WritingToolOptions & Pick<ToolCall, "answers">;

function defineCreateFile(options: CreateFileOptions) {
  return defineTool({
    name: NAME,
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "the file, relative to the workspace root" },
        content: { type: "string", description: "the complete text of the file" },
      },
      required: ["path", "content"],
      additionalProperties: false,
    },
    questions: QUESTIONS,
    run: async (args: CreateFileArguments, context) =>
      withNote(await createFile(options, args, context), context),
  });
}

const QUESTIONS = {
  create_file: consentQuestion("create_file", "Create the file?", {
    default: true,
    rememberAs: ALL_EDITS,
  }),
  // The old content is lost, so a yes covers this file only.
  overwrite_file: consentQuestion("overwrite_file", "Overwrite the file?", {
    default: false,
    persistence: "none",
  }),
};

const CREATE = { verb: "create", id: "create_file" } as const;
const OVERWRITE = { verb: "overwrite", id: "overwrite_file" } as const;

async function createFile(
  { root, changes, answers }: CreateFileOptions,
  { path, content }: CreateFileArguments,
  context: ToolContext<typeof QUESTIONS>,
): Promise<string> {
  if (!content.isWellFormed()) throw new FileError("The content is not valid Unicode text.");
  const target = await resolveTarget(root, path);
  const { displayPath, questionPath } = target;
  const before = await findSnapshot(target);
  const { bytes, preview } = await planChange(displayPath, content, before);
  if (before?.bytes.equals(bytes)) {
    return `${displayPath} already has this content. Nothing was changed.`;
  }
  // A no stands, even if the file has since appeared or disappeared, which changes the question.
  const declined = [CREATE, OVERWRITE].find(({ id }) => answers[id] === false);
  const { verb, id } = declined ?? (before === undefined ? CREATE : OVERWRITE);
  const isAgreed =
    declined === undefined &&
    (await askConsent(context.ask[id], context, {
      changes: [{ target, before: before?.bytes, after: bytes }],
      text: `${before === undefined ? "Create" : "Overwrite"} ${questionPath}?`,
      context: preview,
    }));
  if (!isAgreed) return `The user declined to ${verb} ${displayPath}. Nothing was changed.`;
  await saveFiles([{ target, bytes, before }], context.signal, changes);
  return `${before === undefined ? "Created" : "Overwrote"} ${displayPath}.`;
}

interface PlannedChange {
  readonly bytes: Buffer;
  /** Shown with the question. */
  readonly preview: string;
}

async function planChange(
  path: string,
  content: string,
  before: FileSnapshot | undefined,
): Promise<PlannedChange> {
  const old = before && parseText(before.bytes);
  if (old !== undefined) {
    const body = toBody(content, old.format);
    const preview = await unifiedDiff({ path, before: old.body, after: body });
    return { bytes: toBytes({ body, format: old.format }), preview };
  }
  const diff = await unifiedDiff({ path, before: before && "", after: content });
  const added = diff === "" ? "An empty file." : diff;
  const preview =
    before === undefined
      ? added
      : `The file is binary, or not UTF-8 (${before.bytes.length} bytes). New content:\n${added}`;
  return { bytes: Buffer.from(content), preview };
}
