/** What the desk knows of a workspace. */
import type { ConversationStore } from "../../stores/index.ts";

/** A workspace whose questions are shown, or any store of conversations under a name of your choice. */
export interface DeskWorkspace {
  /** Shown as `workspace`, and used to tell them apart. */
  readonly root: string;
  readonly conversations: ConversationStore;
}
