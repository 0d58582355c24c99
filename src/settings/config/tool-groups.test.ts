import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { shippedConfig } from "../../assemble/index.ts";
import { readConfig } from "./any-config.fixture.ts";
import { foldLayers, type Layer } from "./layers.ts";
import { resolveTools } from "./tool-settings.ts";
import { ungroupLayers } from "./tool-groups.ts";
import type { JsonObject } from "../../util/index.ts";

const { builtins, readOnlyTools } = shippedConfig();
const BASE: Layer = { name: "builtin tools", config: builtins, isBase: true, readOnlyTools };
const READING = ["fs_read_file", "fs_list_files", "fs_grep_files"];
const ALL = [...READING, "fs_create_file", "fs_modify_file", "fs_edit", "fs_delete_file"];

const layer = (tools: JsonObject, more: Partial<Layer> = {}): Layer => ({
  name: "a file",
  config: readConfig({ conversation: { tools } }),
  ...more,
});

function enabled(...layers: readonly Layer[]): readonly string[] {
  const tools = resolveTools(foldLayers(ungroupLayers([BASE, ...layers]).layers));
  return [...tools.values()].flatMap(({ name, isEnabled }) =>
    isEnabled && name.startsWith("fs_") ? [name] : [],
  );
}

describe("a setting of a group", () => {
  test.each([
    [{ fs: { enable: true } }, ALL],
    [{ fs: { enable: "read" } }, READING],
    [{ fs: { enable: false } }, []],
    [{ fs: { enable: true }, fs_delete_file: { enable: false } }, ALL.slice(0, -1)],
    [{ fs_delete_file: { enable: false }, fs: { enable: true } }, ALL.slice(0, -1)],
    [{ fs_read_file: { enable: "read" }, fs_create_file: { enable: "read" } }, ["fs_read_file"]],
  ])("applies to its tools: %j", (tools, on) => {
    expect(enabled(layer(tools))).toEqual(on);
  });

  test("wins over lower layers, and higher ones over it, as for a tool", () => {
    const on = layer({ fs: { enable: true } });
    const read = layer({ fs: { enable: "read" } });
    const one = layer({ fs_modify_file: { enable: true } });
    expect([enabled(on, read), enabled(read, on), enabled(read, one), enabled(one, read)]).toEqual([
      READING,
      ALL,
      [...READING, "fs_modify_file"],
      READING,
    ]);
  });

  test("leaves out tools that cannot be switched with their group, as -t does", () => {
    const own = layer({
      fs_delete_file: { enable: "explicit" },
      fs_modify_file: { enable: { state: false, allow_toggle: "if_named_or_group" } },
      fs_create_file: { enable: { state: false, allow_toggle: "never" } },
      fs_edit: { enable: "explicit" },
    });
    expect(enabled(own, layer({ fs: { enable: true } }))).toEqual([...READING, "fs_modify_file"]);
  });

  test("leaves no entry for the group, and is kept beside", () => {
    const { layers } = ungroupLayers([BASE, layer({ fs: { enable: "read", run: "ask" } })]);
    const [, { config, groups } = { config: {}, groups: {} }] = layers;
    expect([config.conversation?.tools?.["fs"], groups?.conversation?.tools?.["fs"]]).toEqual([
      undefined,
      { enable: { state: false, allow_toggle: "any", reads_only: true }, run: "ask" },
    ]);
    expect(JSON.stringify(config)).not.toContain("reads_only");
    expect(config.conversation?.tools?.["fs_delete_file"]).toEqual({
      enable: { state: false },
      run: "ask",
    });
  });

  test("that only a tool can have is reported", () => {
    const { issues } = ungroupLayers([BASE, layer({ fs: { enable: true, summary: "Files." } })]);
    expect(issues).toEqual([
      {
        layer: "a file",
        path: ["conversation", "tools", "fs", "summary"],
        message: "fs is a group; set this for each of its tools",
      },
    ]);
  });

  test("is that of a tool, if one has the name", () => {
    const own = layer({ fs: { source: "local", command: "x", enable: true } });
    expect(enabled(own)).toEqual([]);
  });
});

describe("a workspace", () => {
  test("cannot add the user's own tools to a group that the user switches on", () => {
    counters("T-WORK-11");
    const user = layer({
      mine: { source: "local", command: "x", group: "safe" },
      safe: { enable: true },
    });
    const theirs = layer({ fs_delete_file: { group: "safe" } }, { isFromWorkspace: true });
    expect(enabled(user, theirs)).toEqual([]);
  });

  test("cannot take the name of a group away from the user", () => {
    const user = layer({ fs: { enable: "read" } });
    const theirs = layer({ fs: { source: "local", command: "x" } }, { isFromWorkspace: true });
    expect(enabled(user, theirs)).toEqual(READING);
  });

  test("can have groups of its own, which the user switches on", () => {
    const theirs = layer(
      { lint: { source: "local", command: "x", group: "checks", enable: false } },
      { isFromWorkspace: true },
    );
    const { layers } = ungroupLayers([BASE, theirs, layer({ checks: { enable: true } })]);
    expect(resolveTools(foldLayers(layers)).get("lint")?.isEnabled).toBe(true);
  });
});
