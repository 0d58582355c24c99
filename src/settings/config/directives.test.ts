import { describe, expect, test } from "vitest";
import { readConfig } from "./any-config.fixture.ts";
import type { Json } from "../../util/index.ts";
import { applyDirectives, type ToolDirective } from "./directives.ts";
import { mergeConfig } from "./layers.ts";
import { resolveTools } from "./tool-settings.ts";

const on = (name?: string): ToolDirective => ({
  isEnabled: true,
  ...(name !== undefined && { name }),
});
const off = (name?: string): ToolDirective => ({
  isEnabled: false,
  ...(name !== undefined && { name }),
});

const POLICIES = {
  any_on: { state: true, allow_toggle: "any" },
  any_off: { state: false, allow_toggle: "any" },
  named_on: { state: true, allow_toggle: "if_named" },
  named_off: { state: false, allow_toggle: "if_named" },
  group_on: { state: true, allow_toggle: "if_named_or_group" },
  group_off: { state: false, allow_toggle: "if_named_or_group" },
  never_on: { state: true, allow_toggle: "never" },
  never_off: { state: false, allow_toggle: "never" },
};
const FS = Object.fromEntries(
  Object.entries(POLICIES).map(([name, enable]) => [name, { enable, group: "fs" }]),
);
const INITIAL = ["any_on", "named_on", "group_on", "never_on"];

describe("a bare directive", () => {
  test("switches the tools that allow any directive, and silently skips the others", () => {
    expect({ on: enabled(FS, on()), off: enabled(FS, off()) }).toEqual({
      on: [...INITIAL, "any_off"].toSorted(),
      off: ["group_on", "named_on", "never_on"],
    });
  });

  test("does nothing without tools", () => {
    expect(enabled({}, on(), off())).toEqual([]);
  });
});

describe("a directive that names a group", () => {
  test("switches its tools that allow it, and silently skips the others", () => {
    expect({ on: enabled(FS, on("fs")), off: enabled(FS, off("fs")) }).toEqual({
      on: [...INITIAL, "any_off", "group_off"].toSorted(),
      off: ["named_on", "never_on"],
    });
  });

  test("leaves other groups alone", () => {
    const tools = { a: { group: "fs" }, b: { group: "git" }, c: {} };
    expect(enabled(tools, off("fs"))).toEqual(["b", "c"]);
  });

  test("means the tool of that name, if one exists", () => {
    expect(enabled({ fs: { group: "x" }, a: { group: "fs" } }, off("fs"))).toEqual(["a"]);
  });
});

describe("a directive that names a tool", () => {
  test("switches it unless it is locked", () => {
    const names = Object.keys(POLICIES).filter((name) => !name.startsWith("never"));
    expect(enabled(FS, ...names.map(on))).toEqual([...names, "never_on"].toSorted());
    expect(enabled(FS, ...names.map(off))).toEqual(["never_on"]);
  });

  test("is rejected by a tool that is locked off", () => {
    expect(() => enabled(FS, on("never_off"))).toThrow(
      expect.objectContaining({
        code: "tool_locked",
        message: "cannot enable `never_off`: this tool is configured as locked-off",
      }),
    );
  });

  test("is rejected by a tool that is locked on", () => {
    expect(() => enabled(FS, off("never_on"))).toThrow(
      expect.objectContaining({
        code: "tool_locked",
        message: "cannot disable `never_on`: this tool is configured as locked-on",
      }),
    );
  });

  test("is rejected where all tools are locked by default", () => {
    const tools = { "*": { enable: "always" }, a: {} };
    expect(() => enabled(tools, off("a"))).toThrow(
      expect.objectContaining({
        message: "cannot disable `a`: this tool is configured as locked-on",
      }),
    );
  });

  test("does nothing if the tool is already as wanted, locked or not", () => {
    const config = read(FS);
    const directives = [on("never_on"), off("never_off"), on("any_on"), off("named_off")];
    expect(applyDirectives(config, directives)).toEqual(config);
  });

  test("is rejected for an unknown tool or group, with a suggestion", () => {
    const tools = { fs_read_file: { group: "files" }, git_diff: {} };
    expect(() => enabled(tools, on("fs_raed_file"))).toThrow(
      expect.objectContaining({
        code: "unknown_tool",
        message: "Unknown tool or group: fs_raed_file",
        hint: "Did you mean fs_read_file?",
      }),
    );
    expect(() => enabled(tools, off("file"))).toThrow(
      expect.objectContaining({ code: "unknown_tool", hint: "Did you mean files?" }),
    );
    expect(() => enabled(tools, off("something else"))).toThrow(
      expect.objectContaining({
        code: "unknown_tool",
        commandHint: "List them with `jp tool ls`.",
      }),
    );
  });

  test("never means the defaults for all tools, or a key that every object has", () => {
    for (const name of ["*", "toString", "__proto__", "constructor", ""])
      expect(() => enabled({ "*": {}, a: {} }, off(name))).toThrow(
        expect.objectContaining({ code: "unknown_tool" }),
      );
  });
});

describe("several directives", () => {
  const tools = { a: {}, b: {}, c: { enable: "explicit" } };

  test("are applied in order", () => {
    expect({
      onlyA: enabled(tools, off(), on("a")),
      none: enabled(tools, on("a"), off()),
      allButA: enabled(tools, on(), off("a")),
      named: enabled(tools, off(), on("c"), off()),
      again: enabled(tools, off("a"), on("a"), off("a")),
    }).toEqual({ onlyA: ["a"], none: [], allButA: ["b"], named: ["c"], again: ["b"] });
  });

  test("stop at the first that is rejected", () => {
    expect(() => enabled({ a: { enable: "always" } }, on("a"), off("a"), off("nobody"))).toThrow(
      expect.objectContaining({ code: "tool_locked" }),
    );
  });

  test("can switch off all tools and one that has to be named", () => {
    const withAsk = { ...tools, ask_user: { enable: { state: true, allow_toggle: "if_named" } } };
    expect([enabled(withAsk, off()), enabled(withAsk, off(), off("ask_user"))]).toEqual([
      ["ask_user"],
      [],
    ]);
  });
});

test("a directive changes the state and nothing else", () => {
  const config = read({
    a: { enable: "explicit", run: "ask", options: { x: 1 } },
    b: { run: "skip" },
  });
  const changed = read({ a: { enable: { state: true } } }, { isComplete: false });
  expect(applyDirectives(config, [on("a")])).toStrictEqual(mergeConfig(config, changed));
  expect(resolveTools(applyDirectives(config, [on("a")])).get("a")?.allowToggle).toBe("if_named");
});

/** The names of the tools that are on afterwards. */
function enabled(tools: Record<string, Json>, ...directives: ToolDirective[]) {
  const config = applyDirectives(read(tools), directives);
  const names = [...resolveTools(config).values()].filter(({ isEnabled }) => isEnabled);
  return names.map(({ name }) => name).toSorted();
}

function read(tools: Record<string, Json>, { isComplete = true } = {}) {
  const entries = Object.entries(tools).map(([name, tool]) => {
    const source = name === "*" || !isComplete ? {} : { source: "local" };
    return [name, { ...source, ...(tool as object) }] as const;
  });
  return readConfig({ conversation: { tools: Object.fromEntries(entries) } });
}
