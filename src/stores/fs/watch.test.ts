import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findIdInFolderName } from "./file-id.ts";
import { WAITING } from "../open-question.fixture.ts";
import type { ConversationChange, ConversationStore } from "../port.ts";
import { temporaryFolder, temporaryWorkspace } from "../temporary-workspace.fixture.ts";
import { FolderWatch } from "./watch.ts";

/** Watches a folder, in which names are those of conversations' folders. */
function watching(folder: string) {
  const changes: ConversationChange[] = [];
  let wake: (() => void) | undefined;
  const watch = new FolderWatch(
    () => [{ folder, idOf: findIdInFolderName }],
    (change) => {
      changes.push(change);
      wake?.();
    },
  );
  onTestFinished(() => watch[Symbol.dispose]());
  /** Everything that is reported up to the next change that the condition accepts. */
  const until = async (isWanted: (change: ConversationChange) => boolean) => {
    while (!changes.some(isWanted)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    }
    return changes.splice(0);
  };
  return { until };
}

test("a folder is watched once it is there, however deep it is", async () => {
  const folder = path.join(temporaryFolder(), "a", "b", "c");
  const { until } = watching(folder);
  mkdirSync(folder, { recursive: true });
  expect(await until(({ id }) => id === undefined)).toEqual([{}]);
  writeFileSync(path.join(folder, "12-name"), "");
  expect(await until(({ id }) => id !== undefined)).toEqual([{ id: "jp-c12" }]);
});

test("a folder that is removed and created again, or replaced, is watched again", async () => {
  const parent = temporaryFolder();
  const folder = path.join(parent, "conversations");
  mkdirSync(folder);
  const { until } = watching(folder);
  /** Each unspecific report may be the one after which the new folder is watched. */
  const write = async (number: number) => {
    for (let isReported = false; !isReported;) {
      const reported = await until(() => true);
      isReported = reported.some(({ id }) => id === `jp-c${number}`);
      if (!isReported) writeFileSync(path.join(folder, String(number)), "");
    }
  };
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  await write(12);
  mkdirSync(path.join(parent, "other"));
  rmSync(folder, { recursive: true });
  renameSync(path.join(parent, "other"), folder);
  await expect(write(13)).resolves.toBeUndefined();
});

test("many changes of one conversation are reported together", async () => {
  const folder = temporaryFolder();
  const { until } = watching(folder);
  for (let count = 0; count < 100; count += 1) {
    writeFileSync(path.join(folder, "12"), String(count));
  }
  writeFileSync(path.join(folder, "13"), "");
  expect(await until(({ id }) => id === "jp-c13")).toEqual([{ id: "jp-c12" }, { id: "jp-c13" }]);
});

test("the user's own conversations are watched, also in a workspace that had none", async () => {
  const { conversations, reopen } = temporaryWorkspace();
  const { promise, resolve } = Promise.withResolvers<void>();
  const other: ConversationStore = reopen().conversations;
  const watch = other.watch(() => {
    void other.listPending().then((turns) => turns.length === 1 && resolve());
  });
  onTestFinished(() => watch[Symbol.dispose]());
  await using writer = await conversations.create({ isLocal: true });
  await writer.append(...WAITING);
  await promise;
  expect((await conversations.find(writer.id))?.place).toBe("local");
});
