/** `jp conversation archive` and `unarchive`. */
import type { Call } from "../../define.ts";
import { resolveTargets } from "../../target.ts";

export async function archiveConversations({ words, context }: Call<object>): Promise<void> {
  for (const { id, isArchived } of await resolveTargets(context, words)) {
    if (!isArchived) await context.workspace.conversations.archive(id);
    context.output.notice(isArchived ? `${id} is archived already.` : `${id} is archived.`);
  }
}

export async function unarchiveConversations({ words, context }: Call<object>): Promise<void> {
  for (const { id, isArchived } of await resolveTargets(context, words)) {
    if (isArchived) await context.workspace.conversations.unarchive(id);
    context.output.notice(isArchived ? `${id} is back.` : `${id} is not archived.`);
  }
}
