/** `jp resume`: opens a session with an earlier conversation. */
import { resolveTarget } from "../../conversations.ts";
import type { CommandContext, GlobalOptions } from "../../context.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, usageError } from "../../exit-status.ts";
import { canOpenSession } from "../../host.ts";
import { findQuietPrompter } from "../../prompter.ts";
import { trustedConfig } from "../../trust.ts";
import type { WorkspaceSummary } from "../../../storage/index.ts";
import { listConversations } from "../conversation/ls.ts";
import { useConversation } from "../conversation/manage.ts";
import { pickConversation, restore } from "./picker.ts";
import { session } from "./session.ts";

/** Without a terminal, makes the named conversation the active one, or lists them with status 2. */
export async function resume({ args, options, context }: Call<GlobalOptions>): Promise<void> {
  const [word] = args;
  if (!canOpenSession(context.host)) {
    if (word !== undefined) return useConversation({ args, options: {}, context });
    await listConversations({ args: [], options: {}, context });
    const hint = "Name one: jp resume <target>.";
    throw new ExitStatus(2, {
      cause: usageError("Cannot show a list to choose from: no terminal is available.", hint),
    });
  }
  const found = word === undefined ? await pick(context) : await resolveTarget(context, word);
  if (found === undefined) return;
  await restore(found, context);
  context.output.flush();
  await session(context.host, options, found.id);
}

async function pick(context: CommandContext): Promise<WorkspaceSummary | undefined> {
  // The session reports what is wrong with it.
  const { config } = await trustedConfig(context, {}).catch(() => ({ config: {} }));
  const prompter = findQuietPrompter(context, config, {});
  const { signal } = new AbortController();
  return prompter && pickConversation({ context, prompter, signal });
}
