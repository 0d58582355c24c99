import process from "node:process";
import { describe, expect, test } from "vitest";
import { type Budget, findProblems, joined, nodeVersion, useOf } from "./budget.ts";
import { checkBudget, PATHS } from "./measure.ts";
import { checkTake } from "./take.ts";

const RUN = {
  modules: { "src/cli/run.ts": 1, zod: 1 },
  bytes: { bytes: 100_000 },
  functions: { "src/cli": 10, zod: 10 },
  builtins: { net: 1 },
  processes: { "git status": 1 },
  files: { "/config.toml": 1 },
  syncs: { "/events.json": 2 },
  stats: { stats: 40 },
  read: { read: 10_000 },
};
const BUDGET: Budget = {
  node: nodeVersion(),
  paths: {
    "jp query": {
      bytes: 100_000,
      functions: 20,
      syncs: { "/events.json": 2 },
      stats: 40,
      read: 10_000,
      processes: ["git status"],
      builtins: ["net"],
      packages: ["zod"],
      files: { "/config.toml": 1 },
      modules: ["src/cli/run.ts"],
      functions_by_folder: { "src/cli": 10, zod: 10 },
    },
  },
};

describe("the budget of a path", () => {
  // The lists of files and processes are those of Linux.
  test.skipIf(process.platform !== "linux").each(Object.keys(PATHS) as (keyof typeof PATHS)[])(
    "is what it needs, no more and no less: %s",
    async (name) => {
      expect(await checkBudget(name)).toEqual([]);
    },
  );

  test("is kept by a worker that takes a turn from a database", async () => {
    expect(await checkTake()).toEqual([]);
  }, 60_000);

  test("accepts what it allows", () => {
    expect(findProblems("jp query", useOf([RUN]), BUDGET)).toEqual([]);
  });

  test("names what was added", () => {
    const use = useOf([
      {
        modules: { ...RUN.modules, "src/cli/new.ts": 1, valibot: 1 },
        bytes: { bytes: 200_000 },
        functions: { "src/cli": 14, zod: 10, valibot: 7 },
        builtins: { net: 1, crypto: 1 },
        processes: { ...RUN.processes, "git config": 1 },
        files: { "/config.toml": 2, "/more.toml": 1 },
        syncs: { "/events.json": 3, "/project": 1 },
        stats: { stats: 60 },
        read: { read: 20_000 },
      },
    ]);
    expect(findProblems("jp query", use, BUDGET)).toEqual([
      "src/cli/new.ts is new on the way of jp query.",
      "the package valibot is new on the way of jp query.",
      "node:crypto is new on the way of jp query.",
      'the process "git config" is new on the way of jp query.',
      "the file /more.toml is new on the way of jp query.",
      "the sync of /project is new on the way of jp query.",
      "/config.toml is opened 2 times instead of 1 on the way of jp query.",
      "/events.json is synced 3 times instead of 2 on the way of jp query.",
      "jp query needs 200,000 bytes of JavaScript. Its budget is 100,000.",
      "jp query needs 60 looks at files. Its budget is 40.",
      "jp query needs 20,000 bytes of files. Its budget is 10,000.",
      "jp query needs 31 functions. Its budget is 20. More than before: 7 in valibot, 4 in src/cli.",
    ]);
  });

  test("has no room for what is no longer needed", () => {
    const use = useOf([
      { ...RUN, modules: { zod: 1 }, builtins: {}, processes: {}, bytes: { bytes: 80_000 } },
    ]);
    expect(findProblems("jp query", use, BUDGET)).toEqual([
      "src/cli/run.ts is no longer needed on the way of jp query.",
      "net is no longer needed on the way of jp query.",
      "git status is no longer needed on the way of jp query.",
      "jp query needs only 80,000 bytes, not 100,000.",
    ]);
  });

  test("is not about what happened in only one of two runs", () => {
    const beside = {
      ...RUN,
      files: { "/config.toml": 1, "/beside": 1 },
      syncs: { "/events.json": 3 },
    };
    const use = joined([useOf([beside]), useOf([RUN])]);
    expect(findProblems("jp query", use, BUDGET)).toEqual([]);
  });

  test("leaves out the modules of Node on another version of it", () => {
    const use = useOf([{ ...RUN, builtins: { dns: 1 } }]);
    expect(findProblems("jp query", use, { ...BUDGET, node: "0.1" })).toEqual([]);
  });
});
