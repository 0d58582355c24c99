/** `jp conversation edit`: properties by flag, files in the editor. */
import path from "node:path";
import {
  type ConversationId,
  type ConversationMetadata,
  type Timestamp,
  timestampFromDate,
} from "../../../conversation/index.ts";
import type { RecordFile } from "../../../storage/index.ts";
import { CodedError, isCodedError } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { editText } from "../../editor.ts";
import { usageError } from "../../exit-status.ts";
import { resolveTarget } from "../../conversations.ts";
import { type FileFlags, PACKED_HINT } from "./show.ts";

export interface EditFlags extends FileFlags {
  /** `false` takes it away. */
  readonly title?: string | false;
  readonly pin?: boolean;
  readonly local?: boolean;
}

export async function editConversation({
  words,
  options,
  context,
}: Call<EditFlags>): Promise<void> {
  const { id } = await resolveTarget(context, words[0]);
  const { title, pin, local } = options;
  checkFlags(options);
  if (title === undefined && pin === undefined && local === undefined) {
    await editFile(id, fileOf(options), context);
    return;
  }
  if (title !== undefined || pin !== undefined) await editMetadata(id, options, context);
  if (local !== undefined) await context.workspace.conversations.setLocal(id, local);
  context.output.notice(`${id} is changed.`);
}

/** Throws `usage`. */
function checkFlags({ title, pin, local, events, metadata, baseConfig }: EditFlags): void {
  const files = [events, metadata, baseConfig].filter(Boolean).length;
  const isProperty = [title, pin, local].some((flag) => flag !== undefined);
  if (files > 1) throw usageError("Only one file can be edited at a time.");
  if (files > 0 && isProperty) throw usageError("Edit a file or set properties, not both at once.");
  if (title === "") throw usageError("A title must not be empty.", "--no-title takes it away.");
}

async function editMetadata(
  id: ConversationId,
  options: EditFlags,
  { workspace, clock }: CommandContext,
): Promise<void> {
  await using writer = await workspace.conversations.open(id);
  const now = timestampFromDate(clock.now());
  await writer.updateMetadata((metadata) => change(metadata, options, now));
}

function change(
  metadata: ConversationMetadata,
  { title, pin }: EditFlags,
  now: Timestamp,
): ConversationMetadata {
  const { title: oldTitle, pinnedAt: oldPin, ...rest } = metadata;
  const newTitle = title === undefined ? oldTitle : title === false ? undefined : title;
  const newPin = pin === undefined ? oldPin : pin ? now : undefined;
  return {
    ...rest,
    ...(newTitle !== undefined && { title: newTitle }),
    ...(newPin !== undefined && { pinnedAt: newPin }),
  };
}

/** The file in use is replaced only by one that can be read. */
async function editFile(
  id: ConversationId,
  file: RecordFile,
  context: CommandContext,
): Promise<void> {
  const { host, workspace, output } = context;
  const target = workspace.files.paths(id)[file];
  const before = workspace.files.read(id, file);
  if (before === undefined) {
    throw new CodedError("no_such_file", `There is no ${target}.`, { hint: PACKED_HINT });
  }
  const edited = await editText({ name: path.basename(target), text: before }, host);
  if (edited.text === before) {
    output.notice("Nothing was changed.");
  } else {
    await replace(
      () => workspace.files.replace(id, file, { before, after: edited.text }),
      edited.file,
    );
    output.notice(`${target} is changed.`);
  }
  await edited.discard();
}

async function replace(action: () => Promise<void>, draft: string): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!isCodedError(error)) throw error;
    throw new CodedError(error.code, error.message, {
      cause: error,
      hint: `The conversation is as it was. Your text is in ${draft}`,
    });
  }
}

function fileOf({ metadata, baseConfig }: EditFlags): RecordFile {
  return metadata === true ? "metadata" : baseConfig === true ? "baseConfig" : "events";
}
