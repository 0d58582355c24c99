/** Programs that the user names without a path, and that the user's PATH leads to in a workspace. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { calling } from "../cli/calling-model.ts";
import { query, queryProject } from "../cli/query-project.ts";
import { Project } from "../cli/support.ts";
import { counters } from "./threats.ts";

/** A user with their own config, whose PATH begins with a folder of the workspace. */
class Found {
  readonly project = new Project();
  readonly bin = path.join(this.project.root, ".venv", "bin");
  readonly ran = path.join(this.project.home, "ran");
  readonly variables: Readonly<Record<string, string>>;

  constructor(config: string) {
    const folder = path.join(this.project.home, "config");
    for (const each of [folder, this.bin]) mkdirSync(each, { recursive: true });
    writeFileSync(path.join(folder, "config.toml"), config);
    this.variables = {
      JP_TRUSTED_WORKSPACES: "",
      JP_GLOBAL_CONFIG_DIR: folder,
      PATH: `${this.bin}:${process.env["PATH"]}`,
      EDITOR: "env LANG=C my-editor --wait",
    };
  }

  place(name: string): this {
    const file = path.join(this.bin, name);
    writeFileSync(file, `#!/bin/sh\necho ${name} >>${this.ran}\n`);
    chmodSync(file, 0o755);
    return this;
  }

  get hasRun(): boolean {
    return existsSync(this.ran);
  }

  jp(...words: readonly string[]) {
    return this.project.jpWith(this.variables, ...words);
  }
}

const SERVER = '[providers.mcp.things]\ncommand = "my-server"\narguments = ["x"]\n';
const NOTIFY = '[notify.command]\nprogram = "my-notifier"\n';

describe("a program that PATH leads to in the workspace", () => {
  test.each([
    ["an MCP server", SERVER, "my-server", ["mcp", "tools"], "of the MCP server things"],
    ["notifications", NOTIFY, "my-notifier", ["notify", "test"], "for notifications"],
  ])("runs only once the user has trusted it: %s", async (_what, config, name, words, told) => {
    counters("T-PROG-9");
    const found = new Found(config).place(name);
    const before = await found.jp(...words);
    expect([found.hasRun, before.stderr]).toEqual([
      false,
      expect.stringContaining(`you have not trusted this workspace: program ${told}. Run`),
    ]);
    expect(await found.jp("trust", "--yes")).toEqual({
      status: 0,
      stdout: `.venv/bin/${name}:\n- program ${told}: your PATH leads from ${name} to this file of the workspace\n`,
      stderr: "Trusted.\n",
    });
    await found.jp(...words);
    expect(found.hasRun).toBe(true);
  });

  test("runs only once the user has trusted it: an editor", async () => {
    counters("T-PROG-9");
    const found = new Found("").place("my-editor");
    const { id } = found.project.place({ second: 0, config: {} });
    const edit = () => found.jp("conversation", "edit", "--metadata", id);
    expect([await edit(), found.hasRun]).toEqual([
      {
        status: 1,
        stdout: "",
        stderr:
          "jp: Your PATH leads from env LANG=C my-editor --wait to .venv/bin/my-editor, a program of this workspace, which you " +
          "have not trusted yet.\nRun `jp trust` to review it. Or name your editor by its whole path.\n",
      },
      false,
    ]);
    expect((await found.jp("trust", "--yes")).stdout).toContain("program that is your editor");
    await edit();
    expect(found.hasRun).toBe(true);
  });

  test("needs new trust for another program, and for another name of it", async () => {
    counters("T-PROG-9");
    const found = new Found(SERVER).place("my-server");
    await found.jp("trust", "--yes");
    found.place("my-editor");
    const { stdout } = await found.jp("trust");
    expect([stdout.includes("my-editor"), stdout.includes("my-server")]).toEqual([true, false]);
  });

  test("is not offered as a server, and neither are the tools of that server", async () => {
    counters("T-PROG-9");
    const config = `${SERVER}[conversation.tools.weather]\nsource = "mcp.things"\nenable = true\n`;
    const found = new Found(config).place("my-server");
    await using server = await calling([]);
    const { project, variables } = found;
    const { status, stderr } = await query(queryProject({ project, server }), ["Go."], {
      variables,
    });
    expect([status, found.hasRun, server.requests.length]).toEqual([0, false, 1]);
    expect(stderr).toContain("program of the MCP server things");
    expect(JSON.stringify(server.requests)).not.toContain("weather");
    expect((await found.jp("mcp", "ls")).stdout).toContain("not trusted");
  });
});

test.each([
  ["without a home", "/nonexistent", true],
  ["with the workspace as the home", undefined, false],
])(
  "a program that PATH leads to in the workspace is asked about: %s",
  async (_how, home, isAsked) => {
    const found = new Found(NOTIFY).place("my-notifier");
    const variables = { ...found.variables, HOME: home ?? found.project.root };
    const { stdout } = await found.project.jpWith(variables, "trust");
    expect(stdout.includes("my-notifier")).toBe(isAsked);
  },
);

test("a program outside of the workspace needs no trust, and neither does one that the user names by its path", async () => {
  const server = '[providers.mcp.one]\ncommand = "sh"\n';
  const found = new Found(`${server}[notify.command]\nprogram = ".venv/bin/my-notifier"\n`);
  found.place("my-notifier");
  await found.jp("notify", "test");
  expect([found.hasRun, (await found.jp("trust")).stderr]).toEqual([
    true,
    "Nothing here needs to be trusted.\n",
  ]);
});
