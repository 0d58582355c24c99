/** Keeps what the tools of a turn change, in the user's own folder. What does so is loaded with the first change. */
import type { PartialConfig } from "../settings/config/index.ts";
import { endOf, lastTurnOf } from "../record/conversation/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import type { ChangeKeeper } from "../reach/undo/index.ts";
import { loaderOf } from "../util/index.ts";
import type { Machine } from "./machine.ts";

/** Undefined if the config says that nothing is kept, and where the user has no folder. */
export function configuredChanges(
  machine: Machine,
  config: PartialConfig,
  conversation: Pick<ConversationWriter, "id" | "stream">,
): ChangeKeeper | undefined {
  const { root, variables, ensureUserFolder } = machine;
  if (ensureUserFolder === undefined || config.undo?.keep === false) return undefined;
  let opened: Promise<ChangeKeeper> | undefined;
  const open = async () => {
    const { keepChanges } = await loadUndo();
    const folder = await ensureUserFolder();
    const turn = () => lastTurnOf(endOf(conversation.stream))[0]?.timestamp ?? "";
    return keepChanges({ folder, root, conversation: conversation.id, turn, variables });
  };
  const keeper = () =>
    (opened ??= open().catch((error: unknown) => {
      opened = undefined; // It may work the next time.
      throw error;
    }));
  return {
    keepFile: async (change) => (await keeper()).keepFile(change),
    // Nothing is created for a command that may never run.
    checkFolder: async () =>
      opened === undefined
        ? (await loadUndo()).checkFolder({ root, variables })
        : (await opened).checkFolder(),
    keepFolder: async (signal) => (await keeper()).keepFolder(signal),
  };
}

/** Throws `module_not_loaded`. */
export const loadUndo = loaderOf(() => import("../reach/undo/index.ts"));
