import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/util/index.ts";
import { useSandbox } from "../shell/support.ts";
import { resultsIn } from "./calling-model.ts";
import { ModelServer } from "./model-server.ts";
import { query, queryProject, recordsOf } from "./query-project.ts";
import { openSession, Screen, shows } from "./screen.ts";
import type { Project } from "./support.ts";

const ASKED = "is off here. What may models do in this folder?";
const DOWN = "\u001b[B";
const EDIT = {
  name: "fs_modify_file",
  arguments: { path: "a.txt", patterns: [{ old: "hello", new: "bye" }] },
};
const READ = { name: "fs_read_file", arguments: { path: "a.txt" } };
const LIST = { name: "fs_list_files", arguments: { path: "." } };

/** A model that makes these calls with every message. */
function model(...calls: readonly { readonly name: string; readonly arguments: JsonObject }[]) {
  return ModelServer.start((body) =>
    body.messages.at(-1)?.role === "tool" ? "Done." : { text: "", calls },
  );
}

/** Undefined if the user has no config for this workspace. */
async function ownConfig(here: Project) {
  if (!existsSync(path.join(here.userFolder, "config.toml"))) return undefined;
  return (await here.jp("config", "get", "conversation.tools.fs.enable")).stdout.trim();
}
const project = (server: ModelServer, config = "") =>
  queryProject({ server, config, files: { "a.txt": "hello\n" } });

function offeredIn({ requests }: ModelServer, index: number): readonly string[] {
  const tools = (requests[index]?.["tools"] ?? []) as { function: { name: string } }[]; // By contract.
  return tools.map((tool) => tool.function.name).filter((name) => name.startsWith("fs_"));
}

describe("a file tool that is off, and that a model calls", () => {
  test("can be turned on by the user, for this call and from then on, without being asked again", async () => {
    await using server = await model(READ, LIST);
    const here = project(server);
    const screen = new Screen(here, ["query", "Go."]);
    await shows(screen, `fs_read_file ${ASKED}`);
    screen.type(DOWN);
    screen.type("\r");
    const { status, lines } = await screen.end();
    const results = resultsIn(server);
    await query(here, ["-n", "Again."]);
    const file = path.join(here.userFolder, "config.toml");
    expect({
      status,
      results,
      own: await ownConfig(here),
      isSaid: lines.join("").replaceAll(/\s/g, "").includes(`"read"in${file}`),
      later: offeredIn(server, 2),
      remembered: JSON.stringify(recordsOf(here)[0]?.entries).includes("fs_grep_files"),
    }).toEqual({
      status: 0,
      results: [expect.stringContaining("hello"), expect.stringContaining("a.txt")],
      own: "read",
      isSaid: true,
      later: ["fs_read_file", "fs_list_files", "fs_grep_files"],
      remembered: true,
    });
  });

  test("stays off with Enter alone, and a session does not ask again", async () => {
    await using server = await model(READ);
    const here = project(server);
    const screen = await openSession(here);
    screen.type("one\r");
    await shows(screen, ASKED);
    screen.type("\r");
    await shows(screen, /Done\.\n(.*\n)*> ?$/m);
    screen.type("two\r");
    await shows(screen, /two\n(.*\n)*Done\.\n(.*\n)*> ?$/m);
    screen.type("\u0004");
    await screen.end();
    expect([resultsIn(server)[1], await ownConfig(here)]).toEqual([
      expect.stringContaining("is not available"),
      undefined,
    ]);
  });

  test("can be one that changes files, if models may only read so far; each change is still asked about", async () => {
    await using server = await model(EDIT);
    const here = project(server, 'conversation.tools.fs.enable = "read"');
    const screen = new Screen(here, ["query", "Go."]);
    await shows(screen, `fs_modify_file ${ASKED}`);
    screen.type(DOWN);
    screen.type("\r");
    await shows(screen, "Apply these changes");
    screen.type("n\r");
    await screen.end();
    expect([readFileSync(path.join(here.root, "a.txt"), "utf8"), await ownConfig(here)]).toEqual([
      "hello\n",
      '{"state":true,"allow_toggle":"any"}',
    ]);
  });

  test.each([
    ["the config says no", "conversation.tools.fs.enable = false", []],
    ["-T names it", "", ["-T", "fs_read_file"]],
    ["-T names its group", "", ["-T", "fs"]],
    ["no one may be asked", "", ["--non-interactive"]],
  ])("stays off without a question if %s", async (_, config, flags) => {
    await using server = await model(READ);
    const here = project(server, config);
    const { bytes } = await new Screen(here, ["query", ...flags, "Go."]).end();
    expect([bytes.includes("is off here"), resultsIn(server)]).toEqual([
      false,
      [expect.stringContaining("is not available")],
    ]);
  });
});

describe("shell_run, where there is a sandbox", () => {
  useSandbox();

  test("can be turned on when a model calls it, and then runs as the user has chosen", async () => {
    await using server = await model({ name: "shell_run", arguments: { command: "cat a.txt" } });
    const here = project(server, 'conversation.tools.fs.enable = "read"');
    const screen = new Screen(here, ["query", "Go."]);
    await shows(screen, `shell_run ${ASKED}`);
    screen.type(`${DOWN}${DOWN}\r`);
    const bytes = stripVTControlCharacters((await screen.end()).bytes);
    expect({
      isFirst: /leave it off[^]*run commands - [^]*without asking/.test(bytes),
      isReadOffered: bytes.includes("read files"),
      results: resultsIn(server),
      mode: (await here.jp("config", "get", "conversation.mode")).stdout,
    }).toEqual({
      isFirst: true,
      isReadOffered: false,
      results: [expect.stringContaining("hello")],
      mode: "sandbox\n",
    });
  });
});

test("/new keeps the tools that are on in the session, and in its conversation", async () => {
  await using server = await ModelServer.start(() => "Done.");
  const here = project(server);
  await query(here, ["-t", "fs_read_file", "Hi."], { variables: { JP_SESSION: "s" } });
  const screen = await openSession(here);
  for (const [typed, shown] of [
    ["/tools on fs_list_files\r", "is on"],
    ["/new\r", "new conversation."],
    ["Hello.\r", /Hello\.\n(.*\n)*Done\.\n(.*\n)*> ?$/m],
    ["/new\r", /Done\.(.*\n)*.*new conversation\./],
    ["Once more.\r", /Once more\.\n(.*\n)*Done\.\n(.*\n)*> ?$/m],
  ] as const) {
    screen.type(typed);
    await shows(screen, shown);
  }
  screen.type("\u0004");
  await screen.end();
  const on = ["fs_read_file", "fs_list_files"];
  expect([offeredIn(server, 1), offeredIn(server, 2), recordsOf(here).length]).toEqual([on, on, 3]);
});
