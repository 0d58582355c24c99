import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { findSandboxProblem } from "../../src/reach/shell/index.ts";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { runCommand } from "../support/command-host.ts";
import { Screen, ScreenProcess } from "./screen.ts";
import { Project } from "./support.ts";

const isSandboxed = (await findSandboxProblem()) === undefined;

describe("the tour", () => {
  test("without a terminal takes its answers from a file and touches nothing of the user's", async () => {
    const project = new Project({ isBare: true });
    const { status, stdout } = await project.jp("demo");
    const touched = snapshotOf(project.root, project.data, project.home).map(({ name }) => name);
    expect({
      status,
      isTold: /^No terminal is available: the answers come from \S+answers\.json$/m.test(stdout),
      ends: stdout.match(/(?<=^ {4})\S+ \([^)]*\)(?=, )/gm),
      touched,
    }).toEqual({
      status: 0,
      isTold: true,
      ends: [
        "yes (you, via file)",
        "approved (you, via file)",
        "yes (policy: mode.edits)",
        ...(isSandboxed ? [] : ["approved (you, via file)"]),
        "yes (you, via file)",
        "yes (you said so earlier in this turn)",
        "yes (you said so earlier in this turn)",
        '"mail" (you, via file)',
        "<redacted> (you, via file)",
        "yes (you, via cli)",
      ],
      touched: [project.root, project.home],
    });
    const [, root = ""] = /^Read it: +jp --workspace (\S+) /m.exec(stdout) ?? [];
    const look = await project.jp("--workspace", root, "conversation", "show", "newest");
    expect(look.stdout).toContain("Questions   7 answered, 1 redacted\n");
  });

  test.each([
    ["Esc", "\u001b"],
    ["Ctrl-C", "\u0003"],
  ])("ends with its record after %s at a question", async (_name, key) => {
    const screen = new Screen(new Project({ isBare: true }), ["demo"], { columns: 40 });
    await screen.answer(
      ["> Does the README", "\r"],
      ["Apply these", "y"],
      ["> Raise the version", "\u0003/skip\r"],
      ["> Deploy it everywhere.", "\r"],
      ["Deploy to Frankfurt?", key],
    );
    const { status, lines } = await screen.end();
    const record = lines.slice(lines.indexOf("$ jp inquiry ls") + 2);
    expect({
      status,
      asked: lines.filter((line) => line.startsWith("✖")),
      calls: lines.filter((line) => line.startsWith("○")),
      isEnded: lines.includes("The tour ends here."),
      record: record.slice(0, record.indexOf("")),
    }).toEqual({
      status: 0,
      asked: ["✖ Deploy to Frankfurt? cancelled"],
      calls: ["Frankfurt", "Oslo", "Lisbon"].map((name) => `○ deploy(region: "${name}") cancelled`),
      isEnded: true,
      record: [
        "  turn 1  fs_modify_file:",
        "    Apply these changes to README.md?",
        "    yes (you, via terminal), just now",
        "    call_4.apply_changes.1",
        ...["Frankfurt", "Oslo", "Lisbon"].flatMap((name, index) => [
          `  turn 2  deploy: Deploy to ${name}?`,
          "    cancelled (user), just now",
          `    call_${index + 1}.sure.1`,
        ]),
      ],
    });
  });

  test("shows a session that reads files, and asks about its edit as jp does", async () => {
    const screen = new Screen(new Project({ isBare: true }), ["demo"]);
    await screen.answer(
      ["> Does the README", "\r"],
      ["Apply these changes", "y"],
      ["> Raise the version", "\u0003\u0004"],
    );
    const { lines } = await screen.end();
    const file = path.join(/--workspace (\S+)/.exec(lines.join(""))?.[1] ?? "", "README.md");
    const calls = lines.flatMap((line) => /^[✓•] (fs_list_files|\w+ \S+)/.exec(line)?.[1] ?? []);
    expect({
      calls,
      isRaw: lines.join("").includes("patterns"),
      text: readFileSync(file, "utf8").split("\n").at(-2),
    }).toEqual({
      calls: ["fs_list_files", "Read README.md", "Read package.json", "Edit README.md"],
      isRaw: false,
      text: "The forecast for tomorrow. This is version 1.2.0.",
    });
  });

  test.runIf(isSandboxed)(
    "saves a rule for a command, changes a file in a mode, and undoes that",
    async () => {
      const screen = new Screen(new Project({ isBare: true }), ["demo"]);
      await screen.answer(
        ["> Does the README", "\u0003/skip\r"],
        ["> Raise the version", "\r"],
        ["s always…", "s"],
        ["❯ 1: the command sh check.sh", "6"],
        ["❯ 6: always, until you remove it", "\r"],
        ["> Deploy it everywhere.", "\u0003\u0004"],
      );
      const { lines } = await screen.end();
      const file = path.join(/--workspace (\S+)/.exec(lines.join(""))?.[1] ?? "", "package.json");
      expect({
        calls: lines
          .filter((line) => line.startsWith("✓ "))
          .map((line) => line.replace(/ [\d.]+s$/, "")),
        versions: lines.flatMap((line) => /^ {2}│ +"version": "(.*)"/.exec(line)?.[1] ?? []),
        saved: lines.filter((line) => line.includes("always  just now")).length,
        isUndone: lines.includes("Restored 1 file."),
        text: JSON.parse(readFileSync(file, "utf8")) as unknown,
      }).toEqual({
        calls: [
          'shell_run(command: "sh check.sh")',
          "Edit package.json +1 −1",
          'shell_run(command: "sh check.sh")',
        ].map((call) => `✓ ${call}`),
        versions: ["1.2.0", "1.3.0"],
        saved: 1,
        isUndone: true,
        text: { name: "weather", version: "1.2.0" },
      });
    },
  );

  test("waits for the user at each step, and skips one only if they say so", async () => {
    const screen = new Screen(new Project({ isBare: true }), ["demo"]);
    await screen.answer(
      ["> Does the README", "\u0003/sk"],
      ["❯ /skip  Go to the next step", "\r"],
      ["> Raise the version", "\u0003/skip\r"],
      ["> Deploy it everywhere.", "\u0003/skip\r"],
      ["> Announce it.", "\u0003/skip\r"],
      ["> Sign the release.", "\u0003/skip\r"],
      ["> Publish it tonight.", "\u0003/skip\r"],
      ["> Upload the pictures.", "\u0003/quit\r"],
    );
    const { status, lines } = await screen.end();
    expect([
      status,
      lines.includes("The tour ends here."),
      lines.some((line) => line.startsWith("No questions")),
    ]).toEqual([0, true, true]);
  });

  test("does not end by itself while a tool of it runs", async () => {
    const variables = { TERM: "xterm" };
    const screen = new ScreenProcess(new Project({ isBare: true }), ["demo"], { variables });
    for (const shown of [
      "Does the",
      "Raise the",
      "Deploy it",
      "Announce it",
      "Sign the",
      "Publish it",
    ]) {
      await screen.answer([`> ${shown}`, "\u0003"], ["Cleared.", "/skip\r"]);
    }
    await screen.answer(["> Upload the", "\r"], [" upload 1.", "\u0003"]);
    const { status, lines } = await screen.end();
    expect([status, lines.includes("The interrupted call is on record.")]).toEqual([0, true]);
  });

  test("asks on a terminal, keeps a secret, and shows its record", async () => {
    const screen = await reachJob();
    screen.type("y");
    await screen.answer(["> Upload the pictures.", "\r"], [" upload 0.", "\u0003"]);
    const { status, bytes, lines } = await screen.end();
    expect({
      status,
      isSecretShown: bytes.includes("hunter2"),
      isSigned: bytes.includes("signed, with a passphrase of 7 characters"),
      interrupted: lines.filter((line) => /^○ upload\(\)|^The interrupted call/.test(line)),
      record: lines.find((line) => line.startsWith("Stored in "))?.includes(path.sep),
    }).toEqual({
      status: 0,
      isSecretShown: false,
      isSigned: true,
      interrupted: ["○ upload() stopped", "The interrupted call is on record."],
      record: true,
    });
  });

  test("leaves a question of a job, and continues the turn with an answer from elsewhere", async () => {
    const screen = await reachJob();
    screen.type("y");
    await screen.answer(["> Upload the pictures.", "\r"], [" upload 0.", "\u0003"]);
    const { lines } = await screen.end();
    const start = lines.findIndex((line) => line.startsWith("$ jp query --defer"));
    const end = lines.findIndex((line) => line.startsWith("7. "));
    const shown = lines.slice(start, end).map((line) => line.replace(/[\d.]+s$|\d{11}/, "…"));
    expect(shown).toEqual([
      '$ jp query --defer "Publish it tonight."',
      "✓ run_tests() …",
      'Waiting: publish asks "Publish weather 1.2.0?"',
      "    Source: defined by the program that runs jp",
      "  jp inquiry answer call_2.publish.1",
      "The job ends with status 4. Later, on another terminal, you answer its question,",
      "and the turn continues where it stopped: run_tests does not run again.",
      "",
      "$ jp inquiry ls --pending",
      'publish asks "Publish weather 1.2.0?"',
      "    Source: defined by the program that runs jp",
      "    jp-c…/call_2.publish.1, just now",
      "",
      "$ jp inquiry answer call_2.publish.1 --continue",
      "✔ Publish weather 1.2.0? yes",
      "Answered call_2.publish.1: yes.",
      "✓ publish() …",
      "The tool says: published weather 1.2.0",
      "",
    ]);
    expect(publishedIn(lines)).toEqual(["    yes (you, via cli), just now  call_2.publish.1"]);
  });

  test.each([
    ["is left for later", "l", "pending"],
    ["is cancelled", "c", "cancelled (user)"],
  ])("ends if the question of the job %s", async (_name, key, outcome) => {
    const screen = await reachJob();
    screen.type("\u0003");
    await screen.answer(["Leave this for later", key]);
    const { status, lines } = await screen.end();
    expect([status, lines.includes("The tour ends here."), publishedIn(lines)]).toEqual([
      0,
      true,
      [`    ${outcome}, just now  call_2.publish.1`],
    ]);
  });

  test("ends if it is interrupted while the job runs, and keeps the question", async () => {
    const { root: cwd, variables } = new Project({ isBare: true });
    const interrupt = new AbortController();
    const { status, stdout } = await runCommand(["demo"], {
      cwd,
      variables,
      interrupt: interrupt.signal,
      onNotice: (text) => {
        if (text.includes("run_tests")) interrupt.abort();
      },
    });
    const lines = stdout.split("\n");
    expect([status, lines.includes("The tour ends here."), publishedIn(lines)]).toEqual([
      0,
      true,
      ["    pending, just now  call_2.publish.1"],
    ]);
  });
});

/** The tour up to the question of its job. */
async function reachJob(): Promise<Screen> {
  const screen = new Screen(new Project({ isBare: true }), ["demo"]);
  await screen.answer(
    ["> Does the README", "\r"],
    ["Apply these changes", "y"],
    ["> Raise the version", "\u0003/skip\r"],
    ["> Deploy it everywhere.", "\r"],
    ["Deploy to Frankfurt?", "Y\r"],
    ["> Announce it.", "\r"],
    ["Where should the announcement go?", "\r"],
    ["> Sign the release.", "\r"],
    ["Passphrase for the signing key?", "hunter2\r"],
    ["> Publish it tonight.", "\r"],
  );
  await screen.untilShown((lines) => lines.includes("? Publish weather 1.2.0?"));
  return screen;
}

/** What the record at the end says became of the question. */
function publishedIn(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => line.endsWith(", just now  call_2.publish.1"));
}
