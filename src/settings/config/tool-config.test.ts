import { readFileSync } from "node:fs";
import { describe, expect, expectTypeOf, test } from "vitest";
import { renderToolConfig, TOOL_CONFIG_FILE } from "../../../test/support/tool-config-type.ts";
import type { JsonObject } from "../../util/index.ts";
import { parseConfig } from "./parse-config.ts";
import type { PeopleConfig, SharedToolConfig, ToolConfig } from "./tool-config.ts";

test("the type of a tool's config is made from the schema", () => {
  expect(readFileSync(TOOL_CONFIG_FILE, "utf8")).toBe(renderToolConfig());
});

/** The errors and warnings of the schema. */
function problemsOf(tool: ToolConfig): readonly string[] {
  const { errors, warnings } = parseConfig({ conversation: { tools: { deploy: tool } } });
  return [...errors, ...warnings].map(({ path }) => path.slice(3).join("."));
}

describe("the type of a tool's config", () => {
  test("takes what the schema takes", () => {
    const all: readonly ToolConfig[] = [
      { run: "ask", result: "edit", enable: "always", timeout_secs: 3, detached: { run: "defer" } },
      { target: { role: "treasurer", quorum: 2, not_by: "asker", proof: "signed" } },
      { target: [{ user: "ana", within: "2h" }, { any: ["ben", { role: "lead" }] }] },
      { policy: { run: [{ mode: "ask", arg: "/amount", minimum: 100, target: { user: "ana" } }] } },
      { questions: { sure: { target: { role: "lead" }, deadline: "2h", on_timeout: "default" } } },
      { questions: { sure: { target: ["assistant", { user: "ana" }], answer: ["any", "JSON"] } } },
      { questions: { sure: { target: { model: { id: "a/b", parameters: { seed: 1 } } } } } },
      { parameters: { path: { type: "string", items: { enum: [1] }, pattern: "^a" } } },
      { style: { inline_results: { user: "chat" }, parameters: "json" } },
    ];
    expect(all.flatMap(problemsOf)).toEqual([]);
  });

  test("refuses wrong values and misspelled keys", () => {
    // @ts-expect-error A role is a name.
    const wrong: ToolConfig = { target: { role: 5 } };
    // @ts-expect-error There is no such key.
    const misspelled: ToolConfig = { target: { role: "lead", quorm: 2 } };
    const nested: ToolConfig = {
      // @ts-expect-error
      questions: { sure: { target: { role: "lead", quorm: 2 } } },
    };
    // @ts-expect-error jp refuses what it does not support.
    const unsupported: ToolConfig = { format: "ask" };
    // @ts-expect-error Only a tool has questions.
    const shared: SharedToolConfig = { questions: {} };
    expect([wrong, misspelled, nested, unsupported, shared].map(problemsOf)).toEqual([
      ["target.role"],
      ["target.quorm"],
      ["questions.sure.target.quorm"],
      ["format"],
      [],
    ]);
  });

  test("has the keys of the schema, and takes config that was read from a file", () => {
    expectTypeOf<PeopleConfig["not_by"]>().toEqualTypeOf<"asker" | undefined>();
    expectTypeOf<JsonObject>().toExtend<ToolConfig>();
  });
});
