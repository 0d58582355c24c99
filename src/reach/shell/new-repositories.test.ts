import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { findNewRepositories } from "./new-repositories.ts";

test("repositories in subfolders are found if they were made since, also bare ones and those of a file", async () => {
  const root = temporaryFolder();
  const made = [".git", "a/b/.git", "a/.git", "bare/objects", "bare/refs", "node_modules/c/.git"];
  for (const name of [...made, "half/objects", "tree"]) {
    mkdirSync(path.join(root, name), { recursive: true });
  }
  for (const name of ["bare/HEAD", "half/HEAD", "tree/.git"]) {
    writeFileSync(path.join(root, name), "");
  }
  const now = Date.now();
  const found = await findNewRepositories(root, now - 60_000);
  expect(found.map((folder) => path.relative(root, folder))).toEqual(["a", "a/b", "bare", "tree"]);
  expect(await findNewRepositories(root, now + 60_000)).toEqual([]);
  expect(await findNewRepositories(path.join(root, "none"), 0)).toEqual([]);
});
