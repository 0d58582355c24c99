import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../security/threats.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import { queryProject, recordOf } from "./query-project.ts";
import { openSession as open, ScreenProcess, shows } from "./screen.ts";
import type { Project } from "./support.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const UNTRUSTED = { JP_TRUSTED_WORKSPACES: "" };

async function start(replies: readonly Reply[], files: Readonly<Record<string, string>> = {}) {
  const server = await ModelServer.start(replies);
  return {
    server,
    project: queryProject({ server, files }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The messages of the user. */
function sent(project: Project): readonly string[] {
  return recordOf(project).entries.flatMap((entry) => {
    const { type, content } = entry as Record<string, string>; // As far as it is used.
    return type === "chat_request" ? [content ?? ""] : [];
  });
}

describe("the menu of commands", () => {
  test("says how many there are, and Enter runs the one it completes", async () => {
    const screen = await open(queryProject({}));
    screen.type("/");
    await shows(screen, /^❯ \/help .*\n(.*\n){7} {2}1–8 of 19 · Enter run · Tab complete/m);
    screen.type("ti");
    await shows(screen, /^> \/ti\n❯ \/title /m);
    screen.type("\r");
    await shows(screen, /^> \/title\nThe new conversation has no title yet\.\n/m);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test.each([
    ["/titl", /^Message: \/titl\nThe new conversation has no title yet\.\n[^]*Message: ?$/m],
    ["/co", /Unknown command: \/co\. Did you mean \/compact, \/cost,\s\/context\?[^]*Message: ?$/],
    ["/modle", /Unknown command: \/modle\. Did you mean \/model\?[^]*Message: ?$/],
  ])("is not needed: %s", async (typed, shown) => {
    const variables = { JP_SESSION: "s", JP_PLAIN: "1", TERM: "xterm" };
    const screen = new ScreenProcess(queryProject({}), [], { variables });
    await shows(screen, /leaves\.\n.* · mode ask: .*\nNew conversation[^]*Message: ?$/m);
    screen.type(`${typed}\r`);
    await shows(screen, shown);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });
});

test("@ finds a file by fragments of its path, and Enter takes it before it sends the message", async () => {
  await using parts = await start(["A."], {
    ".gitignore": "out/\n",
    "src/deep/my-parser.ts": "export const parse = 1;\n",
    "out/my-parser.js": "",
  });
  const screen = await open(parts.project);
  screen.type("See @parser");
  await shows(screen, /^> See @parser\n❯ @src\/deep\/my-parser\.ts\n {2}Enter take it/m);
  screen.type("\r");
  await shows(screen, /^> See @src\/deep\/my-parser\.ts ?$/m);
  screen.type("\r");
  await shows(screen, /Attached: 1 document, 24 B\n[^]*A\.\n(.*\n)*> ?$/m);
  screen.type(CTRL_D);
  await screen.end();
  expect(sent(parts.project)).toEqual(["See @src/deep/my-parser.ts"]);
});

describe("a long paste", () => {
  const PASTED = Array.from({ length: 300 }, (_, index) => `line ${index + 1}`).join("\n");
  const PASTE = `\u001b[200~${PASTED}\u001b[201~`;

  test("is one line on the screen, and the model gets all of it", async () => {
    await using parts = await start(["A."]);
    const screen = await open(parts.project);
    screen.type(`Why? ${PASTE}`);
    await shows(screen, /^> Why\? \[pasted 300 lines\]\n {2}Enter send · Ctrl-O open the paste/m);
    screen.type("\r");
    await shows(screen, /^> Why\? \[pasted 300 lines\]\nA\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    const { lines } = await screen.end();
    expect([lines.some((line) => line.includes("line 150")), sent(parts.project)]).toEqual([
      false,
      [`Why? ${PASTED}`],
    ]);
  });

  test("is one line again at the prompt if it cannot be sent", async () => {
    const screen = await open(queryProject({ config: 'assistant.model.id = "nowhere/x"' }));
    screen.type(`Why? ${PASTE}\r`);
    await shows(screen, /provider "nowhere"[^]*^> Why\? \[pasted 300 lines\]$/m);
    screen.type(`${CTRL_C}${CTRL_D}`);
    expect((await screen.end()).status).toBe(0);
  });
});

describe("a command of the user's own", () => {
  test("runs in their shell and shows its output, which the model gets if it is shared", async () => {
    await using parts = await start(["A.", "B."], { "a.txt": "alpha\n" });
    const screen = await open(parts.project, { SHELL: "/bin/sh" });
    screen.type('!cat a.txt; echo "$0" >&2; exit 3');
    await shows(screen, "Enter run it in your shell");
    screen.type("\r");
    await shows(screen, /^alpha\n\/bin\/sh\nExit status 3 after \d+\.\d s\. \/share shows/m);
    screen.type("one\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type("/share Why?\r");
    await shows(
      screen,
      /Shown to the model: cat a\.txt.*\(2 lines of output\)\n[^]*B\.\n(.*\n)*> ?$/m,
    );
    screen.type(CTRL_D);
    await screen.end();
    expect(sent(parts.project)).toEqual([
      "one",
      [
        "Why?",
        "",
        "I ran this command, and it ended with exit status 3:",
        "",
        "```sh",
        'cat a.txt; echo "$0" >&2; exit 3',
        "```",
        "",
        "Its output:",
        "",
        "```text",
        "alpha",
        "/bin/sh",
        "```",
      ].join("\n"),
    ]);
  });

  test("is shared with the next message, unless the user changes their mind", async () => {
    await using parts = await start(["A.", "B."]);
    const screen = await open(parts.project);
    for (const [typed, shown] of [
      ["/share", /Run a command first: !npm test/],
      ["!printf x", /^x\nExit status 0 [^]*> ?$/m],
      ["/share", /next message shows this to the model: printf x \(1 line of output\)\n[^]*> ?$/m],
      ["/share off", /shows no command to the model\.\n[^]*> ?$/m],
      ["one", /A\.\n(.*\n)*> ?$/m],
      ["/share", /shows this to the model: printf x[^]*shows this to the model[^]*> ?$/m],
      ["two", /B\.\n(.*\n)*> ?$/m],
    ] as const) {
      screen.type(`${typed}\r`);
      await shows(screen, shown);
    }
    screen.type(CTRL_D);
    await screen.end();
    expect(sent(parts.project).map((text) => text.includes("printf x"))).toEqual([false, true]);
  });

  test("shows colours, and no other control sequence, and the model gets neither", async () => {
    counters("T-TERM-1");
    await using parts = await start(["A."]);
    const screen = await open(parts.project);
    screen.type(String.raw`!printf '\033[31mred\033[0m \033]52;c;eA==\007 1%%\r2%%\n'` + "\r");
    await shows(screen, /Exit status 0/);
    screen.type("/share go\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    const { bytes } = await screen.end();
    expect([
      bytes.includes("\u001b[31mred\u001b[0m ␛]52;c;eA==␇ 1%\r2%\r\n"),
      bytes.includes("\u001b]52"),
      sent(parts.project)[0]?.includes("```text\n2%\n```"),
    ]).toEqual([true, false, true]);
  });

  test("is shared with its beginning and its end if it prints a lot", async () => {
    await using parts = await start(["A."]);
    const screen = await open(parts.project);
    screen.type("!seq 100000 | tail -c 200000\r");
    await shows(screen, /Exit status 0/);
    screen.type("/share go\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    const [text = ""] = sent(parts.project);
    expect([
      text.length < 40_000,
      text.includes("[Truncated: 167232 of 200000 bytes omitted.]"),
      text.endsWith("100000\n```"),
    ]).toEqual([true, true, true]);
  });

  test("is stopped by Ctrl-C, which leaves the session alone", async () => {
    await using parts = await start(["A."]);
    const variables = { JP_SESSION: "s", SHELL: "/bin/sh", TERM: "xterm" };
    const screen = new ScreenProcess(parts.project, [], { variables });
    await shows(screen, /^New conversation/m);
    screen.type("!echo up; sleep 600; echo down\r");
    await shows(screen, /^up$/m);
    screen.type(CTRL_C);
    await shows(screen, /Exit status 130 after [^]*> ?$/m);
    screen.type("one\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    const { status, bytes } = await screen.end();
    expect([status, bytes.includes("\ndown")]).toEqual([0, false]);
  });

  test("reads what is typed, from the terminal", async () => {
    const variables = { JP_SESSION: "s", SHELL: "/bin/sh", TERM: "xterm" };
    const screen = new ScreenProcess(queryProject({}), [], { variables });
    await shows(screen, /^New conversation/m);
    screen.type("!echo Who?; read name; echo hello $name; test -t 0 && echo terminal\r");
    await shows(screen, /^Who\?$/m);
    screen.type("Ann\r");
    await shows(screen, /^hello Ann\nterminal\n/m);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });

  test("ends with the session if that is killed", async () => {
    const screen = await open(queryProject({}), { SHELL: "/bin/sh" });
    screen.type("!echo up; exec sleep 600\r");
    await shows(screen, /^up$/m);
    screen.signal("SIGTERM");
    expect((await screen.end()).status).toBe(130);
  });

  test("that cannot be started is reported, and nothing runs for a picture in Markdown", async () => {
    await using parts = await start(["A."]);
    const screen = await open(parts.project, { SHELL: "/nowhere/sh" });
    screen.type("!ls\r");
    await shows(screen, /\/nowhere\/sh[^]*> ?$/m);
    screen.type("![a picture](a.png)\r");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    expect((await screen.end()).status).toBe(0);
  });
});

describe("a custom command", () => {
  const REVIEW = `---
description: "Review a file"
---
Review $1 for $2. All: $ARGUMENTS. Literally: \\$1
`;

  test("of the user is listed, and sends its message with what is typed after it", async () => {
    await using parts = await start(["A.", "B."], { "src/a.ts": "let a;\n" });
    const { project } = parts;
    const folder = path.join(project.home, ".config", "jp", "commands");
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "review.md"), REVIEW);
    writeFileSync(path.join(folder, "tests.md"), "# Run all tests\n\nAnd fix what fails.\n");
    const screen = await open(project);
    screen.type("/rev");
    await shows(screen, /^❯ \/review {2}Review a file$/m);
    screen.type("\r");
    await shows(screen, /^> \/review ?$/m);
    screen.type('@src/a.ts "dead code"\r');
    await shows(
      screen,
      /Sending \S+review\.md \(1 line\)\nAttached: 1 document[^]*A\.\n(.*\n)*> ?$/m,
    );
    screen.type("/tests quickly\r");
    await shows(screen, /B\.\n(.*\n)*> ?$/m);
    screen.type("/help\r");
    await shows(screen, /^ {2}\/review \[words\] +Review a file\n {2}\/tests +Run all tests\n/m);
    screen.type(CTRL_D);
    await screen.end();
    expect(sent(project)).toEqual([
      'Review @src/a.ts for dead code. All: @src/a.ts "dead code". Literally: $1',
      "# Run all tests\n\nAnd fix what fails.\n\nquickly",
    ]);
  });

  test("is sent for a workspace once the user has trusted it, and asked about again when it has changed", async () => {
    counters("T-WORK-25");
    await using parts = await start(["A.", "B.", "C."], {
      ".jp/commands/deploy.md": "---\ndescription: Harmless\n---\nDeploy it.\n",
    });
    const { project } = parts;
    const screen = await open(project, UNTRUSTED);
    screen.type("/dep");
    await shows(screen, /^❯ \/deploy {2}From \.jp\/commands\/deploy\.md, not trusted yet$/m);
    screen.type("\r");
    await shows(
      screen,
      /- command \.jp\/commands\/deploy\.md: [^]*\| Deploy it\.[^]*\? Trust this workspace/,
    );
    screen.type("n");
    await shows(screen, /Not trusted\. Nothing was sent\.\n(.*\n)*> ?$/m);
    screen.type("/deploy\r");
    await shows(screen, /Nothing was sent[^]*\? Trust this workspace/);
    screen.type("y");
    await shows(screen, /A\.\n(.*\n)*> ?$/m);
    screen.type("/dep");
    await shows(screen, /^❯ \/deploy {2}Harmless$/m);
    screen.type("\r");
    await shows(screen, /B\.\n(.*\n)*> ?$/m);
    writeFileSync(path.join(project.root, ".jp/commands/deploy.md"), "Delete it.\n");
    screen.type("/deploy\r");
    await shows(screen, /changed since you trusted it[^]*\? Trust this workspace/);
    screen.type("n");
    await shows(screen, /Nothing was sent\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    expect(sent(project)).toEqual(["Deploy it.", "Deploy it."]);
  });

  test("is part of what jp trust lists", async () => {
    const project = queryProject({ files: { ".jp/commands/deploy.md": "Deploy it." } });
    const { stdout } = await project.jpWith(UNTRUSTED, "trust", "--yes");
    expect(stdout).toContain("- command .jp/commands/deploy.md: 10 characters for the model");
  });

  test("cannot replace one of jp's or the user's own, and says why a file is not used", async () => {
    counters("T-WORK-25");
    const project = queryProject({
      files: {
        ".jp/commands/quit.md": "Stay.",
        ".jp/commands/mine.md": "Theirs.",
        ".jp/commands/Upper.md": "x",
        ".jp/commands/empty.md": "---\ndescription: x\n---\n",
        ".jp/commands/long.md": "x".repeat(40_000),
        "secret.txt": "secret",
      },
    });
    symlinkSync("../../secret.txt", path.join(project.root, ".jp/commands/link.md"));
    const folder = path.join(project.home, ".config", "jp", "commands");
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "mine.md"), "My own.");
    const screen = await open(project);
    screen.type("/help\r");
    await shows(
      screen,
      /^ {2}\/mine +My own\.\n[^]*quit\.md is not used: \/quit is a command of jp\./m,
    );
    screen.type(CTRL_D);
    const { lines } = await screen.end();
    const text = lines.join(" ");
    expect(
      [
        "Upper.md is not used: name it with lower-case letters, digits and hyphens.",
        "empty.md is not used: it has no message.",
        "long.md is not used: it is longer than 32768 bytes.",
        "link.md is not used: ELOOP",
      ].filter((problem) => !text.includes(problem)),
    ).toEqual([]);
  });

  test("comes back to the prompt as it was typed if it cannot be sent", async () => {
    const screen = await open(
      queryProject({
        config: 'assistant.model.id = "nowhere/x"',
        files: { ".jp/commands/deploy.md": "Deploy it." },
      }),
    );
    screen.type("/deploy now\r");
    await shows(screen, /provider "nowhere"[^]*^> \/deploy now$/m);
    screen.type(`${CTRL_C}${CTRL_D}`);
    expect((await screen.end()).status).toBe(0);
  });
});
