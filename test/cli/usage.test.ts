import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { renderCommands } from "../support/command-reference.ts";
import { placeRelease } from "./samples.ts";
import { lines, printed, Project } from "./support.ts";

const PACKAGE = path.join(import.meta.dirname, "..", "..", "package.json");

describe("the version", () => {
  test.each([["--version"], ["-V"]])("is printed by %s", async (flag) => {
    const project = new Project({ isBare: true });
    const { version } = JSON.parse(readFileSync(PACKAGE, "utf8")) as { version: string };
    expect(await project.jpProcess(flag)).toEqual({
      status: 0,
      // The commit is unknown outside of a clone. The plus is for changes since.
      stdout: expect.stringMatching(
        new RegExp(`^jp ${version}(?: \\([0-9a-f]{7,}\\+?\\))?\n$`),
      ) as unknown,
      stderr: "",
    });
  });
});

describe("help", () => {
  test("fits 80 columns for every command", async () => {
    const [, , , ...shown] = (await renderCommands()).split("\n");
    expect(shown.filter((line) => line.length > 80)).toEqual([]);
  });

  test.each([
    ["foo --help", "foo"],
    ["-h foo", "foo"],
    ["help foo", "foo"],
    ["conversation foo --help", "conversation foo"],
    ["conversation --help foo", "conversation foo"],
    ["serve foo --help", "serve foo"],
    ["serve people foo -h", "serve people foo"],
  ])("of an unknown command is the error that it is without it: %s", async (asking, plain) => {
    const project = new Project({ isBare: true });
    const error = await project.jp(...plain.split(" "));
    expect(error).toMatchObject({ status: 2, stdout: "" });
    expect(await project.jp(...asking.split(" "))).toEqual(error);
  });

  test.each(["conversation ls --help", "help conversation", "c -h", "--width 60 serve --help"])(
    "of a known command is printed: %s",
    async (words) => {
      const project = new Project({ isBare: true });
      const { status, stdout } = await project.jp(...words.split(" "));
      expect([status, stdout]).toEqual([
        0,
        expect.stringMatching(/^Usage: jp (conversation|serve)/),
      ]);
    },
  );

  test("lists every command on stdout", async () => {
    const project = new Project({ isBare: true });
    expect(await project.jp("--help")).toEqual(
      printed(
        lines(
          "Usage: jp [options] [command]",
          "",
          "An assistant that asks. Tools and the model can ask you typed questions in the",
          "middle of a turn. jp routes each question by policy, and records who asked and",
          "who answered.",
          "",
          "Options:",
          "  -V, --version           Print the version",
          "  -w, --workspace <path>  Use the workspace at or above this path",
          "  --store <address>       Where conversations are kept: files, or postgres://…",
          "  --width <columns>       Wrap and truncate lines at this width",
          '  --mode <mode>           What runs without asking (choices: "ask", "edits",',
          '                          "plan", "sandbox")',
          "  -h, --help              Show help",
          "",
          "Commands:",
          "  init                    Create a workspace in a folder",
          "  query|q                 Ask the assistant",
          "  resume                  Continue an earlier conversation in a session",
          "  conversation|c          List, read, search and manage conversations",
          "  undo                    Undo the file changes of the last turn",
          "  diff                    Show what a conversation has changed in files",
          "  inquiry                 List, inspect and answer questions",
          "  evidence                Export decisions as evidence, and verify it",
          "  attachment|a            Attach files, pages and command output",
          "  serve                   Answer from a browser or a phone",
          "  worker                  Run the turns of a database, wherever they were left",
          "  store                   Keep conversations in a database",
          "  usage                   Show token usage and costs",
          "  tool                    List, inspect and run tools",
          "  permissions             List, remove and propose saved permissions",
          "  mcp                     Manage MCP servers, and serve jp over MCP",
          "  model                   List available models",
          "  config                  Show and change the configuration",
          "  notify                  Test notifications",
          "  trust                   Review and trust what this workspace would run",
          "  doctor                  Check your setup and suggest fixes",
          "  completion              Print a shell completion script",
          "  demo                    Take a guided tour in a temporary workspace",
          "  help [command]          Show help for a command",
          "",
          "Without a command, jp opens an interactive session on a terminal.",
          "",
          "Exit status:",
          "  0    success",
          "  1    an error; also if nothing was found, or you said no",
          "  2    invalid usage",
          "  3    finished, but jp denied something because it could not ask you",
          "  4    waiting for an answer; see jp inquiry ls --pending",
          "  130  interrupted",
        ),
      ),
    );
  });

  test.each([[["conversation", "--help"]], [["c", "-h"]], [["help", "conversation"]]])(
    "for conversations is printed by %j",
    async (words) => {
      const project = new Project({ isBare: true });
      const { status, stdout, stderr } = await project.jp(...words);
      const commands = stdout.slice(stdout.indexOf("Commands:")).match(/^ {2}\w+/gm);
      expect({ status, stderr, commands: commands?.map((name) => name.trim()) }).toEqual({
        status: 0,
        stderr: "",
        commands: [
          "ls",
          "show",
          "print",
          "path",
          "file",
          "grep",
          "use",
          "fork",
          "compact",
          "rm",
          "edit",
          "archive",
          "unarchive",
          "label",
          "verify",
          "help",
        ],
      });
    },
  );

  test("of every command that takes a target explains targets", async () => {
    const project = new Project({ isBare: true });
    const names = ["show", "print", "path", "use", "fork", "rm", "edit", "archive", "unarchive"];
    const helps = await Promise.all(
      names.map((name) => project.jp("conversation", name, "--help")),
    );
    const explained = lines(
      "",
      "A target is an ID (jp-c17457886043, or only its digits), part of a title that",
      "matches one conversation, or a keyword:",
    );
    expect(helps.map(({ stdout }) => stdout.includes(explained))).toEqual(names.map(() => true));
  });

  test.each([[[]], [["conversation"]], [["inquiry"]]])(
    "is printed on stderr, as a usage error, without a command: %j",
    async (words) => {
      const project = new Project({ isBare: true });
      const [bare, asked] = await Promise.all([
        project.jp(...words),
        project.jp(...words, "--help"),
      ]);
      expect(bare).toEqual({ status: 2, stdout: "", stderr: asked.stdout });
    },
  );
});

