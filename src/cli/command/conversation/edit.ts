/** `jp conversation edit`: sets properties by flag, or opens a file in the editor. */
import {
  type ConversationId,
  type ConversationMetadata,
  type Timestamp,
  timestampFromDate,
} from "../../../record/conversation/index.ts";
import type { RecordFile } from "../../../stores/index.ts";
import { JpError, isJpError } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { editText } from "../../editor.ts";
import { usageError } from "../../exit-status.ts";
import { resolveTarget } from "../../conversations.ts";
import { PACKED_HINT } from "./show.ts";
import type { EDIT } from "./options.ts";
import type { FlagsOf } from "../../options.ts";

export async function editConversation({
  args,
  options,
  context,
}: Call<typeof EDIT>): Promise<void> {
  const { id } = await resolveTarget(context, args[0]);
  const { title, pin, local } = options;
  assertFlags(options);
  if (title === undefined && pin === undefined && local === undefined) {
    await editFile(id, fileOf(options), context);
    return;
  }
  if (title !== undefined || pin !== undefined) await editMetadata(id, options, context);
  if (local !== undefined) await context.workspace.conversations.setLocal(id, local);
  context.output.notice(`Changed ${id}.`);
}

/** Throws `usage`. */
function assertFlags({
  title,
  pin,
  local,
  events,
  metadata,
  baseConfig,
}: FlagsOf<typeof EDIT>): void {
  const files = [events, metadata, baseConfig].filter(Boolean).length;
  const isProperty = [title, pin, local].some((flag) => flag !== undefined);
  if (files > 1) throw usageError("Edit one file at a time.");
  if (files > 0 && isProperty) throw usageError("Edit a file or set properties, not both.");
  if (title === "") throw usageError("The title is empty.", "Use --no-title to remove the title.");
}

/** Throws what the store throws. */
export async function editMetadata(
  id: ConversationId,
  options: Pick<FlagsOf<typeof EDIT>, "title" | "pin">,
  { workspace, clock }: CommandContext,
): Promise<void> {
  await using writer = await workspace.conversations.open(id);
  const now = timestampFromDate(clock.now());
  await writer.updateMetadata((metadata) => changeMetadata(metadata, options, now));
}

function changeMetadata(
  metadata: ConversationMetadata,
  { title, pin }: Pick<FlagsOf<typeof EDIT>, "title" | "pin">,
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

/** The extension tells the editor which syntax to use. */
const NAMES = {
  events: "events.json",
  metadata: "metadata.json",
  baseConfig: "base_config.json",
} as const satisfies Record<RecordFile, string>;

/** Replaces the file only if the new version can be read. */
async function editFile(
  id: ConversationId,
  file: RecordFile,
  context: CommandContext,
): Promise<void> {
  const { workspace, output } = context;
  const target = workspace.files.nameOf(id, file);
  const before = await workspace.files.read(id, file);
  if (before === undefined) {
    throw new JpError("no_such_file", `${target} does not exist.`, { hint: PACKED_HINT });
  }
  const edited = await editText({ name: NAMES[file], text: before }, context);
  if (edited.text === before) {
    output.notice("No changes.");
  } else {
    try {
      await workspace.files.replace(id, file, { before, after: edited.text });
    } catch (error) {
      if (!isJpError(error)) throw error;
      const hint = `The conversation is unchanged. Your text is in ${edited.file}`;
      throw new JpError(error.code, error.message, { cause: error, hint });
    }
    output.notice(`Changed ${target}.`);
  }
  await edited.discard();
}

function fileOf({ metadata, baseConfig }: FlagsOf<typeof EDIT>): RecordFile {
  return metadata === true ? "metadata" : baseConfig === true ? "baseConfig" : "events";
}
