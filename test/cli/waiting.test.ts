/** What waits in other workspaces, for too long, or for a process that is busy. */
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import {
  attemptStart,
  inquiry,
  permissionRequest,
  toolCall,
} from "../../src/record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type InquiryId,
  type PermissionRequestEvent,
  type SubjectDigest,
  type Terms,
  timestampFromDate,
} from "../../src/record/conversation/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { answerBy, WAITING } from "../../src/stores/open-question.fixture.ts";
import { type JsonObject, systemClock } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { type Finished, runCommand } from "../support/command-host.ts";
import { entriesOf, queryProject, recordOf } from "./query-project.ts";
import { Screen } from "./screen.ts";
import { jsonLines, lines, printed, Project } from "./support.ts";

const HOUR = 3600_000;

interface Asked {
  readonly text?: string;
  readonly for?: string;
  readonly forAny?: readonly { readonly role: string }[];
  readonly terms?: Terms;
  readonly subject?: SubjectDigest;
  readonly hoursAgo?: number;
  /** Counted from now. */
  readonly deadlineHours?: number;
}

function after(hours: number) {
  return timestampFromDate(new Date(Date.now() + hours * HOUR));
}

/** A turn that waits for an answer to this question. */
function asking({ text = "Go on?", hoursAgo = 2, deadlineHours, ...named }: Asked = {}) {
  const question: ConversationEvent = {
    ...inquiry("a.q.1", { text, default: true }),
    timestamp: after(-hoursAgo),
    toolCallId: "a",
    questionId: "q",
    ...(deadlineHours !== undefined && { deadline: after(deadlineHours) }),
    ...named,
  };
  return [...WAITING.slice(0, -1), question];
}

function storeAt(root: string, { variables, home }: Project) {
  const environment = { variables, home, platform: process.platform };
  const options = { from: root, environment, clock: systemClock, pid: process.pid };
  return openWorkspace(options).conversations;
}

/** Leaves a conversation in the project, or in another workspace of its user. */
async function place(project: Project, asked?: Asked, root = project.root) {
  await using writer = await storeAt(root, project).create({});
  await writer.append(...asking(asked));
  return writer.id;
}

function addWorkspace(project: Project, name: string, id: string): string {
  const root = path.join(path.dirname(project.root), name);
  mkdirSync(path.join(root, ".jp"), { recursive: true });
  writeFileSync(path.join(root, ".jp", ".id"), id);
  return root;
}

describe("what waits in all workspaces", () => {
  const LIST = ["inquiry", "ls", "--pending", "--all"];

  test("is listed with the workspace, from anywhere, oldest first", async () => {
    const project = new Project();
    const there = addWorkspace(project, "there", "xyz98");
    const one = await place(project, { text: "One?", hoursAgo: 1 });
    const two = await place(project, { text: "Two?\u001b[2J\nThree?" }, there);
    const { home: cwd, variables } = project;
    expect(await runCommand(LIST, { cwd, variables })).toEqual(
      printed(
        lines(
          'a_tool asks "Two?␛[2J Three?"',
          `    ${two}/a.q.1, 2 hours ago`,
          `    in ${there}`,
          'a_tool asks "One?"',
          `    ${one}/a.q.1, 1 hour ago`,
          `    in ${project.root}`,
        ),
      ),
    );
    const json = await runCommand([...LIST, "--format", "json"], { cwd, variables });
    expect(jsonLines(json)).toEqual([
      expect.objectContaining({ workspace: there, conversation: two }),
      expect.objectContaining({ workspace: project.root, conversation: one }),
    ]);
  });

  test("is listed even if one workspace cannot be read, and the command says which", async () => {
    const project = new Project();
    const broken = addWorkspace(project, "broken", "xyz98");
    await place(project, {}, broken);
    await place(project);
    rmSync(path.join(broken, ".jp", ".id"));
    symlinkSync("/etc/hostname", path.join(broken, ".jp", ".id"));
    const { status, stdout, stderr } = await project.jp(...LIST, "--format", "json");
    expect([status, stdout.split("\n").length - 1, stderr]).toEqual([
      1,
      1,
      expect.stringMatching(new RegExp(`^warning: ${broken}: Cannot read .*\\.id: .*link`)),
    ]);
  });

  test("is listed once if a clone shares it", async () => {
    const project = new Project();
    const clone = addWorkspace(project, "clone", "abc12");
    await using writer = await storeAt(project.root, project).create({ isLocal: true });
    await writer.append(...asking());
    const { variables } = project;
    const { stdout } = await runCommand([...LIST, "--format", "json"], { cwd: clone, variables });
    expect(stdout.split("\n").length - 1).toBe(1);
  });

  test("cannot be answered from another one, but the command says how", async () => {
    const project = new Project();
    const there = addWorkspace(project, "over there", "xyz98");
    const id = await place(project, {}, there);
    const elsewhere = await project.jp("inquiry", "answer", `${id}/a`, "yes");
    expect(elsewhere).toEqual({
      status: 1,
      stdout: "",
      stderr: lines(
        `jp: Nothing with the ID ${id}/a is waiting.`,
        `It is waiting in another workspace. To answer it: jp --workspace '${there}' inquiry answer ${id}/a`,
      ),
    });
    const answered = await project.jp("--workspace", there, "inquiry", "answer", `${id}/a`, "yes");
    expect(answered.status).toBe(0);
  });
});