describe("a usage error", () => {
  const WRONG: readonly (readonly [words: readonly string[], message: string, help: string])[] = [
    [["converzation"], "unknown command 'converzation'\n(Did you mean conversation?)", "jp"],
    [["c", "lst"], "unknown command 'lst'\n(Did you mean ls?)", "jp conversation"],
    [["inquiry", "lss"], "unknown command 'lss'\n(Did you mean ls?)", "jp inquiry"],
    [
      ["conversation", "ls", "--limt", "3"],
      "unknown option '--limt'\n(Did you mean --limit?)",
      "jp conversation ls",
    ],
    [["c", "grep"], "missing required argument 'pattern'", "jp conversation grep"],
    [["c", "unarchive"], "missing required argument 'target'", "jp conversation unarchive"],
    [["inquiry", "show"], "missing required argument 'id'", "jp inquiry show"],
    [
      ["conversation", "ls", "--format", "xml"],
      "option '-F, --format <format>' argument 'xml' is invalid. Allowed choices are text, json.",
      "jp conversation ls",
    ],
    [
      ["conversation", "ls", "--limit", "some"],
      "option '-n, --limit <count>' argument 'some' is invalid. Expected a whole number.",
      "jp conversation ls",
    ],
    [
      ["--width", "5", "conversation", "ls"],
      "option '--width <columns>' argument '5' is invalid. Expected a whole number of columns, 20 or more.",
      "jp",
    ],
    [
      ["conversation", "ls", "extra"],
      "too many arguments for 'ls'. Expected 0 arguments but got 1: extra.",
      "jp conversation ls",
    ],
  ];

  test("is told from other errors in the built command too", async () => {
    const { status, stderr } = await new Project().jpProcess("conversation", "ls", "--limit", "x");
    expect([status, stderr.split("\n").length]).toEqual([2, 3]);
  });

  test("exits with status 2, a message, and the command that prints the help", async () => {
    const project = new Project();
    const finished = await Promise.all(WRONG.map(([words]) => project.jp(...words)));
    expect(
      finished.map(({ stderr, ...rest }) => ({
        ...rest,
        stderr: stderr.replace(/^(jp|error): /, ""),
      })),
    ).toEqual(
      WRONG.map(([, message, help]) => ({
        status: 2,
        stdout: "",
        stderr: lines(message, `For usage: ${help} --help`),
      })),
    );
  });

  test("has its status in the built command too, and help succeeds", async () => {
    const project = new Project();
    const [wrong, help] = await Promise.all([
      project.jpProcess("conversation", "ls", "--unheard-of"),
      project.jpProcess("query", "--help"),
    ]);
    expect([wrong.status, wrong.stderr.split("\n").slice(1)]).toEqual([
      2,
      ["For usage: jp conversation ls --help", ""],
    ]);
    expect([help.status, help.stderr]).toEqual([0, ""]);
  });

  test("looks the same from the argument parser and from commands", async () => {
    const project = new Project();
    const [parser, command] = await Promise.all([
      project.jp("conversation", "ls", "--unheard-of"),
      project.jp("conversation", "grep", "--regex", "["),
    ]);
    const [first, second] = [parser, command].map(({ stderr }) => /^\w+: /.exec(stderr)?.[0]);
    expect(first).toBe(second);
  });
});

