import { describe, expect, test } from "vitest";
import { configToJson } from "../layers.ts";
import { ofTool, readConfig } from "../any-config.fixture.ts";
import { parseConfig } from "../parse-config.ts";
import type { Json } from "../../../util/index.ts";

const ARG = { arg: "/path", mode: "ask" };

describe("a rule", () => {
  test.each<Json>([
    { mode: "skip" },
    { ...ARG, const: "a" },
    { ...ARG, const: null },
    { ...ARG, const: false },
    { ...ARG, enum: [1, "a", { b: [] }] },
    { ...ARG, pattern: "^a" },
    { ...ARG, prefix: "" },
    { ...ARG, glob: "**" },
    { ...ARG, minimum: 0 },
    { ...ARG, exclusive_maximum: -1.5 },
    { arg: "/a~1b/~0/0", const: 1, mode: "edit" },
    { arg: "", const: {}, mode: "unattended" },
    { tool: "fs_*", server: "git", questions: ["delete_file"], mode: "unattended" },
  ])("is read, and shown as it was written: %j", (rule) => {
    const written = ofTool({ policy: { run: [rule], result: [rule] } });
    expect(configToJson(readConfig(written))).toEqual(written);
  });

  test.each<Json>([
    {},
    { mode: "allow" },
    { mode: "ask", prefix: "a" },
    ARG,
    { ...ARG, prefix: "a", const: "a" },
    { ...ARG, minimum: 0, maximum: 1 },
    { ...ARG, arg: "path", prefix: "a" },
    { ...ARG, arg: "/a~2", prefix: "a" },
    { ...ARG, arg: "/a~", prefix: "a" },
    { ...ARG, arg: 1, prefix: "a" },
    { ...ARG, enum: [] },
    { ...ARG, prefix: 1 },
    { ...ARG, minimum: "1" },
    { ...ARG, pattern: ["a"] },
    { ...ARG, exclusiveMinimum: 1 },
    { ...ARG, prefix: "a", place: { from: "user" } },
    { mode: "ask", tool: "" },
    { mode: "ask", server: ["a"] },
    "ask",
  ])("that cannot be meant is an error: %j", (rule) => {
    const { errors } = parseConfig(ofTool({ policy: { run: [rule] } }));
    expect(errors.map(({ path }) => path.slice(0, 5))).toEqual([
      ["conversation", "tools", "x", "policy", "run"],
    ]);
  });
});

test("a policy is one word or a list", () => {
  for (const word of ["ask", "unattended", "edit", "skip"]) {
    const written = ofTool({ policy: { run: word, result: word } }, "*");
    expect(configToJson(readConfig(written))).toEqual(written);
  }
  for (const wrong of ["allow", true, { mode: "ask" }, null])
    expect(parseConfig(ofTool({ policy: { run: wrong } })).errors).toHaveLength(1);
});