describe("a question for one person", () => {
  const ANSWER = ["inquiry", "answer", "a.q.1"];

  test("is listed and shown with the name", async () => {
    const project = new Project();
    const id = await place(project, { for: "ada\u001b" });
    const LIST = ["inquiry", "ls", "--pending"];
    expect(await project.jp(...LIST)).toEqual(
      printed(lines('a_tool asks ada␛ "Go on?"', `    ${id}/a.q.1, 2 hours ago, not for you`)),
    );
    const pending = await project.jp(...LIST, "--format", "json");
    const listed = await project.jp("inquiry", "ls", "--format", "json");
    expect([jsonLines(pending), jsonLines(listed)]).toMatchObject([
      [{ for: "ada\u001b" }],
      [{ for: "ada\u001b" }],
    ]);
    expect((await project.jp("inquiry", "show", "a.q.1")).stdout).toMatch(/^For +ada␛$/m);
  });

  test("is answered by that person alone, by the name in the config", async () => {
    const project = new Project();
    await place(project, { for: "ada" });
    const refusal = ['a_tool asks ada "Go on?"', "jp: a.q.1: only ada can answer this."];
    expect(await project.jp("inquiry", "answer", "a.q.1", "yes")).toEqual({
      status: 1,
      stdout: "",
      stderr: lines(...refusal, "If that is you: jp config set --in user user.name ada"),
    });
    const answerAs = (name: string) => project.jpWith({ JP_CFG_USER_NAME: name }, ...ANSWER, "yes");
    const hint = "You are sam (user.name). If that is you: jp config set --in user user.name ada";
    expect((await answerAs("sam")).stderr).toBe(lines(...refusal, hint));
    expect((await answerAs("Ada")).stderr).toBe(
      lines('a_tool asks ada "Go on?"', "Answered a.q.1: yes."),
    );
    expect(entriesOf(recordOf(project), "inquiry_response")).toMatchObject([
      { answered_by: { kind: "user", channel: "cli", auth: "os_user", name: "Ada" } },
    ]);
  });

  test("can be cancelled by whoever runs the turn", async () => {
    const project = new Project();
    await place(project, { for: "ada" });
    expect((await project.jp(...ANSWER, "--cancel")).stderr).toBe(
      lines('a_tool asks ada "Go on?"', "Cancelled a.q.1."),
    );
  });

  test("can be answered with no by whoever uses the machine", async () => {
    const project = new Project();
    await place(project, { for: "ada" });
    expect((await project.jp(...ANSWER, "no")).stderr).toBe(
      lines('a_tool asks ada "Go on?"', "Answered a.q.1: no."),
    );
  });
});

