import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";
import {
  attemptStart,
  inquiry,
  permissionRequest,
  toolCall,
} from "../../src/record/conversation/events.fixture.ts";
import type { ConversationEvent } from "../../src/record/conversation/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import { systemClock } from "../../src/util/index.ts";
import { placeRelease } from "./samples.ts";
import { JP, lines, Project } from "./support.ts";
import { counters } from "../security/threats.ts";

const PROMPT = "> ";

const CONFIG = `
[providers.llm.aliases]
fast = "ollama/small"

[conversation.tools.deploy]
source = "local"
command = "true"
summary = "Deploys."
group = "release"
`;

function projectWithConfig(config = CONFIG): Project {
  const project = new Project();
  writeFileSync(path.join(project.root, ".jp", "config.toml"), config);
  return project;
}

async function complete(project: Project, ...words: readonly string[]): Promise<string[]> {
  const { status, stdout, stderr } = await project.jp("complete", "--", ...words);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.split("\n").filter((line) => line !== "");
}

async function valuesFor(project: Project, ...words: readonly string[]): Promise<string[]> {
  const found = await complete(project, ...words);
  return found.map((line) => line.split("\t")[0] ?? "");
}

/** Leaves a conversation in the project whose last turn waits for these. */
async function leave(project: Project, ...requests: readonly ConversationEvent[]) {
  const { variables, home, root: from } = project;
  const environment = { variables, home, platform: process.platform };
  const { conversations } = openWorkspace({
    from,
    environment,
    clock: systemClock,
    pid: process.pid,
  });
  await using writer = await conversations.create({});
  await writer.append(...WAITING.slice(0, 2), ...requests);
  return writer.id;
}

/** A call with a question that waits. */
function asking(callId: string, question: Parameters<typeof inquiry>[1]): ConversationEvent[] {
  return [
    toolCall(callId),
    attemptStart(callId),
    { ...inquiry(`${callId}.q.1`, question), toolCallId: callId, questionId: "q" },
  ];
}

