import { expect, test } from "vitest";
import type { Json } from "../../util/index.ts";
import { parseLimits } from "./grant-limits.ts";

const LIMITS = {
  confinement: "sandbox",
  network: true,
  git: true,
  folder: "src",
  outside: ["/opt/data"],
  options: ["--all"],
} as const;

test("the limits of a grant are read as they were saved", () => {
  const bare = { folder: "." };
  expect([LIMITS, bare, { ...bare, outside: [], options: [] }].map(parseLimits)).toEqual([
    LIMITS,
    bare,
    { ...bare, outside: [], options: [] },
  ]);
});

test.each<[string, Json]>([
  ["nothing", null],
  ["a list", []],
  ["no folder", { network: true }],
  ["a folder that is none", { ...LIMITS, folder: 1 }],
  ["an unknown field", { ...LIMITS, users: ["ada"] }],
  ["an unknown confinement", { ...LIMITS, confinement: "container" }],
  ["a network of another kind", { ...LIMITS, network: "local" }],
  ["a network that is refused", { ...LIMITS, network: false }],
  ["access to .git of another kind", { ...LIMITS, git: "read" }],
  ["files that are no texts", { ...LIMITS, outside: [1] }],
  ["options that are no list", { ...LIMITS, options: "--all" }],
])("limits that this version does not know let nothing run: %s", (_, limits) => {
  expect(parseLimits(limits)).toBeUndefined();
});