test("a question for a role waits while no people are known, unless the user decides alone", async () => {
  counters("T-PEOPLE-1");
  const project = new Project();
  await place(project, { forAny: [{ role: "finance" }] });
  expect(await project.jp("inquiry", "answer", "a.q.1", "yes")).toEqual({
    status: 1,
    stdout: "",
    stderr: lines(
      'a_tool asks someone with the role finance "Go on?"',
      "jp: a.q.1: only someone with the role finance can answer this, and no people are known.",
      "To add yourself: jp serve people add NAME --roles ROLE --os-user USER",
      "To decide alone: jp config set --in user people.owner_alone true",
    ),
  });
  await project.jp("config", "set", "--in", "user", "people.owner_alone", "true");
  expect((await project.jp("inquiry", "answer", "a.q.1", "yes")).status).toBe(0);
  expect(entriesOf(recordOf(project), "inquiry_response")).toMatchObject([
    { answered_by: { kind: "user", channel: "cli", auth: "owner" } },
  ]);
});

test("a question for a role is answered by whoever has it, whatever name the config has", async () => {
  counters("T-PEOPLE-1");
  const project = new Project();
  await place(project, { forAny: [{ role: "finance" }] });
  const people = (...words: readonly string[]) => project.jp("serve", "people", ...words);
  await people("add", "ada", "--roles", "finance", "--os-user", "someone-else");
  const answer = () =>
    project.jpWith({ JP_CFG_USER_NAME: "ada" }, "inquiry", "answer", "a.q.1", "yes");
  const refused = await answer();
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringContaining("only someone with the role finance can answer this"),
  ]);
  await people("set", "ada", "--os-user", userInfo().username);
  expect((await answer()).status).toBe(0);
  expect(entriesOf(recordOf(project), "inquiry_response")).toMatchObject([
    { answered_by: { kind: "user", name: "ada", auth: "os_user", role: "finance" } },
  ]);
});

test("what two people decide together waits for the second one, who may stand in for another", async () => {
  const project = new Project();
  await place(project, { forAny: [{ role: "finance" }], terms: { quorum: 2 } });
  const people = (...words: readonly string[]) => project.jp("serve", "people", ...words);
  const osUser = ["--os-user", userInfo().username];
  await people("add", "ada", "--roles", "finance", ...osUser);
  await people("add", "bo", "--roles", "finance");
  await people("add", "cy");
  const answer = async () => {
    const { status, stderr } = await project.jp("inquiry", "answer", "a.q.1", "yes");
    return [status, stderr.trimEnd().split("\n").at(-1)];
  };
  expect(await answer()).toEqual([0, "Counted for a.q.1: 1 of 2 people have said the same."]);
  expect(await answer()).toEqual([
    1,
    "jp: You have already answered a.q.1: 1 of 2 people have said the same.",
  ]);
  const listed = await project.jp("inquiry", "ls", "--pending");
  expect(listed.stdout).toContain("So far: ada has answered yes");
  await people("set", "ada", "--os-user", "");
  await people("set", "cy", ...osUser);
  expect(await answer()).toEqual([1, "You are cy, by your OS user, with no roles."]);
  const away = await people("away", "bo", "--to", "cy", "--until", "2d");
  expect([away.status, away.stderr]).toEqual([
    0,
    expect.stringMatching(/^cy decides in place of bo until \d{4}-\d\d-\d\d \d\d:\d\d\.$/m),
  ]);
  expect((await answer())[0]).toBe(0);
  expect(entriesOf(recordOf(project), "inquiry_response")).toMatchObject([
    { answered_by: { name: "cy", auth: "os_user", role: "finance", on_behalf_of: "bo" } },
  ]);
  expect(await people("away", "bo", "--to", "cy", "--until", "yesterday")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("Write how long (2h, 3d, 1w) or a date") as string,
  });
  expect((await people("back", "bo")).stderr).toBe("bo is back.\n");
});