describe("completion", () => {
  test("offers commands with descriptions, but no hidden ones", async () => {
    const project = new Project({ isBare: true });
    expect(await complete(project, "con")).toEqual([
      "conversation\tList, read, search and manage conversations",
      "config\tShow and change the configuration",
    ]);
    expect(await valuesFor(project, "comp")).toEqual(["completion"]);
  });

  test("offers subcommands after a name, an alias or help", async () => {
    const project = new Project({ isBare: true });
    const lists = [
      ["conversation", "a"],
      ["c", "a"],
      ["help", "conversation", "a"],
      ["c", "help", "a"],
    ];
    const found = await Promise.all(lists.map((words) => valuesFor(project, ...words)));
    expect(found).toEqual(lists.map(() => ["archive"]));
  });

  test("offers the labels in use", async () => {
    const project = new Project();
    project.place({ second: 0, metadata: { labels: { branch: "main", draft: "" } }, events: [] });
    expect(await valuesFor(project, "c", "ls", "--label", "")).toEqual(["branch=main", "draft"]);
  });

  test("offers options, including global ones, in every position", async () => {
    const project = new Project({ isBare: true });
    expect({
      own: await valuesFor(project, "c", "ls", "--l"),
      global: await valuesFor(project, "c", "ls", "--w"),
      between: await valuesFor(project, "c", "show", "some", "--f"),
      afterTheEnd: await valuesFor(project, "c", "show", "--", "--f"),
    }).toEqual({
      own: ["--label", "--local", "--limit"],
      global: ["--workspace", "--width"],
      between: ["--format"],
      afterTheEnd: [],
    });
  });

  test("offers the choices of a value, as a separate word or after =", async () => {
    const project = new Project({ isBare: true });
    expect({
      long: await valuesFor(project, "c", "ls", "--sort", ""),
      short: await valuesFor(project, "c", "ls", "-F", "j"),
      joined: await valuesFor(project, "c", "ls", "--format=j"),
      argument: await valuesFor(project, "completion", ""),
      unknown: await valuesFor(project, "c", "ls", "--limit", ""),
    }).toEqual({
      long: ["activity", "created", "title"],
      short: ["json"],
      joined: ["--format=json"],
      argument: ["bash", "zsh", "fish"],
      unknown: [],
    });
  });

  test("offers conversations by keyword, ID or title", async () => {
    const project = new Project();
    const crash = project.place({ second: 10, title: "The crash\tof today" });
    const other = project.place({ second: 20, title: "Release notes" });
    const elsewhere = new Project({ isBare: true });
    expect({
      all: await complete(project, "c", "show", "jp-"),
      words: await valuesFor(project, "c", "show", "p"),
      more: await valuesFor(project, "c", "rm", "some", "ne"),
      option: await valuesFor(project, "q", "--id", other.id),
      title: await valuesFor(project, "c", "show", "CRASH"),
      both: await valuesFor(project, "c", "show", "e"),
      named: await valuesFor(elsewhere, "-w", project.root, "c", "show", "crash"),
      nowhere: await valuesFor(elsewhere, "-w", "gone", "c", "show", ""),
    }).toEqual({
      all: [`${other.id}\tRelease notes`, `${crash.id}\tThe crash of today`],
      words: ["previous", "pinned"],
      more: ["newest"],
      option: [other.id],
      title: [crash.id],
      both: [],
      named: [crash.id],
      nowhere: [],
    });
  });

  test("offers tools, models and config keys", async () => {
    const project = projectWithConfig();
    expect({
      tool: await complete(project, "tool", "run", "dep"),
      groups: await valuesFor(project, "q", "-t", "re"),
      twice: await valuesFor(project, "q", "-t", "deploy", "-T", "de"),
      models: await valuesFor(project, "q", "-m", ""),
      providers: await valuesFor(project, "model", "ls", "o"),
      keys: await complete(project, "config", "get", "style.notification."),
      names: await valuesFor(project, "config", "set", "conversation.tools.d"),
      value: await valuesFor(project, "config", "set", "conversation.tools.'*'.run", ""),
      setting: await valuesFor(project, "q", "--cfg", "conversation.tools.*.ru"),
      assigned: await valuesFor(project, "q", "-c", "style.notification.bell:=t"),
    }).toEqual({
      tool: ["deploy\tDeploys."],
      groups: ["release"],
      twice: ["describe_tools", "deploy"],
      models: ["fast", "anthropic/", "google/", "openai/", "openrouter/", "ollama/", "llamacpp/"],
      providers: ["openai", "openrouter", "ollama"],
      keys: [
        "style.notification.bell\tring the bell when a question is waiting",
        "style.notification.desktop\task the terminal for a desktop notification when a question is waiting",
      ],
      names: ["conversation.tools.describe_tools.", "conversation.tools.deploy."],
      value: ["ask", "unattended", "edit", "skip"],
      setting: ["conversation.tools.*.run="],
      assigned: ["style.notification.bell:=true"],
    });
  });

  test("offers what is waiting, and the answers that fit", async () => {
    const project = new Project();
    const options = [{ value: "here" }, { value: "there", description: "Far." }, { value: "a b" }];
    const where = { text: "Where?", answerType: { type: "select", options } } as const;
    const one = await leave(project, ...asking("call_1", { text: "Deploy?\nNow?" }));
    const two = await leave(
      project,
      ...asking("call_1", { text: "Publish?" }),
      ...asking("call_2", where),
    );
    expect({
      answer: await complete(project, "inquiry", "answer", ""),
      started: await valuesFor(project, "inquiry", "answer", "call_2"),
      boolean: await valuesFor(project, "inquiry", "answer", `${one}/call_1.q.1`, ""),
      option: await complete(project, "inquiry", "answer", "call_2.q.1", ""),
      unknown: await valuesFor(project, "inquiry", "answer", "call_9", ""),
      show: await valuesFor(project, "inquiry", "show", "call_2"),
    }).toEqual({
      answer: [`${one}/call_1.q.1\tDeploy? …`, `${two}/call_1.q.1\tPublish?`, "call_2.q.1\tWhere?"],
      started: ["call_2.q.1"],
      boolean: ["yes", "no", `${two}/call_1.q.1`],
      option: ["here\t", "there\tFar."],
      unknown: [],
      show: ["call_2.q.1"],
    });
  });

  test("offers decisions of the conversation that was used last", async () => {
    const project = new Project();
    placeRelease(project);
    expect({
      show: await valuesFor(project, "inquiry", "show", ""),
      answer: await valuesFor(project, "inquiry", "answer", ""),
    }).toEqual({
      show: ["call_2.announce.1", "call_2.otp.1", "call_1.apply_changes.1", "call_1:run:1"],
      answer: [],
    });
  });

  test("offers only names that a shell reads as one harmless word", async () => {
    counters("T-WORK-8");
    const project = projectWithConfig(
      'providers.llm.aliases = { "$(touch x)" = "a/b", "two words" = "a/b", "esc\\u001b[2J" = "a/b", good = "a/b" }',
    );
    const found = await valuesFor(project, "q", "-m", "");
    expect(found.filter((name) => !name.endsWith("/"))).toEqual(["good"]);
  });

  test("offers nothing, silently, after an error, and changes nothing", async () => {
    const project = projectWithConfig("not TOML");
    const before = snapshotOf(project.root, project.home, project.data);
    expect([
      await complete(project, "unheard-of", "x"),
      await complete(project, "c", "unheard-of", ""),
      await complete(project, "q", "--unheard-of", ""),
      await valuesFor(project, "tool", "run", "ask"),
      snapshotOf(project.root, project.home, project.data),
    ]).toEqual([[], [], [], ["ask_user"], before]);
  });
});

describe("the script", () => {
  test.each(["bash", "zsh", "fish"])(
    "for %s is printed and says where to install it",
    async (shell) => {
      const project = new Project({ isBare: true });
      const { status, stdout, stderr } = await project.jp("completion", shell);
      expect({ status, stderr, isTold: stdout.includes(`# jp completion for ${shell}. `) }).toEqual(
        {
          status: 0,
          stderr: "",
          isTold: true,
        },
      );
    },
  );

  test("for an unknown shell is a usage error", async () => {
    const project = new Project({ isBare: true });
    expect(await project.jp("completion", "tcsh")).toEqual({
      status: 2,
      stdout: "",
      stderr: lines(
        "jp: command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.",
        "For usage: jp completion --help",
      ),
    });
  });
});

