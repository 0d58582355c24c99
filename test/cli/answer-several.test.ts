/** Several IDs of `jp inquiry answer`. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import {
  chatRequest,
  inquiry,
  permissionRequest,
  toolCall,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type PermissionRequestEvent,
  timestampFromDate,
} from "../../src/record/conversation/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { type JsonObject, systemClock } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { recordOf } from "./query-project.ts";
import { Screen, shows } from "./screen.ts";
import { lines, Project } from "./support.ts";

const HOUR = 3600_000;
const LONG = Array.from({ length: 60 }, (_, index) => `echo ${index}`).join("\n");
const ANSWER = ["inquiry", "answer"];

/** A command that waits for permission. The digest repeats the call's ID. */
function asking(id: string, command: string, more: Partial<PermissionRequestEvent> = {}) {
  return {
    ...permissionRequest(id),
    timestamp: timestampFromDate(new Date(Date.now() - HOUR)),
    tool: "shell_run",
    arguments: { command },
    origin: { type: "builtin", confinement: "sandbox" },
    folder: ".",
    subject: { digest: id.repeat(64), version: 1, parts: {} },
    ...more,
  } satisfies ConversationEvent;
}

function storeOf({ root: from, variables, home }: Project) {
  const environment = { variables, home, platform: process.platform };
  return openWorkspace({ from, environment, clock: systemClock, pid: process.pid }).conversations;
}

/** A turn that waits for all of them. */
async function place(project: Project, ...asked: readonly ConversationEvent[]) {
  const calls = asked.flatMap((event) =>
    event.type === "permission_request"
      ? [toolCall(event.toolCallId, "shell_run", { command: "x" })]
      : event.type === "inquiry_request"
        ? [toolCall(event.toolCallId ?? "", "a_tool")]
        : [],
  );
  await using writer = await storeOf(project).create({});
  await writer.append(turnStart(), chatRequest("Go."), ...calls, ...asked);
  return writer.id;
}

const ASKED = [asking("a", "npm test"), asking("b", "git status")];
const IDS = ["a:run:1", "b:run:1"];
const SHOWN = [
  "shell_run needs permission to run",
  '    • shell_run(command: "npm test")',
  "    Source: built into jp, in the sandbox",
  '    Folder: "."',
  "shell_run needs permission to run",
  '    • shell_run(command: "git status")',
  "    Source: built into jp, in the sandbox",
  '    Folder: "."',
];

/** What was decided, by call, with the digest. */
function decisions(project: Project) {
  const file = path.join(recordOf(project).folder, "events.json");
  const events = JSON.parse(readFileSync(file, "utf8")) as JsonObject[];
  return events.flatMap(({ type, id, decision, reason, digest }) =>
    type === "permission_decision" ? [[id, decision, digest, ...(reason ? [reason] : [])]] : [],
  );
}

describe("one yes or no for several IDs", () => {
  test("is sent to each with its own digest after all of them were printed", async () => {
    counters("T-DESK-9");
    const project = new Project();
    await place(project, ...ASKED);
    expect(await project.jp(...ANSWER, ...IDS, "yes")).toEqual({
      status: 0,
      stdout: "",
      stderr: lines(...SHOWN, "Answered a:run:1: yes.", "Answered b:run:1: yes."),
    });
    expect(decisions(project)).toEqual([
      ["a:run:1", "approved", "a".repeat(64)],
      ["b:run:1", "approved", "b".repeat(64)],
    ]);
  });

  test("is a no with the same note for each, and an ID that is given twice counts once", async () => {
    const project = new Project();
    await place(project, ...ASKED);
    const { status } = await project.jp(...ANSWER, ...IDS, IDS[0] ?? "", "no", "--note", "Later.");
    expect([status, decisions(project)]).toEqual([
      0,
      [
        ["a:run:1", "denied", "a".repeat(64), "Later."],
        ["b:run:1", "denied", "b".repeat(64), "Later."],
      ],
    ]);
  });

  test("names each answer that was not used with the reason, records the others, and exits with 1", async () => {
    const project = new Project();
    const deadline = timestampFromDate(new Date(Date.now() - 60_000));
    await place(project, asking("a", "npm test", { deadline }), asking("b", "git status"));
    const { status, stderr } = await project.jp(...ANSWER, ...IDS, "yes");
    expect([
      status,
      stderr.split("\n").filter((line) => !line.startsWith(" ")),
      decisions(project),
    ]).toEqual([
      1,
      [
        "shell_run needs permission to run",
        "shell_run needs permission to run",
        "jp: a:run:1 is overdue: its deadline has passed.",
        expect.stringMatching("^Continuing the turn "),
        "Answered b:run:1: yes.",
        "1 of 2 answers were used.",
        "",
      ],
      [["b:run:1", "approved", "b".repeat(64)]],
    ]);
  });
});

