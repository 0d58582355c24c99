/** `jp conversation rm`: asks first, unless told not to. */
import { createInterface } from "node:readline/promises";
import { oneLine } from "../../../render/index.ts";
import type { ConversationSummary } from "../../../storage/index.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, INTERRUPTED, usageError } from "../../exit-status.ts";
import type { Host } from "../../host.ts";
import { resolveTargets } from "../../target.ts";

export interface RemoveFlags {
  readonly yes?: boolean;
}

export async function removeConversations({
  words,
  options,
  context,
}: Call<RemoveFlags>): Promise<void> {
  const targets = await resolveTargets(context, words);
  for (const target of targets) {
    if (options.yes !== true && !(await confirm(target, context.host))) {
      context.output.notice(`${target.id} was kept.`);
      throw new ExitStatus(1);
    }
    await context.workspace.conversations.remove(target.id);
    context.output.notice(`${target.id} is deleted.`);
  }
}

/** Only what a person types counts: nothing is deleted because nobody was there to object. */
async function confirm({ id, metadata }: ConversationSummary, host: Host): Promise<boolean> {
  if (host.stdin.isTTY !== true) {
    throw usageError("There is no terminal to ask on.", "Say --yes to delete without being asked.");
  }
  const terminal = createInterface({ input: host.stdin, output: host.stderr });
  try {
    const title = oneLine(metadata?.title ?? "no title");
    const answer = await terminal.question(`Delete ${id} (${title}) for good? [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AbortError") throw error;
    host.stderr.write("\n");
    if (error.message.includes("Ctrl+C")) throw new ExitStatus(INTERRUPTED);
    return false;
  } finally {
    terminal.close();
  }
}
