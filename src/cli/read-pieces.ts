/** A record for a command that reads: what is wrong with it is told, and no reason to stop. */
import type { ConversationId, StreamEntry } from "../conversation/index.ts";
import { isCodedError } from "../util/index.ts";
import type { CommandContext } from "./compose.ts";
import { warn, warnOf } from "./warnings.ts";

/** Piece by piece. A record that cannot be read at all is an error, or only told. */
export async function* readPieces(
  id: ConversationId,
  { workspace, output }: Pick<CommandContext, "workspace" | "output">,
  unreadable: "throw" | "warn" = "warn",
): AsyncGenerator<readonly StreamEntry[]> {
  try {
    for await (const { entries, problems } of workspace.conversations.scan(id)) {
      warnOf(problems, output);
      yield entries;
    }
  } catch (error) {
    const isUnreadable = isCodedError(error) && error.code === "read_failed";
    if (!isUnreadable || unreadable === "throw") throw error;
    warn(error.message, output);
  }
}