describe("an error", () => {
  test("is printed without a stack trace unless JP_DEBUG is 1", async () => {
    const project = new Project();
    const words = ["conversation", "show", "nothing"];
    const [usual, debug] = await Promise.all([
      project.jp(...words),
      project.jpWith({ JP_DEBUG: "1" }, ...words),
    ]);
    expect({
      usual,
      begin: debug.stderr.slice(0, usual.stderr.length),
      hasStack: /\n {4}at /.test(debug.stderr),
      status: debug.status,
    }).toEqual({
      usual: {
        status: 1,
        stdout: "",
        stderr: lines(
          'jp: No conversation has "nothing" in its title.',
          "`jp conversation ls` lists them; add --archived for archived ones.",
        ),
      },
      begin: usual.stderr,
      hasStack: true,
      status: 1,
    });
  });

  test("in a folder that does not exist says so", async () => {
    const project = new Project({ isBare: true });
    const commands = [
      ["conversation", "ls"],
      ["conversation", "print"],
      ["inquiry", "ls"],
      ["conversation", "rm", "--yes"],
    ];
    expect(await Promise.all(commands.map((words) => project.jp("-w", "gone", ...words)))).toEqual(
      commands.map(() => ({
        status: 1,
        stdout: "",
        stderr: lines(
          `jp: There is no folder ${path.join(project.root, "gone")}.`,
          "Select an existing one with --workspace.",
        ),
      })),
    );
  });
});

describe("the workspace", () => {
  test("is found from any folder inside it, or with --workspace", async () => {
    const project = new Project();
    const { id } = placeRelease(project);
    const inside = path.join(project.root, "src", "deep");
    mkdirSync(inside, { recursive: true });
    const elsewhere = new Project({ isBare: true });
    const [above, named] = await Promise.all([
      project.jp("--workspace", inside, "conversation", "grep", "--ids", "bump"),
      elsewhere.jp("-w", project.root, "conversation", "grep", "--ids", "bump"),
    ]);
    expect([above, named]).toEqual([printed(lines(id)), printed(lines(id))]);
  });
});
