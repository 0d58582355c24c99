/** `jp conversation use`: the active conversation of this terminal. */
import { timestampFromDate } from "../../../conversation/index.ts";
import { oneLine } from "../../../render/index.ts";
import { isCodedError } from "../../../util/index.ts";
import type { CommandContext } from "../../compose.ts";
import type { Call } from "../../define.ts";
import { resolveTarget } from "../../target.ts";

export async function useConversation({ words, context }: Call<object>): Promise<void> {
  const { workspace, output } = context;
  const target = await resolveTarget(context, words[0] ?? "previous");
  if (target.isArchived) {
    await workspace.conversations.unarchive(target.id);
    output.notice(`${target.id} was archived; it is back now.`);
  }
  await workspace.session.activate(target.id);
  await touch(target.id, context);
  output.notice(
    `${target.id} is active in this terminal: ${oneLine(target.metadata?.title ?? "(no title)")}`,
  );
}

/** Notes the time, unless somebody is writing to it at the moment: then it is in use anyway. */
async function touch(
  id: Parameters<CommandContext["workspace"]["conversations"]["open"]>[0],
  { workspace, clock }: CommandContext,
): Promise<void> {
  try {
    await using writer = await workspace.conversations.open(id);
    const lastActivatedAt = timestampFromDate(clock.now());
    await writer.updateMetadata((metadata) => ({ ...metadata, lastActivatedAt }));
  } catch (error) {
    if (!isCodedError(error) || error.code !== "conversation_locked") throw error;
  }
}