test("what has to be signed is signed with the key of whoever answers, and refused without one", async () => {
  counters("T-SIGN-1");
  const project = new Project();
  const subject = { digest: "d1", version: 1, parts: {} };
  await place(project, { forAny: [{ role: "release" }], terms: { isSigned: true }, subject });
  const people = (...words: readonly string[]) => project.jp("serve", "people", ...words);
  await people("add", "ada", "--roles", "release", "--os-user", userInfo().username);
  const refused = await project.jp("inquiry", "answer", "a.q.1", "yes");
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringContaining("This has to be signed, and you have no key for that here."),
  ]);
  expect(entriesOf(recordOf(project), "inquiry_response")).toEqual([]);
  const added = await people("key", "add", "ada", "--new");
  const [id = ""] = /SHA256:\S+(?=,)/.exec(added.stderr) ?? [];
  const listed = JSON.parse((await people("key", "ls", "--format", "json")).stdout) as JsonObject;
  expect(listed).toMatchObject({ person: "ada", type: "ed25519", id });
  expect((await project.jp("inquiry", "answer", "a.q.1", "yes")).status).toBe(0);
  expect(entriesOf(recordOf(project), "inquiry_response")).toMatchObject([
    { answered_by: { name: "ada" }, signature: { type: "ed25519", key: id } },
  ]);
  expect((await people("key", "rm", "ada", id)).stderr).toContain("It no longer signs for ada.");
  expect((await people("key", "rm", "ada", id)).status).toBe(1);
});

test("what waits is listed even if one conversation cannot be read", async () => {
  const project = new Project();
  await place(project);
  const { folder } = recordOf(project);
  await place(project);
  rmSync(path.join(folder, "events.json"));
  const { status, stdout, stderr } = await project.jp(
    "inquiry",
    "ls",
    "--pending",
    "--format",
    "json",
  );
  expect([status, stdout.split("\n").length - 1, stderr]).toEqual([
    1,
    1,
    `warning: Cannot read ${folder}/events.json: it does not exist.\n`,
  ]);
});

describe("a question with a deadline", () => {
  test("is listed with the time that is left", async () => {
    const project = new Project();
    const id = await place(project, { deadlineHours: 3.5 });
    const late = await place(project, { hoursAgo: 1, deadlineHours: -0.5 });
    const { stdout } = await project.jp("inquiry", "ls", "--pending");
    const rows = jsonLines(await project.jp("inquiry", "ls", "--pending", "--format", "json"));
    expect([stdout.split("\n").filter((line) => line.startsWith(" ")), rows]).toEqual([
      [`    ${id}/a.q.1, 2 hours ago, due in 3 hours`, `    ${late}/a.q.1, 1 hour ago, overdue`],
      [
        expect.objectContaining({ deadline: expect.any(String) as string }),
        expect.objectContaining({ deadline: expect.any(String) as string }),
      ],
    ]);
  });

  test.each([
    ["", "closes it as timed out"],
    ['on_timeout = "default"', "answers it with yes (default)"],
    ['on_timeout = "escalate"\ntarget = ["assistant", "user"]', "asks you again"],
  ])(
    "that has passed takes no answer: with %o, continuing the turn %s",
    async (config, outcome) => {
      const project = queryProject({
        config: `[conversation.tools.a_tool]\nsource = "local"\ncommand = "true"\n[conversation.tools.a_tool.questions.q]\n${config}`,
      });
      const id = await place(project, { deadlineHours: -1 });
      const expected = {
        status: 1,
        stdout: "",
        stderr: lines(
          "jp: a.q.1 is overdue: its deadline has passed.",
          `Continuing the turn ${outcome}: jp query --continue-turn --id ${id}`,
        ),
      };
      const results: readonly Finished[] = [
        await project.jp("inquiry", "answer", "a.q.1", "no"),
        await project.jp("inquiry", "answer", "a.q.1", "--cancel"),
        await project.jp("inquiry", "answer", "a.q.1"),
      ];
      expect(results).toEqual([expected, expected, expected]);
      expect(entriesOf(recordOf(project), "inquiry_response")).toEqual([]);
    },
  );
});

