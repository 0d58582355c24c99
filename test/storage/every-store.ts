/** The stores that the shared suite tests. */
import path from "node:path";
import { onTestFinished } from "vitest";
import {
  type ConversationStore,
  MemoryConversationStore,
  openStore,
} from "../../src/stores/index.ts";
import {
  START,
  temporaryFolder,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { migratedDatabase } from "../support/postgres.ts";

export interface OpenedStore {
  readonly store: ConversationStore;
  /** The same, as another process has it open, where that is possible. */
  readonly other?: ConversationStore;
  readonly clock: FakeClock;
  /** For a test that opens many. Otherwise the end of the test closes it. */
  readonly close?: () => Promise<void>;
}

export const EVERY_STORE: readonly {
  readonly name: string;
  readonly create: (clock?: FakeClock) => Promise<OpenedStore>;
}[] = [
  {
    name: "a workspace",
    create: async (clock = new FakeClock(START)) => {
      const { reopen } = temporaryWorkspace();
      const [store, other] = [reopen({ clock }), reopen({ clock })];
      return { store: store.conversations, other: other.conversations, clock };
    },
  },
  {
    name: "a folder",
    create: async (clock = new FakeClock(START)) => {
      const folder = path.join(temporaryFolder(), "data");
      const store = await openStore(folder, { clock });
      return { store, other: await openStore(folder, { clock }), clock };
    },
  },
  {
    name: "memory",
    create: async (clock = new FakeClock(START)) => ({
      store: new MemoryConversationStore(clock),
      clock,
    }),
  },
  {
    name: "PostgreSQL",
    create: async (clock = new FakeClock(START)) => {
      const url = await migratedDatabase();
      const folder = temporaryFolder();
      const options = {
        url,
        workspace: crypto.randomUUID(),
        clock,
        pid: process.pid,
        ensurePrivateFolder: async () => folder,
      };
      const [store, other] = [new PostgresStore(options), new PostgresStore(options)];
      const close = async () => {
        await store.close();
        await other.close();
      };
      onTestFinished(close);
      return { store, other, clock, close };
    },
  },
];
