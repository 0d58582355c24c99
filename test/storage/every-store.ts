/** The stores that the shared suite tests. */
import { type ConversationStore, MemoryConversationStore } from "../../src/storage/index.ts";
import { START, temporaryWorkspace } from "../../src/storage/temporary-workspace.fixture.ts";
import { FakeClock } from "../../src/testing/index.ts";

export interface OpenedStore {
  readonly store: ConversationStore;
  readonly clock: FakeClock;
}

export const EVERY_STORE: readonly {
  readonly name: string;
  readonly openStore: () => OpenedStore;
}[] = [
  {
    name: "the file system",
    openStore: () => {
      const { conversations, clock } = temporaryWorkspace();
      return { store: conversations, clock };
    },
  },
  {
    name: "memory",
    openStore: () => {
      const clock = new FakeClock(START);
      return { store: new MemoryConversationStore(clock), clock };
    },
  },
];