describe("an answer for a process that is busy", () => {
  const ANSWER = ["inquiry", "answer", "a.q.1", "yes"];

  test("waits, says for whom, and is withdrawn by Ctrl-C", async () => {
    const project = new Project();
    const id = await place(project);
    await using writer = await storeAt(project.root, project).open(id);
    const interrupt = new AbortController();
    const { root: cwd, variables } = project;
    const finished = await runCommand(ANSWER, {
      cwd,
      variables,
      interrupt: interrupt.signal,
      onNotice: (text) => {
        if (text.startsWith("Waiting")) interrupt.abort();
      },
    });
    expect(finished).toEqual({
      status: 130,
      stdout: "",
      stderr: lines(
        'a_tool asks "Go on?"',
        "Waiting for this process, which is busy. Ctrl-C withdraws the answer.",
        "Answer withdrawn: a.q.1 is still waiting.",
      ),
    });
    expect(readdirSync(path.join(project.userFolder, "offers"))).toEqual([]);
    await writer.release();
    expect(entriesOf(recordOf(project), "inquiry_response")).toEqual([]);
  });

  test("cannot be withdrawn once the process has taken it", async () => {
    const project = new Project();
    const id = await place(project);
    await using writer = await storeAt(project.root, project).open(id);
    const interrupt = new AbortController();
    const tooLate = Promise.withResolvers<void>();
    writer.onAnswer(async ({ event }) => {
      interrupt.abort();
      await tooLate.promise;
      await writer.append(event);
      return { type: "recorded" };
    });
    const { root: cwd, variables } = project;
    const finished = await runCommand(ANSWER, {
      cwd,
      variables,
      interrupt: interrupt.signal,
      onNotice: (text) => {
        if (text.startsWith("Too late")) tooLate.resolve();
      },
    });
    expect(finished).toEqual({
      status: 0,
      stdout: "",
      stderr: lines(
        'a_tool asks "Go on?"',
        "Too late to withdraw the answer: this process has taken it.",
        "Answered a.q.1: yes.",
      ),
    });
  });
});