/** How each shell is set up for completion. */
const SHELLS = {
  bash: {
    words: ["--noprofile", "--rcfile", ".rc"],
    file: (project: Project) => path.join(project.root, ".rc"),
    rc: `PS1='${PROMPT}'\nsource <(jp completion bash)\n`,
  },
  zsh: {
    words: ["-i"],
    file: (project: Project) => path.join(project.home, ".zshrc"),
    rc: `PS1='${PROMPT}'\nautoload -Uz compinit && compinit -u -D\nsource <(jp completion zsh)\n`,
  },
  fish: {
    words: ["-i"],
    file: (project: Project) => path.join(project.home, ".config", "fish", "config.fish"),
    rc: `function fish_prompt; echo '${PROMPT}'; end\nset fish_greeting\njp completion fish | source\n`,
  },
} as const;

async function start(shell: keyof typeof SHELLS, project: Project): Promise<PseudoTerminal> {
  const { words, file, rc } = SHELLS[shell];
  const bin = path.join(project.home, "bin");
  const command = path.join(bin, "jp");
  mkdirSync(bin);
  mkdirSync(path.dirname(file(project)), { recursive: true });
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${JP}" "$@"\n`);
  chmodSync(command, 0o755);
  writeFileSync(file(project), rc);
  const screen = new PseudoTerminal(shell, words, {
    folder: project.root,
    variables: {
      ...project.variables,
      PATH: `${bin}:${process.env["PATH"] ?? ""}`,
      TERM: "xterm-256color",
      INPUTRC: "/dev/null",
    },
  });
  await screen.untilShown((shown) => shown.at(-1)?.startsWith(PROMPT.trim()) === true);
  return screen;
}

/** Types the text and Tab, waits for the completed line, and clears it. */
async function untilCompleted(screen: PseudoTerminal, typed: string, wanted: string) {
  screen.type(`${typed}\t`);
  await screen.untilShown((shown) => shown.at(-1) === `${PROMPT}${wanted}`);
  screen.type("\u0015");
  await screen.untilShown((shown) => shown.at(-1) === PROMPT.trim());
}

describe.each(["bash", "zsh", "fish"] as const)("in %s", (shell) => {
  const isInstalled = spawnSync(shell, ["--version"]).status === 0;

  test.skipIf(!isInstalled)("completes words", { timeout: 60_000 }, async () => {
    const project = projectWithConfig();
    writeFileSync(path.join(project.root, "notes.txt"), "");
    const { id } = project.place({ second: 10, title: "The crash of today" });
    project.place({ second: 20, title: "Release" });
    await leave(project, toolCall("call_1"), permissionRequest("call_1"));
    const screen = await start(shell, project);
    const cases: readonly (readonly [typed: string, completed: string])[] = [
      ["jp conv", "jp conversation"],
      ["jp c sh", "jp c show"],
      ["jp c ls --so", "jp c ls --sort"],
      ["jp c ls --sort ti", "jp c ls --sort title"],
      ["jp c ls --sort=ti", "jp c ls --sort=title"],
      [`jp c show ${id.slice(0, -1)}`, `jp c show ${id}`],
      ["jp tool run fs_gr", "jp tool run fs_grep_files"],
      ["jp q -m fa", "jp q -m fast"],
      ["jp config set style.notification.be", "jp config set style.notification.bell"],
      ["jp q -c style.notification.be", "jp q -c style.notification.bell="],
      ["jp q -c style.notification.bell=tr", "jp q -c style.notification.bell=true"],
      ["jp q not", "jp q notes.txt"],
      ["jp inquiry answer ca", "jp inquiry answer call_1:run:1"],
      ["jp inquiry answer call_1:", "jp inquiry answer call_1:run:1"],
      ["jp inquiry answer call_1:run:1 y", "jp inquiry answer call_1:run:1 yes"],
      // Fish filters the candidates itself.
      ...(shell === "fish" ? [] : [["jp c show crash", `jp c show ${id}`] as const]),
    ];
    for (const [typed, completed] of cases) await untilCompleted(screen, typed, completed);
    expect(screen.lines.at(-1)).toBe(PROMPT.trim());
  });

  test.skipIf(!isInstalled)("lists candidates with descriptions", { timeout: 60_000 }, async () => {
    const screen = await start(shell, new Project());
    screen.type("jp config s\t\t");
    await screen.untilShown((shown) => shown.some((line) => /\bset\b.*Set a value/.test(line)));
    expect(screen.lines.join("\n")).toMatch(/\bshow\b.*Show the effective config/);
  });

  test.skipIf(!isInstalled)(
    "prints no errors into the command line",
    { timeout: 60_000 },
    async () => {
      const screen = await start(shell, projectWithConfig("not TOML"));
      await untilCompleted(screen, "jp tool run ask_", "jp tool run ask_user");
      expect(screen.lines.join("\n")).not.toContain("TOML");
    },
  );
});
