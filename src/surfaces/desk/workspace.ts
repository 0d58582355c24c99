/** A workspace as the desk sees it. */
import type { ConversationStore } from "../../stores/index.ts";

/** A workspace served by the desk, or any conversation store under a name of your choice. */
export interface DeskWorkspace {
  /** Shown as `workspace`, and identifies it. */
  readonly root: string;
  readonly conversations: ConversationStore;
}
