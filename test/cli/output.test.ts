import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { createContext } from "../../src/cli/context.ts";
import { Collected, createHost } from "../support/command-host.ts";
import { message, request } from "./records.ts";
import { placeLegacy, placeRelease } from "./samples.ts";
import { Screen, ScreenProcess, show } from "./screen.ts";
import { JP, Project } from "./support.ts";

const FULL = 'exec "$0" "$@" > /dev/full';
const GONE = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"';
const READ_ONLY = `exec unshare --map-root-user --mount sh -c '
  mount --bind . . && mount -o remount,bind,ro . && cd "$PWD" && exec "$0" "$@"' "$0" "$@"`;
const canMount = spawnSync("sh", ["-c", READ_ONLY, "true"], { cwd: tmpdir() }).status === 0;

const READERS = [
  ["conversation", "ls"],
  ["conversation", "show", "release"],
  ["conversation", "print", "release"],
  ["conversation", "grep", "version"],
  ["inquiry", "ls"],
  ["inquiry", "show", "call_2.otp.1"],
];

describe("the output of every reading command", () => {
  test("is plain in a pipe", async () => {
    const project = new Project();
    placeRelease(project);
    const outputs = await Promise.all(READERS.map((words) => project.jp(...words)));
    expect(outputs.map(({ stdout }) => stdout.includes("\x1b"))).toEqual(READERS.map(() => false));
  });

  test("has colors on a terminal and is otherwise the same", async () => {
    const project = new Project();
    placeRelease(project);
    const words = READERS.filter((reader) => !reader.includes("grep"));
    const screens = await Promise.all(words.map((reader) => show(project, reader)));
    const pipes = await Promise.all(words.map((reader) => project.jp(...reader)));
    expect(screens.map(({ bytes }) => /\x1b\[[0-9;]+m/.test(bytes))).toEqual(words.map(() => true));
    expect(
      screens.map(({ bytes }) => bytes.replaceAll(/\x1b\[[0-9;]+m/g, "").replaceAll("\r\n", "\n")),
    ).toEqual(pipes.map(({ stdout }) => stdout));
  });

  test("has no colors on a terminal with NO_COLOR", async () => {
    const project = new Project();
    placeRelease(project);
    const screens = await Promise.all(
      READERS.map((words) => show(project, words, { variables: { NO_COLOR: "1" } })),
    );
    expect(screens.map(({ bytes }) => bytes.includes("\x1b"))).toEqual(READERS.map(() => false));
  });

  test("has colors in a pipe with FORCE_COLOR", async () => {
    const project = new Project();
    placeRelease(project);
    // Piped search output is for programs.
    const words = READERS.filter((reader) => !reader.includes("grep"));
    const outputs = await Promise.all(
      words.map((reader) => project.jpProcessWith({ FORCE_COLOR: "1" }, ...reader)),
    );
    expect(outputs.map(({ stdout }) => stdout.includes("\x1b["))).toEqual(words.map(() => true));
  });
});

describe("a list on a screen", () => {
  const titles = [
    "a title that is far too long for any screen that is as narrow as this one is",
    "日本語の長い題名は狭い画面には収まらないので切られる",
    "short",
  ];

  function placeTitles(project: Project): string[] {
    return titles.map(
      (title, index) =>
        project.place({ second: index, title, config: {}, events: [request(index, "Hi.")] }).id,
    );
  }

  test("is truncated at the screen's width and stays aligned", async () => {
    const project = new Project();
    const [first, second, third] = placeTitles(project);
    const { lines } = await show(project, ["conversation", "ls"], { columns: 50 });
    expect(lines).toEqual([
      "  ID               ACTIVITY    TITLE",
      `  ${first}  2 days ago  a title that is fa…`,
      `  ${second}  2 days ago  日本語の長い題名は…`,
      `  ${third}  2 days ago  short`,
    ]);
  });

  test("has one line per entry on a very narrow screen", async () => {
    const project = new Project();
    placeTitles(project);
    const { lines } = await show(project, ["conversation", "ls"], { columns: 40 });
    expect(lines.map((line) => line.slice(19))).toEqual([
      "TITLE",
      "a title that is far …",
      "日本語の長い題名は狭…",
      "short",
    ]);
  });

  test("has the width given with --width", async () => {
    const project = new Project();
    const [first] = placeTitles(project);
    const words = ["--width", "50", "conversation", "ls"];
    const line = `  ${first}  2 days ago  a title that is fa…`;
    const [screen, pipe] = await Promise.all([
      show(project, words, { columns: 100 }),
      project.jp(...words),
    ]);
    expect([screen.lines[1], pipe.stdout.split("\n")[1]]).toEqual([line, line]);
  });

  test("of questions has one line per question, whatever its length", async () => {
    const project = new Project();
    placeLegacy(project);
    const { lines } = await show(project, ["inquiry", "ls"], { columns: 60 });
    expect(lines.filter((line) => line.startsWith("  turn"))).toEqual(
      [1, 2, 3].map(() => "  turn 1  fs_modify_file: Do you want to apply the followin…"),
    );
  });
});

test("help and errors about options are wrapped at words on a narrow screen", async () => {
  const project = new Project();
  const commands = [
    ["usage", "--help"],
    ["resume", "--help"],
    ["query", "--fork", "why?"],
  ];
  const screens = await Promise.all(commands.map((words) => show(project, words, { columns: 60 })));
  const lines = screens.flatMap(({ bytes }) => bytes.replaceAll("\r", "").split("\n"));
  expect(lines.filter((line) => line.length > 60)).toEqual([]);
});

test("a search on a screen has headings and highlights matches", async () => {
  const project = new Project();
  const { id } = placeRelease(project);
  const { status, bytes, lines } = await show(project, ["conversation", "grep", "version"]);
  expect({ status, lines, marked: bytes.match(/\x1b\[1m\x1b\[31m\w+\x1b\[39m\x1b\[22m/g) }).toEqual(
    {
      status: 0,
      lines: [
        `${id}  Release 1.2`,
        "  1:user  Bump the version.",
        "  1:assistant  The version is 1.2.0.",
      ],
      marked: ["\x1b[1m\x1b[31mversion\x1b[39m\x1b[22m", "\x1b[1m\x1b[31mversion\x1b[39m\x1b[22m"],
    },
  );
});

describe("removing a conversation on a terminal", () => {
  test.each([["y\r"], ["YES\r"]])("deletes it after %j", async (keys) => {
    const { id, status, lines, isThere } = await answerWith(new Project(), keys);
    expect({ status, lines, isThere }).toEqual({
      status: 0,
      lines: [`Delete ${id} (Release 1.2) permanently? [y/N] ${keys.trim()}`, `Deleted ${id}.`],
      isThere: false,
    });
  });

  test.each([["n\r"], ["\r"], ["yellow\r"]])("keeps it after %j", async (keys) => {
    const { id, status, lines, isThere } = await answerWith(new Project(), keys);
    expect({ status, lines, isThere }).toEqual({
      status: 1,
      lines: [
        `Delete ${id} (Release 1.2) permanently? [y/N] ${keys.trim()}`.trimEnd(),
        `Kept ${id}.`,
      ],
      isThere: true,
    });
  });

  test("keeps it if interrupted, with status 130", async () => {
    const { status, isThere, lines } = await answerWith(new Project(), "\x03");
    expect({ status, isThere, isOurs: !lines.join("").includes("unexpected") }).toEqual({
      status: 130,
      isThere: true,
      isOurs: true,
    });
  });

  test("keeps it at the end of input, and fails", async () => {
    const { status, isThere, lines } = await answerWith(new Project(), "\x04");
    expect({ status, isThere, isOurs: !lines.join("").includes("unexpected") }).toEqual({
      status: 1,
      isThere: true,
      isOurs: true,
    });
  });
});

test("an editor gets the terminal", async () => {
  const project = new Project();
  const { id } = placeRelease(project);
  const variables = project.editor('test -t 0 && test -t 1 && sed -i s/Bump/Raise/ "$1"');
  const { status } = await new ScreenProcess(project, ["conversation", "edit", id], {
    variables,
  }).end();
  const { stdout } = await project.jp("conversation", "print", id, "--turn", "1");
  expect({ status, isChanged: stdout.includes("Raise the version.") }).toEqual({
    status: 0,
    isChanged: true,
  });
});

describe("a reader that closes the pipe", () => {
  test.each([
    ["EPIPE", 0],
    ["ECONNRESET", 0],
    ["EIO", 1],
  ])("ends the command with the status of its error: %s", async (code, expected) => {
    const { promise: status, resolve: exit } = Promise.withResolvers<number>();
    const stdout = new Collected();
    await createContext({ ...createHost({}, { stdout }), exit }, {});
    stdout.destroy(Object.assign(new Error("write failed"), { code }));
    expect(await status).toBe(expected);
  });

  test.each([
    ["print", ["conversation", "print"]],
    ["print as JSON", ["conversation", "print", "--format", "json"]],
    ["grep", ["conversation", "grep", "line"]],
  ])("ends %s quietly", async (_name, words) => {
    const project = new Project();
    const events = Array.from({ length: 5000 }, (_, index) => message(index, `line ${index}`));
    project.activate(project.place({ second: 0, config: {}, events }));
    expect(await closeAfterFirstLines(project, words)).toEqual({ status: 0, errors: "" });
  });

  test.each([
    ["help", ["--help"]],
    ["the version", ["--version"]],
    ["a list", ["conversation", "ls"]],
  ])("before the start ends %s quietly", async (_name, words) => {
    const project = new Project();
    placeRelease(project);
    expect(await closeAtOnce(project, words)).toEqual({ status: 0, errors: "" });
  });
});

describe.runIf(existsSync("/dev/full"))("the built command says", () => {
  test.each([
    ["that the disk is full", FULL, "jp: Cannot write the output: the disk is full.\n"],
    [
      "that its folder is gone",
      GONE,
      "jp: The current folder no longer exists.\nChange to another one and try again.\n",
    ],
  ])("%s", async (_what, script, errors) => {
    const project = new Project();
    placeRelease(project);
    const words = ["conversation", "ls"];
    expect(await runInShell(project, script, words)).toEqual({ status: 1, errors });
  });

  test.runIf(canMount)("that the file system is read-only", async () => {
    const project = new Project();
    placeRelease(project);
    const { errors } = await runInShell(project, READ_ONLY, ["conversation", "fork", "release"]);
    expect(errors).toMatch(/^jp: Cannot write \S+: the file system is read-only\.\n/);
  });
});

async function runInShell(project: Project, script: string, words: readonly string[]) {
  const { root: cwd, variables: env } = project;
  const stdio = ["ignore", "ignore", "pipe"] as const;
  const all = ["-c", script, process.execPath, JP, ...words];
  const child = spawn("sh", all, { cwd, env, stdio: [...stdio] });
  const ended = once(child, "close") as Promise<[number | null]>;
  const [errors, [status]] = await Promise.all([text(child.stderr), ended]);
  return { status, errors };
}

function closeAfterFirstLines(project: Project, words: readonly string[]) {
  return runWith(project, words, (stdout) => stdout.once("data", () => stdout.destroy()));
}

function closeAtOnce(project: Project, words: readonly string[]) {
  return runWith(project, words, (stdout) => stdout.destroy());
}

async function runWith(
  project: Project,
  words: readonly string[],
  read: (stdout: Readable) => void,
) {
  const { root: cwd, variables: env } = project;
  const stdio = ["ignore", "pipe", "pipe"] as const;
  const child = spawn(process.execPath, [JP, ...words], { cwd, env, stdio: [...stdio] });
  read(child.stdout);
  const [errors, [status]] = await Promise.all([
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { status, errors };
}

/** Types an answer to the question whether to delete. */
async function answerWith(project: Project, keys: string) {
  const { id } = placeRelease(project);
  const screen = new Screen(project, ["conversation", "rm", id]);
  await screen.until("[y/N] ");
  screen.type(keys);
  const { status, lines } = await screen.end();
  const { stdout } = await project.jp("conversation", "ls", "--format", "json");
  return { id, status, lines, isThere: stdout !== "" };
}