describe("several IDs are refused, and nothing is answered or printed,", () => {
  const refusals: readonly (readonly [
    string,
    readonly ConversationEvent[],
    readonly string[],
    string,
  ])[] = [
    ["with a pinned digest", ASKED, ["yes", "--digest", "a".repeat(64)], "--digest takes one ID"],
    ["without a yes or no", ASKED, ["maybe"], "Several IDs take one yes or no."],
    ["if one of them does not wait", ASKED, ["c:run:1", "yes"], "Nothing with the ID c:run:1"],
    [
      "if one takes a quorum",
      [...ASKED.slice(0, 1), asking("b", "git status", { terms: { quorum: 2 } })],
      ["yes"],
      "b:run:1 is answered alone: it has terms of its own",
    ],
    [
      "if one has to be signed",
      [...ASKED.slice(0, 1), asking("b", "git status", { terms: { isSigned: true } })],
      ["yes"],
      "b:run:1 is answered alone: it has terms of its own",
    ],
    [
      "if one is for other people",
      [...ASKED.slice(0, 1), asking("b", "git status", { for: "ada" })],
      ["yes"],
      "b:run:1 is answered alone: it is for other people than the first",
    ],
    [
      "if one runs outside of the sandbox",
      [
        ...ASKED.slice(0, 1),
        asking("b", "git push", { origin: { type: "builtin", confinement: "none" } }),
      ],
      ["yes"],
      "b:run:1 is answered alone: it runs outside of the sandbox",
    ],
    [
      "if one takes words",
      [
        ...ASKED.slice(0, 1),
        {
          ...inquiry("b:run:1", { answerType: { type: "text" } }),
          toolCallId: "b",
          questionId: "q",
        },
      ],
      ["yes"],
      "b:run:1 is answered alone: it does not take yes or no",
    ],
    [
      "if one must be read to the end and no terminal is available",
      [...ASKED.slice(0, 1), asking("b", LONG)],
      ["yes"],
      "b:run:1 is answered alone: it has to be read to the end, and no terminal is available",
    ],
  ];

  test.each(refusals)("%s", async (_case, asked, words, message) => {
    const project = new Project();
    await place(project, ...asked);
    const { status, stdout, stderr } = await project.jp(...ANSWER, ...IDS, ...words);
    const expected = message.startsWith("Nothing with") ? 1 : 2;
    expect([status, stdout, stderr.split("\n")[0]]).toEqual([
      expected,
      "",
      expect.stringContaining(message),
    ]);
    expect(decisions(project)).toEqual([]);
  });

  test("if the first takes words, unless the words name nothing that waits", async () => {
    const project = new Project();
    const text = {
      ...inquiry("t.q.1", { answerType: { type: "text" } }),
      toolCallId: "t",
      questionId: "q",
    };
    await place(project, text, asking("b", "git status"));
    const refused = await project.jp(...ANSWER, "t.q.1", "b:run:1", "yes");
    expect([refused.status, refused.stderr.split("\n")[0]]).toEqual([
      2,
      expect.stringContaining("t.q.1 is answered alone: it does not take yes or no"),
    ]);
    const answered = await project.jp(...ANSWER, "t.q.1", "b", "says", "yes");
    expect([answered.status, answered.stderr.split("\n").at(-2)]).toEqual([
      0,
      'Answered t.q.1: "b says yes".',
    ]);
  });

  test("if --continue would continue several conversations", async () => {
    const project = new Project();
    await place(project, ...ASKED.slice(0, 1));
    await place(project, ...ASKED.slice(1));
    const { status, stderr } = await project.jp(...ANSWER, ...IDS, "yes", "--continue");
    expect([status, stderr]).toEqual([2, "jp: --continue takes IDs of one conversation.\n"]);
  });
});

/** Answers two with yes on a terminal, of which one does not fit on the screen. */
async function openLong() {
  const project = new Project();
  await place(project, asking("a", "npm test"), asking("b", LONG));
  return { project, screen: new Screen(project, [...ANSWER, ...IDS, "yes"]) };
}

describe("several IDs with one that does not fit on the screen", () => {
  test("are approved on a terminal only after all of it was read", async () => {
    counters("T-DESK-11");
    const { project, screen } = await openLong();
    await shows(screen, "Answer all 2 with yes?");
    screen.type("y");
    await shows(screen, "Read to the end first");
    expect(decisions(project)).toEqual([]);
    screen.type("\u001b[F");
    await shows(screen, "│ echo 59");
    screen.type("y");
    expect([(await screen.end()).status, decisions(project).length]).toEqual([0, 2]);
  });

  test("are not answered if the person says no there", async () => {
    const { project, screen } = await openLong();
    await shows(screen, "Answer all 2 with yes?");
    screen.type("n");
    const { status, lines: shown } = await screen.end();
    expect([status, shown.at(-1), decisions(project)]).toEqual([1, "Nothing was answered.", []]);
  });

  test("are refused without being read: a no needs no reading", async () => {
    const project = new Project();
    await place(project, asking("a", "npm test"), asking("b", LONG));
    const { status, stderr } = await project.jp(...ANSWER, ...IDS, "no");
    expect([status, stderr.includes("echo 59"), decisions(project).length]).toEqual([0, true, 2]);
  });
});
