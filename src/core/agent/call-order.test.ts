import { mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../util/index.ts";
import { type CallOfTool, createPolicy } from "../policy/index.ts";
import { type CallUse, findUse, waitsFor } from "./call-order.ts";
import { settingsOf } from "./tool-turn.fixture.ts";

/** `r:/a` reads a file, `w:/a` changes it, `!` is a command, `m?` reads from the server m, `m!` writes to it. */
function useOf(text: string): CallUse {
  if (text === "!") return { type: "command" };
  if (text === "local") return { type: "other" };
  if (text === "alone" || text === "free")
    return { type: "configured", isParallel: text === "free" };
  const [kind = "", file] = text.split(":");
  if (file !== undefined)
    return { type: "files", isReading: kind === "r", files: file === "*" ? undefined : [file] };
  return { type: "server", server: kind.slice(0, -1), isReading: kind.endsWith("?") };
}

/** For each call of a reply, the calls before it that it waits for. */
function order(reply: string): readonly string[] {
  const calls = reply.split(" ");
  const uses = calls.map(useOf);
  return uses.map((later, at) =>
    calls
      .slice(0, at)
      .filter((_, index) => waitsFor(later, uses[index] ?? later))
      .join(" "),
  );
}

describe("a call waits for", () => {
  test.each([
    ["nothing, if both only read from a server", "m? m?", ["", ""]],
    ["every call before it, if it writes to the server", "m? m! m!", ["", "m?", "m? m!"]],
    ["the writers before it, if it only reads", "m? m! m?", ["", "m?", "m!"]],
    ["no call to another server", "m! n! n?", ["", "", "n!"]],
    ["changes of the file that it reads", "w:/a r:/a", ["", "w:/a"]],
    ["changes below the folder that it reads", "w:/a/b r:/a", ["", "w:/a/b"]],
    ["changes above the file that it reads", "w:/a r:/a/b", ["", "w:/a"]],
    ["no change of another file", "w:/ab w:/b r:/a r:/abc", ["", "", "", ""]],
    ["reads of the file that it changes, and changes", "r:/a w:/a w:/a", ["", "r:/a", "r:/a w:/a"]],
    ["no other read", "r:/a r:/a r:/", ["", "", ""]],
    ["changes anywhere, if it reads all files", "w:/a/b r:/", ["", "w:/a/b"]],
    ["changes of a file that could be any", "w:* r:/a w:/b", ["", "w:*", "w:*"]],
    ["all file calls and commands, if it runs a command", "r:/a ! !", ["", "r:/a", "r:/a !"]],
    ["commands before it, if it uses a file", "! r:/a w:/b", ["", "!", "!"]],
    ["no call to a server, if it runs a command", "m! ! m!", ["", "", "m!"]],
    ["nothing else", "local local ! local", ["", "", "", ""]],
    ["nothing, if its config says so, and holds up none", "w:/a free w:/a", ["", "", "w:/a"]],
    ["those that want an order, if its config says so", "alone w:/a alone", ["", "", "alone"]],
    ["none that wants none", "free alone free", ["", "", ""]],
  ])("%s: %s", (_, reply, waits) => {
    expect(order(reply)).toEqual(waits);
  });
});

describe("a call uses", () => {
  let root = "";
  beforeEach(() => {
    root = temporaryFolder();
    mkdirSync(path.join(root, "real"));
    symlinkSync("real", path.join(root, "link"));
  });

  /** The use, given the tool's config and the parts that jp knows about it. */
  function use(config: JsonObject, tool: Partial<CallOfTool["tool"]>, args: JsonObject = {}) {
    const settings = settingsOf("x", config);
    const call = { tool: { ...tool, settings } as CallOfTool["tool"], arguments: args };
    return findUse(createPolicy({ root }), call);
  }
  const MCP = { source: "mcp.moon" };
  const BUILTIN = { source: "builtin" };
  const FILE = { argumentKinds: { "/path": "path" } } as const;

  test.each([
    [true, {}, { isReadOnly: true }],
    [false, {}, {}],
    [false, { effect: "edits" }, { isReadOnly: true }],
    [true, { effect: "reads" }, {}],
    [false, {}, { isReadOnly: true, effect: "destroys" }],
  ] as const)("a server, to read: %s", async (isReading, config, tool) => {
    expect(await use({ ...MCP, ...config }, tool)).toEqual({
      type: "server",
      server: "moon",
      isReading,
    });
  });

  test("the files that its arguments name, by real path", async () => {
    const found = await use(BUILTIN, { ...FILE, effect: "edits" }, { path: "link/a" });
    expect(found).toMatchObject({ type: "files", isReading: false });
    const { files = [] } = found.type === "files" ? found : {};
    expect(files).toContain(path.join(root, "real", "a"));
    expect(files.every((file) => path.isAbsolute(file))).toBe(true);
  });

  test("any file, if its arguments name none", async () => {
    expect(await use(BUILTIN, { ...FILE, effect: "reads" })).toEqual({
      type: "files",
      isReading: true,
      files: undefined,
    });
  });

  test("a command line, wherever it runs", async () => {
    const argumentKinds = { "/command": "command", "/folder": "path" } as const;
    expect(await use(BUILTIN, { argumentKinds })).toEqual({ type: "command" });
  });

  test("nothing that others use, if its effect is not known", async () => {
    expect(await use({ source: "local" }, FILE, { path: "a" })).toEqual({ type: "other" });
  });

  test("nothing else, if its config sets `parallel`", async () => {
    expect(await use({ ...MCP, parallel: false }, {})).toEqual({
      type: "configured",
      isParallel: false,
    });
  });
});