describe("an answer to a permission", () => {
  const DIGEST = "5".repeat(16) + "6".repeat(48);

  /** A turn that waits for a permission. */
  function deciding(): readonly ConversationEvent[] {
    return [
      ...WAITING.slice(0, 2),
      toolCall("a", "deploy", { where: "live  site", note: "one\ntwo" }),
      {
        ...permissionRequest("a"),
        timestamp: after(-2),
        id: "a:run:1" as InquiryId, // As a turn makes them.
        tool: "deploy",
        arguments: { where: "live  site", note: "one\ntwo" },
        subject: { digest: DIGEST, version: 1, parts: {} },
        origin: { type: "local", command: "sh  deploy.sh" },
        folder: ".",
      },
    ];
  }

  async function placeDeciding(project: Project, root = project.root) {
    await using writer = await storeAt(root, project).create({});
    await writer.append(...deciding());
    return writer.id;
  }

  const SHOWN = [
    "deploy needs permission to run",
    "    • deploy",
    '      where: "live<2 spaces>site"',
    "      note:",
    "        │ one",
    "        │ two",
    '    Source: local command "sh<2 spaces>deploy.sh"',
    '    Folder: "."',
  ];

  test("lists everything that is decided", async () => {
    const project = new Project();
    const id = await placeDeciding(project);
    expect(await project.jp("inquiry", "ls", "--pending")).toEqual(
      printed(lines(...SHOWN, `    ${id}/a:run:1, 2 hours ago`)),
    );
    const [row] = jsonLines(await project.jp("inquiry", "ls", "--pending", "--format", "json"));
    expect(row).toMatchObject({
      kind: "permission",
      tool: "deploy",
      origin: { type: "local", command: "sh  deploy.sh" },
      folder: ".",
      arguments: { where: "live  site", note: "one\ntwo" },
      acts: true,
      digest: DIGEST,
    });
  });

  test("prints what it is for and what was decided, and records the digest", async () => {
    const project = new Project();
    await placeDeciding(project);
    expect(await project.jp("inquiry", "answer", "a:run:1", "yes")).toEqual({
      status: 0,
      stdout: "",
      stderr: lines(...SHOWN, "Answered a:run:1: yes."),
    });
    expect(entriesOf(recordOf(project), "permission_decision")).toMatchObject([
      { id: "a:run:1", decision: "approved" },
    ]);
    expect(digestsIn(project)).toEqual([DIGEST]);
  });

  test.each([DIGEST, DIGEST.slice(0, 16), DIGEST.slice(0, 40)])(
    "counts if it is pinned to the digest of what waits: %s",
    async (digest) => {
      const project = new Project();
      await placeDeciding(project);
      const words = ["inquiry", "answer", "a:run:1", "yes", "--digest", digest];
      expect((await project.jp(...words)).status).toBe(0);
    },
  );

  test.each(["5".repeat(64), "5".repeat(17)])(
    "is not used if it is pinned to another digest: %s",
    async (digest) => {
      const project = new Project();
      const id = await placeDeciding(project);
      const words = ["inquiry", "answer", "a:run:1", "yes", "--digest", digest];
      expect(await project.jp(...words)).toEqual({
        status: 1,
        stdout: "",
        stderr: lines(
          "jp: a:run:1 has changed since you looked at it. Your answer was not used.",
          `To look at it again:     jp inquiry show ${id}/a:run:1`,
          "To list what is waiting: jp inquiry ls --pending",
        ),
      });
      expect(entriesOf(recordOf(project), "permission_decision")).toEqual([]);
    },
  );

  test.each(["5555", "x".repeat(16), "5".repeat(65)])(
    "needs at least 16 digits to be pinned: %s",
    async (digest) => {
      const project = new Project();
      await placeDeciding(project);
      const words = ["inquiry", "answer", "a:run:1", "yes", "--digest", digest];
      const { status, stderr } = await project.jp(...words);
      expect([status, stderr.split("\n")[0]]).toEqual([
        2,
        "jp: --digest takes 16 to 64 hexadecimal digits.",
      ]);
    },
  );

  test("is asked for on a terminal, which says where the arguments can be edited", async () => {
    const project = new Project();
    const id = await placeDeciding(project);
    const screen = new Screen(project, ["inquiry", "answer", "a:run:1"]);
    await screen.untilShown((shown) => /Run .*deploy/.test(shown.join("\n")));
    const hint = screen.lines.slice(0, 2);
    screen.type("y");
    const { status } = await screen.end();
    expect([status, hint]).toEqual([
      0,
      ["To edit the arguments first, continue the turn:", `  jp query --continue-turn --id ${id}`],
    ]);
    expect(entriesOf(recordOf(project), "permission_decision")).toMatchObject([
      { decision: "approved", decided_by: { kind: "user", channel: "cli", auth: "os_user" } },
    ]);
    expect(digestsIn(project)).toEqual([DIGEST]);
  });

  test("is not used if the process that waits finds that it has changed", async () => {
    const project = new Project();
    const id = await placeDeciding(project);
    await using writer = await storeAt(project.root, project).open(id);
    writer.onAnswer(async () => {
      const madeVoid = { type: "decision_void", id: "a:run:1" as InquiryId } as const;
      await writer.append({ ...madeVoid, timestamp: after(0), changed: ["file"] });
      const [request] = deciding().slice(-1) as [PermissionRequestEvent];
      const subject = { digest: "7".repeat(64), version: 1, parts: {} };
      const again = { id: "a:run:2" as InquiryId, replaces: request.id, subject };
      await writer.append({ ...request, ...again });
      return { type: "changed" };
    });
    const { status, stderr } = await project.jp("inquiry", "answer", "a:run:1", "yes");
    expect([status, stderr.split("\n").at(-4)]).toEqual([
      1,
      "jp: a:run:1 has changed since you looked at it. Your answer was not used.",
    ]);
  });

  test("given in a clone with the same workspace id is not used, and says where it waits", async () => {
    counters("T-WORK-19");
    const project = new Project();
    const id = await placeDeciding(project);
    const clone = addWorkspace(project, "clone", "abc12");
    const { folder } = recordOf(project);
    const copy = path.join(clone, ".jp", "conversations", path.basename(folder));
    cpSync(folder, copy, { recursive: true });
    const events = path.join(copy, "events.json");
    writeFileSync(events, readFileSync(events, "utf8").replaceAll("deploy", "greet"));
    await using writer = await storeAt(project.root, project).open(id);
    const offered: unknown[] = [];
    writer.onAnswer(async ({ event }) => {
      offered.push(event);
      return { type: "recorded" };
    });
    const words = ["inquiry", "answer", "a:run:1", "yes"];
    const { variables } = project;
    const { status, stderr } = await runCommand(words, { cwd: clone, variables });
    expect([status, stderr.split("\n").slice(-3), offered]).toEqual([
      1,
      [
        "jp: a:run:1 is waiting in another folder, whose workspace has the same ID. Your answer was not used.",
        `To answer it there: jp --workspace ${project.root} inquiry answer ${id}/a:run:1`,
        "",
      ],
      [],
    ]);
    const LIST = ["inquiry", "ls", "--pending", "--all", "--format", "json"];
    const listed = jsonLines(await runCommand(LIST, { cwd: clone, variables }));
    expect(listed).toEqual([
      expect.objectContaining({ workspace: clone, tool: "greet" }),
      expect.objectContaining({ workspace: project.root, tool: "deploy" }),
    ]);
  });
});

