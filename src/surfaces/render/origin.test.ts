import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import type { ToolOrigin } from "../../record/tool/index.ts";
import { describeOrigin, originLines } from "./origin.ts";

const ORIGINS: readonly (readonly [ToolOrigin, string])[] = [
  [{ type: "builtin" }, "built into jp"],
  [{ type: "builtin", confinement: "none" }, "built into jp, not sandboxed"],
  [{ type: "builtin", confinement: "sandbox" }, "built into jp, in the sandbox"],
  [
    { type: "builtin", confinement: "sandbox", network: true },
    "built into jp, in the sandbox with a network, which reaches programs on this machine too",
  ],
  [
    { type: "builtin", confinement: "sandbox", git: true },
    "built into jp, in the sandbox with write access to .git",
  ],
  [
    { type: "builtin", confinement: "sandbox", network: true, git: true },
    "built into jp, in the sandbox with write access to .git and a network, which reaches programs on this machine too",
  ],
  [{ type: "program" }, "defined by the program that runs jp"],
  [{ type: "local", command: "sh\u00a0x.sh" }, 'local command "sh<U+00A0>x.sh"'],
  [
    { type: "mcp", server: 'a", tool "b', tool: "find", command: "npx docs" },
    String.raw`MCP server "a\", tool \"b" ("npx docs"), tool "find"`,
  ],
];

test.each(ORIGINS)(
  "the origin %j is described, with names that cannot pass for others",
  (origin, said) => {
    expect(describeOrigin(origin)).toBe(said);
  },
);

test("a prompt for a command with a network says that it reaches programs on this machine", () => {
  counters("T-SHELL-2");
  expect(
    originLines({ type: "builtin", confinement: "sandbox", network: true }, { folder: "." })[0],
  ).toContain("reaches programs on this machine");
});

test("a prompt says how a command is confined, and not that jp's other tools are built in", () => {
  expect([
    originLines({ type: "builtin", confinement: "none" }, { folder: "docs" }),
    originLines({ type: "builtin" }),
  ]).toEqual([["Source: built into jp, not sandboxed", 'Folder: "docs"'], []]);
});

test.each<[ToolOrigin, string]>([
  [
    { type: "builtin", confinement: "sandbox", undo: "git" },
    "Can be undone, except for files that Git ignores and nested repositories",
  ],
  [
    { type: "builtin", confinement: "none", undo: "not_git" },
    "Cannot be undone: not in a Git work tree",
  ],
])("a prompt says in one line whether a command can be undone: %j", (origin, said) => {
  expect(originLines(origin, { folder: "." }).slice(2)).toEqual([said]);
});

test("a prompt names the files outside the workspace that a call is about", () => {
  const outside = ["/etc/hosts", "/a\u202e"];
  expect(originLines({ type: "local", command: "convert" }, { outside })).toEqual([
    'Source: local command "convert"',
    'Outside the workspace: "/etc/hosts", "/a<U+202E>"',
  ]);
});
