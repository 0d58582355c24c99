import { mkdirSync, readdirSync, utimesSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { Project } from "./support.ts";

test("compiled code of versions that are no longer used is removed when a new one starts", async () => {
  const project = new Project();
  const caches = path.join(project.home, "caches");
  const parent = path.join(caches, "jp-ts", "node");
  for (const name of ["0.0.1-v22.22.0", "v24.0.0-arm64", "0.0.2-v24.0.0"]) {
    mkdirSync(path.join(parent, name, "inner"), { recursive: true });
  }
  for (const name of ["0.0.1-v22.22.0", "v24.0.0-arm64"]) utimesSync(path.join(parent, name), 0, 0);
  const own = { XDG_CACHE_HOME: caches, NODE_COMPILE_CACHE: undefined };
  const { status } = await project.jpProcessWith(own, "conversation", "ls");
  expect({ status, left: readdirSync(parent).toSorted() }).toEqual({
    status: 0,
    left: ["0.0.2-v24.0.0", expect.stringContaining(`-${process.version}`)],
  });
});
