import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/util/index.ts";
import { answer, call, permission, question, request, time, turnStart } from "./records.ts";
import { placeLegacy, placeRelease } from "./samples.ts";
import { type Finished, jsonLines, lines, printed, Project } from "./support.ts";

/** The ids of the questions in JSON output. */
function idsIn(finished: Finished): unknown[] {
  return jsonLines(finished).map((line) => (line as { id: unknown }).id);
}

describe("the list of questions", () => {
  test("shows who asked and who answered, how and when", async () => {
    const project = new Project();
    const release = placeRelease(project);
    const legacy = placeLegacy(project);
    const asked = "  turn 1  fs_modify_file: Do you want to apply the following patch? …";
    const id = "fs_modify_file_0.apply_changes";
    expect(await project.jp("inquiry", "ls")).toEqual(
      printed(
        lines(
          legacy.id,
          asked,
          `    yes, 1 week ago  ${id}`,
          asked,
          `    no, 1 week ago  ${id}`,
          asked,
          `    unanswered, 1 week ago  ${id}`,
          release.id,
          "  turn 1  fs_modify_file: Run fs_modify_file?",
          '    • fs_modify_file(path: "package.json", line: 3)',
          "    approved (you, via terminal), 2 days ago  call_1:run:1",
          "  turn 1  fs_modify_file: Apply this change?",
          "    yes (you, via terminal), 2 days ago  call_1.apply_changes.1",
          "  turn 2  npm_publish: One-time password",
          "    <redacted> (you, via terminal), 2 days ago  call_2.otp.1",
          "  turn 2  assistant: Announce it where?",
          "    cancelled (no_prompt_backend), 2 days ago  call_2.announce.1",
        ),
      ),
    );
  });

  test("as JSON has every recorded field", async () => {
    const project = new Project();
    const release = placeRelease(project);
    const place = { workspace: project.root, conversation: release.id, title: "Release 1.2" };
    expect(jsonLines(await project.jp("inquiry", "ls", "--format", "json"))).toEqual([
      {
        ...place,
        turn: 1,
        id: "call_1:run:1",
        kind: "permission",
        tool: "fs_modify_file",
        tool_call_id: "call_1",
        label: "fs_modify_file",
        arguments: { path: "package.json", line: 3 },
        question: {
          text: "Run fs_modify_file?",
          answer_type: { type: "boolean" },
          exclusive: true,
          persistence: "none",
          acts: true,
        },
        acts: true,
        outcome: "approved",
        answered_by: { kind: "user", channel: "terminal", auth: "os_user" },
        asked_at: time(3),
        answered_at: time(3),
      },
      {
        ...place,
        turn: 1,
        id: "call_1.apply_changes.1",
        kind: "question",
        tool: "fs_modify_file",
        arguments: { path: "package.json", line: 3 },
        acts: false,
        tool_call_id: "call_1",
        question_id: "apply_changes",
        label: "fs_modify_file",
        source: { source: "tool", name: "fs_modify_file" },
        question: {
          text: "Apply this change?",
          context: "-1.1.4\n+1.2.0",
          answer_type: { type: "boolean" },
          default: true,
        },
        outcome: "answered",
        answer: true,
        answered_by: { kind: "user", channel: "terminal", auth: "os_user" },
        asked_at: time(4),
        answered_at: time(5),
      },
      {
        ...place,
        turn: 2,
        id: "call_2.otp.1",
        kind: "question",
        tool: "npm_publish",
        arguments: { tag: "next" },
        acts: false,
        tool_call_id: "call_2",
        question_id: "otp",
        label: "npm_publish",
        source: { source: "tool", name: "npm_publish" },
        question: { text: "One-time password", answer_type: { type: "secret" } },
        outcome: "redacted",
        answered_by: { kind: "user", channel: "terminal", auth: "os_user" },
        asked_at: time(14),
        answered_at: time(15),
      },
      {
        ...place,
        turn: 2,
        id: "call_2.announce.1",
        kind: "question",
        tool: "npm_publish",
        arguments: { tag: "next" },
        acts: false,
        tool_call_id: "call_2",
        question_id: "announce",
        label: "assistant",
        source: { source: "assistant" },
        question: {
          text: "Announce it where?",
          answer_type: {
            type: "select",
            options: [{ value: "web", description: "the site" }, { value: "mail" }],
          },
          exclusive: true,
          persistence: "none",
        },
        outcome: "cancelled",
        reason: "no_prompt_backend",
        asked_at: time(16),
        answered_at: time(17),
      },
    ]);
  });

  test("pairs questions of older records with repeated IDs in order", async () => {
    const project = new Project();
    const legacy = placeLegacy(project);
    const common = {
      workspace: project.root,
      conversation: legacy.id,
      title: "Segfault in iter_mut",
      turn: 1,
      id: "fs_modify_file_0.apply_changes",
      kind: "question",
      tool: "fs_modify_file",
      label: "fs_modify_file",
      acts: false,
      source: { source: "tool", name: "fs_modify_file" },
      question: {
        text: "Do you want to apply the following patch?\n\n-old\n+new",
        answer_type: { type: "boolean" },
        default: true,
      },
    };
    expect(jsonLines(await project.jp("inquiry", "ls", "--format", "json"))).toEqual([
      {
        ...common,
        outcome: "answered",
        answer: true,
        asked_at: time(-863_997),
        answered_at: time(-863_996),
      },
      {
        ...common,
        outcome: "answered",
        answer: false,
        asked_at: time(-863_993),
        answered_at: time(-863_992),
      },
      { ...common, outcome: "unanswered", asked_at: time(-863_989) },
    ]);
  });

  test("never pairs a question with a response from another turn", async () => {
    const project = new Project();
    project.place({
      second: 0,
      config: {},
      events: [
        turnStart(0),
        question(1, "a.b"),
        turnStart(2),
        answer(3, "a.b", { answer: true }),
        question(4, "a.b"),
        answer(5, "a.b", { answer: false }),
      ],
    });
    const asked = jsonLines(await project.jp("inquiry", "ls", "--format", "json"));
    expect(asked).toEqual([
      expect.objectContaining({ turn: 1, outcome: "unanswered" }),
      expect.objectContaining({ turn: 2, outcome: "answered", answer: false }),
    ]);
  });

  test("never shows an answer that a file should not contain", async () => {
    const project = new Project();
    const { id } = project.place({
      second: 0,
      config: {},
      events: [
        request(0, "Hi."),
        question(1, "a.b.1", { text: "Password?", answer_type: { type: "secret" } }),
        answer(2, "a.b.1", { outcome: "redacted", answer: "hunter2" }),
      ],
    });
    const commands = [
      ["inquiry", "ls"],
      ["inquiry", "ls", "--format", "json"],
      ["inquiry", "show", "a.b.1"],
      ["inquiry", "show", "a.b.1", "--format", "json"],
      ["conversation", "print", id],
      ["conversation", "print", id, "--format", "markdown"],
      ["conversation", "print", id, "--format", "json"],
      ["conversation", "show", id, "--format", "json"],
    ];
    const outputs = await Promise.all(commands.map((words) => project.jp(...words)));
    expect(outputs.map(({ status, stdout }) => [status, stdout.includes("hunter2")])).toEqual(
      commands.map(() => [0, false]),
    );
  });
});

