/** `jp conversation file`: copies a file that the model has sent. */
import path from "node:path";
import type { ConversationId, KeptFile } from "../../../record/conversation/index.ts";
import { findModelFiles } from "../../../assemble/index.ts";
import { JpError, oneLine } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { resolveTargetForReading } from "../../conversations.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { NewFile } from "../../new-file.ts";
import type { FILE } from "./options.ts";

const DIGITS = /^[0-9a-f]{8,64}$/i;

export async function copyFile({ args, options, context }: Call<typeof FILE>): Promise<void> {
  const [start = ""] = args;
  if (!DIGITS.test(start)) throw usageError(`Not the start of a digest: ${oneLine(start)}`);
  const { id } = await resolveTargetForReading(context, options.id);
  const file = await getFile(id, start.toLowerCase(), context);
  const bytes = await context.workspace.conversations.readFile?.(id, file);
  if (bytes === undefined) {
    const message = `The store has no file ${file.digest}, or not as the model sent it.`;
    throw new JpError("no_such_file", message);
  }
  using target = new NewFile(path.resolve(context.cwd, options.output));
  target.write(bytes);
  target.keep();
}

/** Throws `no_such_file`, `ambiguous_target`. */
async function getFile(
  id: ConversationId,
  start: string,
  context: CommandContext,
): Promise<KeptFile> {
  const [first, second] = await findModelFiles(context.workspace.conversations, id, start);
  if (first === undefined) {
    throw new JpError("no_such_file", `The model has sent no file ${start} in ${id}.`, {
      commandHint: "Name the conversation: jp conversation file … --id …",
    });
  }
  if (second === undefined) return first;
  throw new JpError("ambiguous_target", `Several files of ${id} start with ${start}.`, {
    hint: "Write more digits.",
  });
}
