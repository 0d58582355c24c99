/**
 * Keeps files that a turn's tools change in the user's own folder, for undo. The code for it is loaded on the first
 * change.
 */
import type { PartialConfig } from "../settings/config/index.ts";
import { endOf, lastTurnOf } from "../record/conversation/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import type { ChangeKeeper } from "../reach/undo/index.ts";
import { loaderOf } from "../util/index.ts";
import type { Machine } from "./place.ts";

/** Undefined if the config disables it, or the user has no folder. */
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
      opened = undefined; // The next attempt may work.
      throw error;
    }));
  return {
    keepFile: async (change) => (await keeper()).keepFile(change),
    // Creates nothing for a command that may never run.
    checkFolder: async () =>
      opened === undefined
        ? (await loadUndo()).checkFolder({ root, variables })
        : (await opened).checkFolder(),
    keepFolder: async (signal) => (await keeper()).keepFolder(signal),
  };
}

/** Throws `module_not_loaded`. */
export const loadUndo = loaderOf(() => import("../reach/undo/index.ts"));