function askPermission(second: number, id: string, fields: JsonObject): JsonObject {
  const about = { id, tool_call_id: id.split(":")[0] ?? "", action: "run" };
  return { timestamp: time(second), type: "permission_request", ...about, ...fields };
}

describe("decisions about calls", () => {
  const DIGEST = "5".repeat(64);
  const subject = { digest: DIGEST, subject_version: 1, subject_parts: { arguments: "5555" } };

  /** One that was approved, made void and asked again, and others that wait. */
  function placeDecisions(project: Project): string {
    const origin = { type: "mcp", server: "docs", tool: "find", command: "npx  docs" };
    const asked = { ...subject, origin, folder: "sub dir" };
    const { id } = project.place({
      second: 0,
      config: {},
      events: [
        turnStart(0),
        request(1, "Go."),
        call(2, "call_1", "find", { text: "a  b\nc", page: 2 }),
        call(2, "call_2", "show"),
        call(2, "call_3", "list"),
        askPermission(3, "call_1:run:1", { tool: "find", ...asked }),
        permission(4, "call_1", {
          id: "call_1:run:1",
          tool: "find",
          action: "run",
          digest: DIGEST,
        }),
        { timestamp: time(5), type: "decision_void", id: "call_1:run:1", changed: ["definition"] },
        askPermission(6, "call_1:run:2", { tool: "find", ...asked, replaces: "call_1:run:1" }),
        askPermission(7, "call_2:deliver:1", {
          tool: "show",
          action: "deliver",
          result: { content: Buffer.from("one\ntwo").toString("base64"), is_error: false },
        }),
        permission(8, "call_2", {
          id: "call_2:deliver:1",
          tool: "show",
          action: "deliver",
          decision: "denied",
          reason: "No.",
        }),
        permission(9, "call_3", {
          tool: "list",
          action: "run",
          decided_by: { kind: "policy", key: "conversation.tools.list.run" },
        }),
      ],
    });
    return id;
  }

  test("are listed with their arguments and what was decided, and why one is void", async () => {
    const project = new Project();
    const id = placeDecisions(project);
    expect(await project.jp("inquiry", "ls")).toEqual(
      printed(
        lines(
          id,
          "  turn 1  find: Run find?",
          "    • find",
          "      text:",
          "        │ a  b",
          "        │ c",
          "      page: 2",
          "    approved (you, via terminal), void: the server's description of the tool changed, 2 days ago  call_1:run:1",
          "  turn 1  find: Run find?",
          "    • find",
          "      text:",
          "        │ a  b",
          "        │ c",
          "      page: 2",
          "    pending, 2 days ago  call_1:run:2",
          "  turn 1  show: Show the model the result of show?",
          '    denied, reason: "No." (you, via terminal), 2 days ago  call_2:deliver:1',
        ),
      ),
    );
  });

  test("are found by their outcome, by who decided, and by their kind", async () => {
    const project = new Project();
    placeDecisions(project);
    const filters: readonly (readonly [flags: string, ids: readonly string[]])[] = [
      ["--outcome void", ["call_1:run:1"]],
      ["--outcome pending", ["call_1:run:2"]],
      ["--outcome answered", ["call_2:deliver:1"]],
      ["--outcome denied --outcome approved", ["call_2:deliver:1"]],
      ["--by policy", ["call_3:run:1"]],
      ["--by user", ["call_1:run:1", "call_2:deliver:1"]],
      ["--kind delivery", ["call_2:deliver:1"]],
    ];
    const found = filters.map(async ([flags]) => {
      const words = ["inquiry", "ls", "--format", "json", ...flags.split(" ")];
      return [flags, idsIn(await project.jp(...words))];
    });
    expect(await Promise.all(found)).toEqual(filters);
  });

  test("are shown in full, with the source, the folder, the digest and what has changed", async () => {
    const project = new Project();
    const id = placeDecisions(project);
    expect(await project.jp("inquiry", "show", `${id}/call_1:run:2`)).toEqual(
      printed(
        lines(
          "ID            call_1:run:2",
          `Conversation  ${id}, turn 1`,
          "Kind          permission",
          "Asked by      assistant",
          "Tool          find",
          "Tool call     call_1",
          "Question      Run find?",
          "Answer type   boolean; only a person may answer; a yes runs or changes something",
          `Asked at      ${time(6)} UTC`,
          "Changed       since it was decided: the server's description of the tool",
          "Outcome       pending",
          `Digest        ${DIGEST}`,
          "Call",
          "  • find",
          "    text:",
          "      │ a  b",
          "      │ c",
          "    page: 2",
          '  Source: MCP server "docs" ("npx<2 spaces>docs"), tool "find"',
          '  Folder: "sub dir"',
        ),
      ),
    );
    const { stdout } = await project.jp("inquiry", "show", "call_2:deliver:1");
    expect(stdout.split("\n").slice(-4)).toEqual(["Result", "  one", "  two", ""]);
  });

  test("are shown by jp conversation show and print, with what made one void", async () => {
    const project = new Project();
    const id = placeDecisions(project);
    const shown = await project.jp("conversation", "show", id);
    const text = await project.jp("conversation", "print", id);
    const markdown = await project.jp("conversation", "print", id, "--format", "markdown");
    expect([
      shown.stdout.match(/^Decisions .*$/m)?.[0],
      text.stdout.match(/^.*void.*$/gm),
      markdown.stdout.match(/^.*Void.*$/gm),
    ]).toEqual([
      "Decisions   1 void, 1 pending, 1 denied",
      ["  void: the server's description of the tool changed"],
      [
        `## Decision Void on ${time(5)}`,
        "Void: the server's description of the tool changed (call_1:run:1)",
      ],
    ]);
  });
});