test("a call in doubt that no one was asked about yet is shown in full, and decided", async () => {
  const project = new Project();
  await using writer = await storeAt(project.root, project).create({});
  await writer.append(
    ...WAITING.slice(0, 2),
    toolCall("a", "deploy", { where: "live" }),
    attemptStart("a"),
  );
  await writer.release();
  const { stdout } = await project.jp("inquiry", "show", "a:rerun:1");
  expect(stdout.split("\n").filter((line) => /^(ID|Kind|Outcome|Call|  )/.test(line))).toEqual([
    "ID            a:rerun:1",
    "Kind          call in doubt",
    "Outcome       pending",
    "Call",
    '  • deploy(where: "live")',
    '  "run": run it again',
    '  "skip": continue without it',
  ]);
  const { stderr } = await project.jp("inquiry", "answer", "a:rerun:1", "no");
  expect(stderr).toBe(
    lines(
      "deploy may or may not have finished: jp stopped while it was running",
      '    • deploy(where: "live")',
      "    - run: run it again",
      "    - skip: continue without it",
      'Answered a:rerun:1: "skip".',
    ),
  );
});

test("the prompt of an answer closes when someone else answers, and says who", async () => {
  const project = new Project();
  const id = await place(project);
  const screen = new Screen(project, ["inquiry", "answer", "a.q.1"]);
  await screen.untilShown((shown) => shown.join("\n").includes("Go on?"));
  await storeAt(project.root, project).answer(id, { ...answerBy("Ana"), timestamp: after(0) });
  const { status, lines: shown } = await screen.end();
  expect([status, shown.at(-1)]).toEqual([1, "jp: a.q.1 was already answered by user Ana (cli)."]);
});

/** The digests that were decided. */
function digestsIn(project: Project): readonly unknown[] {
  const file = path.join(recordOf(project).folder, "events.json");
  const events = JSON.parse(readFileSync(file, "utf8")) as JsonObject[];
  return events.flatMap((event) =>
    event["type"] === "permission_decision" ? [event["digest"]] : [],
  );
}