describe("a filter", () => {
  const deciders = {
    "by-user": { kind: "user", channel: "terminal", auth: "os_user" },
    "by-assistant": { kind: "assistant", model: "ollama/qwen3" },
    "by-config": { kind: "config", key: "a.b.answer" },
    "by-remembered": { kind: "remembered", from: "by-user" },
    "by-policy": { kind: "policy", key: "a.b.run" },
    "by-default": { kind: "default" },
    "by-answers_file": { kind: "answers_file", entry: "answers[0]" },
    "by-tool": { kind: "tool" },
  };

  function placeAll(project: Project): string {
    const closed = Object.entries(deciders).flatMap(([id, by], index) => [
      question(10 * index, id),
      answer(10 * index + 1, id, { outcome: "answered", answer: true, answered_by: by }),
    ]);
    const { id } = project.place({
      second: 0,
      title: "All",
      config: {},
      events: [
        ...closed,
        question(90, "secret"),
        answer(91, "secret", { outcome: "redacted", answered_by: deciders["by-user"] }),
        question(92, "cancelled"),
        answer(93, "cancelled", { outcome: "cancelled", reason: "user" }),
        question(94, "open"),
        question(95, "nobody-knows-who"),
        answer(96, "nobody-knows-who", { answer: 1 }),
      ],
    });
    return id;
  }

  const allKinds = Object.keys(deciders);

  test("keeps only matching questions", async () => {
    const project = new Project();
    placeAll(project);
    const filters: readonly (readonly [flags: string, ids: readonly string[]])[] = [
      ["--outcome answered", [...allKinds, "nobody-knows-who"]],
      ["--outcome redacted", ["secret"]],
      ["--outcome cancelled --outcome unanswered", ["cancelled", "open"]],
      ["--by user", ["by-user", "secret"]],
      ["--by assistant --by config", ["by-assistant", "by-config"]],
      ["--by remembered --by policy --by default", allKinds.slice(3, 6)],
      ["--by answers_file --by tool", allKinds.slice(6)],
      ["--by user --outcome redacted", ["secret"]],
      ["--by user --outcome cancelled", []],
    ];
    const found = filters.map(async ([flags]) => {
      const words = ["inquiry", "ls", "--format", "json", ...flags.split(" ")];
      return [flags, idsIn(await project.jp(...words))];
    });
    expect(await Promise.all(found)).toEqual(filters);
  });

  test("by conversation keeps its questions; without one, archived conversations are included", async () => {
    const project = new Project();
    const one = project.place({ second: 0, title: "One", config: {}, events: [question(0, "1")] });
    project.place({ second: 1, title: "Two", where: "local", events: [question(1, "2")] });
    project.place({ second: 2, title: "Three", where: "archive", events: [question(2, "3")] });
    const list = async (...flags: readonly string[]) =>
      idsIn(await project.jp("inquiry", "ls", "--format", "json", ...flags));
    expect(
      await Promise.all([list(), list("--conversation", one.id), list("-c", "two", "-c", "three")]),
    ).toEqual([["1", "2", "3"], ["1"], ["2", "3"]]);
  });

  test("that matches nothing says so on stderr", async () => {
    const project = new Project();
    placeAll(project);
    expect(await project.jp("inquiry", "ls", "--outcome", "cancelled", "--by", "user")).toEqual({
      status: 0,
      stdout: "",
      stderr: "No matching questions.\n",
    });
  });

  test.each([
    [
      ["--outcome", "maybe"],
      "answered, redacted, cancelled, approved, denied, edited, pending, unanswered, void",
    ],
    [["--kind", "guess"], "question, permission, delivery, in_doubt"],
    [
      ["--by", "nobody"],
      "user, assistant, config, remembered, policy, default, answers_file, tool",
    ],
  ])(
    "with an unknown value is a usage error that lists the known ones: %j",
    async (flags, known) => {
      const project = new Project();
      const { status, stdout, stderr } = await project.jp("inquiry", "ls", ...flags);
      expect({
        status,
        stdout,
        listsChoices: stderr.includes(`Allowed choices are ${known}.`),
      }).toEqual({
        status: 2,
        stdout: "",
        listsChoices: true,
      });
    },
  );
});

describe("one question in full", () => {
  test("is shown as a list of fields, followed by its context", async () => {
    const project = new Project();
    const { id } = placeRelease(project);
    expect(await project.jp("inquiry", "show", "call_1.apply_changes.1")).toEqual(
      printed(
        lines(
          "ID            call_1.apply_changes.1",
          `Conversation  ${id}, turn 1`,
          "Kind          question",
          "Asked by      fs_modify_file (tool)",
          "Tool          fs_modify_file",
          "Tool call     call_1",
          "Question id   apply_changes",
          "Question      Apply this change?",
          "Answer type   boolean",
          "Default       true",
          `Asked at      ${time(4)} UTC`,
          "Outcome       yes (you, via terminal)",
          `Closed at     ${time(5)} UTC`,
          "Call",
          '  • fs_modify_file(path: "package.json", line: 3)',
          "Context",
          "  -1.1.4",
          "  +1.2.0",
        ),
      ),
    );
  });

  test("shows the options and the restrictions", async () => {
    const project = new Project();
    const { id } = placeRelease(project);
    const { stdout } = await project.jp("inquiry", "show", "call_2.announce.1");
    expect(stdout).toBe(
      lines(
        "ID            call_2.announce.1",
        `Conversation  ${id}, turn 2`,
        "Kind          question",
        "Asked by      assistant",
        "Tool          npm_publish",
        "Tool call     call_2",
        "Question id   announce",
        "Question      Announce it where?",
        "Answer type   select; only a person may answer; asked every time",
        `Asked at      ${time(16)} UTC`,
        "Outcome       cancelled (no_prompt_backend)",
        `Closed at     ${time(17)} UTC`,
        "Call",
        '  • npm_publish(tag: "next")',
        "Options",
        '  "web": the site',
        '  "mail"',
      ),
    );
  });

  test("is shown once for each use of its ID", async () => {
    const project = new Project();
    placeLegacy(project);
    const { stdout } = await project.jp("inquiry", "show", "fs_modify_file_0.apply_changes");
    expect(stdout.match(/^Outcome .*$/gm)).toEqual([
      "Outcome       yes",
      "Outcome       no",
      "Outcome       unanswered",
    ]);
  });

  test("names the question that a remembered answer came from", async () => {
    const project = new Project();
    const answeredBy = { kind: "remembered", from: "call_1.sure.1" };
    const events = [
      question(0, "call_2.sure.1"),
      answer(1, "call_2.sure.1", { outcome: "answered", answer: true, answered_by: answeredBy }),
    ];
    project.place({ second: 0, title: "One", config: {}, events });
    const { stdout } = await project.jp("inquiry", "show", "call_2.sure.1");
    expect(stdout.match(/^(Outcome|Remembered) .*$/gm)).toEqual([
      "Outcome          yes (you said so earlier in this turn)",
      "Remembered from  call_1.sure.1",
    ]);
  });

  test("can be limited to some conversations, and printed as JSON", async () => {
    const project = new Project();
    const events = [question(0, "a.b")];
    project.place({ second: 0, title: "One", config: {}, events });
    const two = project.place({ second: 1, title: "Two", config: {}, events });
    const words = ["a.b", "--conversation", "two", "--format", "json"];
    expect(jsonLines(await project.jp("inquiry", "show", ...words))).toEqual([
      {
        workspace: project.root,
        conversation: two.id,
        title: "Two",
        turn: 1,
        id: "a.b",
        kind: "question",
        tool: "a_tool",
        label: "a_tool",
        acts: false,
        source: { source: "tool", name: "a_tool" },
        question: { text: "Go on?", answer_type: { type: "boolean" } },
        outcome: "unanswered",
        asked_at: time(0),
      },
    ]);
  });

  test("is found by every form of its ID that is printed, and by the beginning of one", async () => {
    const project = new Project();
    const { id } = placeRelease(project);
    const idOf = async (word: string) => {
      const shown = await project.jp("inquiry", "show", word, "--format", "json");
      return [shown.status, ...idsIn(shown)];
    };
    expect({
      whole: await idOf("call_2.otp.1"),
      listed: await idOf(`${id}/call_2.otp.1`),
      beginning: await idOf("call_2.o"),
      listedBeginning: await idOf(`${id}/call_1:`),
      call: await idOf("call_2"),
      callOfConversation: await idOf(`${id}/call_1`),
    }).toEqual({
      whole: [0, "call_2.otp.1"],
      listed: [0, "call_2.otp.1"],
      beginning: [0, "call_2.otp.1"],
      listedBeginning: [0, "call_1:run:1"],
      call: [0, "call_2.otp.1", "call_2.announce.1"],
      callOfConversation: [0, "call_1:run:1", "call_1.apply_changes.1"],
    });
  });

  test("is found by a beginning that it shares only with what config has decided", async () => {
    const project = new Project();
    const byConfig = { kind: "policy", key: "conversation.tools.a_tool.run" };
    const events = [
      turnStart(0),
      request(0, "Go."),
      call(1, "call_1", "a_tool"),
      permission(1, "call_1", { id: "call_1:run:1", decided_by: byConfig }),
      question(2, "call_1.q.1", { tool_call_id: "call_1", question_id: "q" }),
    ];
    project.place({ second: 0, events });
    const shown = await project.jp("inquiry", "show", "call_", "--format", "json");
    expect(idsIn(shown)).toEqual(["call_1.q.1"]);
  });

  test("with an ID that cannot be printed is found by what is printed", async () => {
    const project = new Project();
    project.place({ second: 0, events: [question(0, "a\u001b[2Jb.1")] });
    const { stdout } = await project.jp("inquiry", "ls");
    const listed = stdout.trim().split("  ").at(-1) ?? "";
    expect(idsIn(await project.jp("inquiry", "show", listed, "--format", "json"))).toEqual([
      "a\u001b[2Jb.1",
    ]);
  });

  test("is not guessed: an ambiguous beginning is an error that lists the candidates", async () => {
    const project = new Project();
    const { id } = placeRelease(project);
    expect(await project.jp("inquiry", "show", "call_")).toEqual({
      status: 1,
      stdout: "",
      stderr: lines(
        "jp: call_ is ambiguous:",
        `  ${id}/call_1:run:1`,
        `  ${id}/call_1.apply_changes.1`,
        `  ${id}/call_2.otp.1`,
        `  ${id}/call_2.announce.1`,
      ),
    });
  });

  test("that does not exist is an error", async () => {
    const project = new Project();
    placeRelease(project);
    expect(await project.jp("inquiry", "show", "call_9.x.1")).toEqual({
      status: 1,
      stdout: "",
      stderr: lines("jp: Question call_9.x.1 not found.", "`jp inquiry ls` lists all questions."),
    });
  });
});
