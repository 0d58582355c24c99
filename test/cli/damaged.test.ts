import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { laidOut } from "../../src/stores/record-elements.fixture.ts";
import { runCommand } from "../support/command-host.ts";
import { ModelServer } from "./model-server.ts";
import { kindsOf, query, queryProject, recordOf } from "./query-project.ts";
import { answer, message, question, request, time, turnStart } from "./records.ts";
import { placeRelease } from "./samples.ts";
import { type PlacedConversation, Project } from "./support.ts";

/** The first events of a record whose last write was cut off. */
const WHOLE = laidOut([request(0, "Hi."), question(1, "a.b"), answer(2, "a.b", { answer: 1 })]);
const TORN = `${WHOLE.slice(0, -"\n]\n".length)},\n  {\n    "timestamp": "20`;
/** A record with invalid JSON in the middle. */
const DAMAGED = WHOLE.replace('"Go on?"', "Go on?");

function torn(project: Project): PlacedConversation {
  return project.place({ second: 0, title: "Torn", config: {}, events: TORN });
}

describe("a record whose last write was cut off", () => {
  test.each([
    ["print", ["conversation", "print", "torn", "--format", "json"], 3],
    ["grep", ["conversation", "grep", "hi"], 1],
    ["show", ["conversation", "show", "torn", "--format", "json"], 1],
    ["inquiry ls", ["inquiry", "ls", "--format", "json"], 1],
    ["inquiry show", ["inquiry", "show", "a.b", "--format", "json"], 1],
  ])("is read to its last whole event by %s, with a warning", async (_name, words, count) => {
    const project = new Project();
    const { events } = torn(project);
    const { status, stdout, stderr } = await project.jp(...words);
    expect({ status, lines: stdout.trimEnd().split("\n").length, stderr }).toEqual({
      status: 0,
      lines: count,
      stderr: expect.stringMatching(
        `^warning: ${events}: the last write was cut off: 2\\d bytes after the last complete event\n$`,
      ) as unknown,
    });
  });

  test("is listed like any other", async () => {
    const project = new Project();
    const { id } = torn(project);
    const { status, stdout, stderr } = await project.jp("conversation", "ls");
    expect({ status, stderr, line: stdout.split("\n")[1] }).toEqual({
      status: 0,
      stderr: "",
      line: `  ${id}  2 days ago  Torn`,
    });
  });

  test("is still torn after it was read", async () => {
    const project = new Project();
    torn(project);
    const before = snapshotOf(project.root);
    await project.jp("conversation", "print", "torn");
    expect(snapshotOf(project.root)).toEqual(before);
  });

  test("can be an empty file", async () => {
    const project = new Project();
    const { id, events } = project.place({ second: 0, config: {}, events: "" });
    expect(await project.jp("conversation", "print", id)).toEqual({
      status: 0,
      stdout: "",
      stderr: `warning: ${events}: it is empty\n(no turns)\n`,
    });
  });
});

describe("a record that is damaged in the middle", () => {
  test("is shown without the damaged part, with a warning that says where it is", async () => {
    const project = new Project();
    const { id, events } = project.place({ second: 0, config: {}, events: DAMAGED });
    const { status, stdout, stderr } = await project.jp(
      "conversation",
      "print",
      id,
      "--format",
      "json",
    );
    const at = DAMAGED.indexOf("{", DAMAGED.indexOf("Hi."));
    expect({ status, types: stdout.match(/"type":"\w+"/g), stderr }).toEqual({
      status: 0,
      types: ['"type":"chat_request"', '"type":"inquiry_response"'],
      stderr: expect.stringMatching(
        `^warning: ${events}: unreadable event at byte ${at} \\(\\d+ bytes\\)\n$`,
      ) as unknown,
    });
  });

  test("can be something other than a list", async () => {
    const project = new Project();
    const { id, events } = project.place({ second: 0, config: {}, events: '{"events": []}\n' });
    expect(await project.jp("conversation", "print", id)).toEqual({
      status: 0,
      stdout: "",
      stderr: `warning: ${events}: not a list of events at byte 0 (15 bytes)\n(no turns)\n`,
    });
  });
});

function empty(file: string): void {
  truncateSync(file, 0);
}

function zero(file: string): void {
  writeFileSync(file, Buffer.alloc(readFileSync(file).length));
}

function emptyList(file: string): void {
  writeFileSync(file, "[]\n");
}

/** Damages the message of the open turn. */
function damage(file: string): void {
  writeFileSync(file, readFileSync(file, "utf8").replace('"content": "x"', '"content": "x'));
}

describe("a record that has lost its open turn", () => {
  const ASKER = {
    name: "asker",
    questions: [{ id: "q", text: "Go on?", answer_type: { type: "boolean" } }],
  };
  const CALLING = { text: "I call.", calls: [{ name: "asker" }] };

  async function lost(server: ModelServer, lose: (file: string) => void) {
    const project = queryProject({ server, tools: [ASKER] });
    expect((await query(project, ["x", "--defer"])).status).toBe(4);
    const file = path.join(recordOf(project).folder, "events.json");
    lose(file);
    return { project, file };
  }

  test.each([
    ["emptied", empty],
    ["zeroed", zero],
    ["damaged", damage],
    ["an empty list", emptyList],
  ])("is named when pending questions are listed, with status 1: %s", async (_name, lose) => {
    await using server = await ModelServer.start([CALLING]);
    const { project, file } = await lost(server, lose);
    const { status, stdout, stderr } = await project.jp("inquiry", "ls", "--pending");
    expect({
      status,
      isListed: stdout.includes("Go on?"),
      isNamed: stderr.startsWith(`warning: ${file}: `),
      isCalm: stderr.includes("Nothing is waiting"),
    }).toEqual({ status: 1, isListed: true, isNamed: true, isCalm: false });
  });

  test.each([
    ["emptied", empty],
    ["zeroed", zero],
    ["damaged", damage],
    ["an empty list", emptyList],
  ])("is continued with the copy in the user's folder: %s", async (_name, lose) => {
    await using server = await ModelServer.start([CALLING, "Done."]);
    const { project, file } = await lost(server, lose);
    const { id } = JSON.parse(
      (await project.jp("inquiry", "ls", "--pending", "--format", "json")).stdout,
    ) as { id: string };
    const answered = await project.jp("inquiry", "answer", id, "yes");
    const { status, stdout } = await query(project, ["--continue-turn"]);
    expect({
      answered: answered.status,
      isNamed: answered.stderr.includes(file),
      status,
      isDone: stdout.includes("Done."),
      last: kindsOf(recordOf(project)).findLast((kind) => kind !== "token_usage"),
    }).toEqual({ answered: 0, isNamed: true, status: 0, isDone: true, last: "chat_response" });
  });

  test("is named by commands that read records: an empty list", async () => {
    await using server = await ModelServer.start([CALLING]);
    const { project, file } = await lost(server, emptyList);
    const results = await Promise.all([
      project.jp("conversation", "print"),
      project.jp("conversation", "print", "--last", "1"),
      project.jp("inquiry", "ls"),
      project.jp("doctor"),
    ]);
    expect({
      areNamed: results.map(({ stdout, stderr }) => `${stdout}${stderr}`.includes(`${file}: `)),
      events: readFileSync(file, "utf8"),
    }).toEqual({ areNamed: results.map(() => true), events: "[]\n" });
  });

  test("is restored after its bytes were set aside: an empty list", async () => {
    await using server = await ModelServer.start([CALLING, "Done."]);
    const { project, file } = await lost(server, emptyList);
    const { stderr } = await query(project, ["--discard-turn"]);
    expect({
      isNamed: stderr.includes("restored the open turn from the copy in your own folder"),
      aside: readFileSync(file.replace(/\.json$/, ".torn"), "utf8"),
    }).toEqual({ isNamed: true, aside: "[]\n" });
  });

  test("is complete if the user has removed all events with jp", async () => {
    await using server = await ModelServer.start([CALLING]);
    const { project, file } = await lost(server, () => undefined);
    const variables = { ...project.variables, EDITOR: "sh -c 'echo [] > \"$0\"'" };
    const words = ["conversation", "edit", "--events"];
    const edited = await runCommand(words, { cwd: project.root, variables });
    const { status, stderr } = await project.jp("inquiry", "ls", "--pending");
    expect({
      edited: edited.status,
      events: readFileSync(file, "utf8"),
      status,
      stderr,
    }).toEqual({ edited: 0, events: "[]\n", status: 0, stderr: "Nothing is waiting.\n" });
  });

  test("is not restored where another version of it was checked out", async () => {
    await using server = await ModelServer.start(["First.", CALLING]);
    const project = queryProject({ server, tools: [ASKER] });
    await query(project, ["Hi."]);
    const file = path.join(recordOf(project).folder, "events.json");
    const earlier = readFileSync(file);
    expect((await query(project, ["x", "--defer"])).status).toBe(4);
    const later = readFileSync(file);
    writeFileSync(file, earlier);
    const without = await project.jp("inquiry", "ls", "--pending");
    writeFileSync(file, later);
    const again = await project.jp("inquiry", "ls", "--pending");
    expect(
      [without, again].map(({ status, stdout }) => [status, stdout.includes("Go on?")]),
    ).toEqual([
      [0, false],
      [0, true],
    ]);
  });

  test.each(["--continue-turn", "--discard-turn"])(
    "is not called complete if the copy is gone as well: %s",
    async (flag) => {
      await using server = await ModelServer.start([CALLING]);
      const { project, file } = await lost(server, empty);
      const [, marker] = snapshotOf(`${project.userFolder}/open-turns`);
      truncateSync(marker?.name ?? "", 0);
      const list = await project.jp("inquiry", "ls", "--pending");
      const { status, stdout, stderr } = await query(project, [flag]);
      expect({
        list: [list.status, list.stderr],
        status,
        stdout,
        isNamed: stderr.includes(`${file} is damaged: it is empty.`),
      }).toEqual({
        list: [1, `warning: ${file}: it is empty\n`],
        status: 1,
        stdout: "",
        isNamed: true,
      });
    },
  );
});

describe("an event of the wrong shape", () => {
  const events = [
    turnStart(0),
    request(1, "Hi."),
    { timestamp: time(2), type: "chat_request", content: 3 },
    message(3, "Ho."),
  ];

  test("is left out by print, with a warning that names it and the file", async () => {
    const project = new Project();
    const placed = project.place({ second: 0, config: {}, events });
    const { status, stdout, stderr } = await project.jp("conversation", "print", placed.id);
    expect({
      status,
      body: stdout.split("\n").slice(1),
      warning: stderr.replace(`${placed.events}: `, ""),
      isFileNamed: stderr.includes(placed.events),
    }).toEqual({
      status: 0,
      body: ["you", "Hi.", "", "assistant", "Ho.", "", ""],
      warning: "warning: element 2: content: expected a string, got number\n",
      isFileNamed: true,
    });
  });

  test("is reported with its position if it is in the last turns that are printed", async () => {
    const project = new Project();
    const earlier = [turnStart(0), request(1, "Earlier.")];
    const placed = project.place({ second: 0, config: {}, events: [...earlier, ...events] });
    const { stdout, stderr } = await project.jp("conversation", "print", placed.id, "--last", "1");
    expect({ body: stdout.split("\n").slice(1), warning: stderr }).toEqual({
      body: ["you", "Hi.", "", "assistant", "Ho.", "", ""],
      warning: `warning: ${placed.events}: element 4: content: expected a string, got number\n`,
    });
  });

  test("is not reported if it is before the last turns that are printed", async () => {
    const project = new Project();
    const later = [turnStart(4), request(5, "Later.")];
    const { id } = project.place({ second: 0, config: {}, events: [...events, ...later] });
    const { stdout, stderr } = await project.jp("conversation", "print", id, "--last", "1");
    expect({ body: stdout.split("\n").slice(1), stderr }).toEqual({
      body: ["you", "Later.", "", ""],
      stderr: "",
    });
  });

  test("is reported when questions are listed", async () => {
    const project = new Project();
    project.place({
      second: 0,
      config: {},
      events: [question(0, "a.b"), question(1, "a.c", { answer_type: { type: "date" } })],
    });
    const { status, stdout, stderr } = await project.jp("inquiry", "ls");
    expect({
      status,
      shown: stdout.match(/a\.[bc]/g),
      isReported: stderr.includes("answer_type.type"),
    }).toEqual({
      status: 0,
      shown: ["a.b"],
      isReported: true,
    });
  });

  test("does not change how commands number turns", async () => {
    const project = new Project();
    const { id } = project.place({
      second: 0,
      config: {},
      events: [
        turnStart(0),
        request(1, "Hi."),
        { ...turnStart(2), timestamp: "yesterday" },
        request(3, "needle"),
        question(4, "a.b"),
      ],
    });
    const [print, list, grep] = await Promise.all([
      project.jp("conversation", "print", id),
      project.jp("inquiry", "ls"),
      project.jp("conversation", "grep", "needle"),
    ]);
    const printed = print.stdout.match(/(?<=turn )\d/g)?.at(-1);
    expect({
      listed: /(?<=turn )\d/.exec(list.stdout)?.[0],
      found: /(?<=:)\d(?=:user)/.exec(grep.stdout)?.[0],
    }).toEqual({ listed: printed, found: printed });
  });
});

describe("a conversation that lacks a file", () => {
  test("without events fails to read and names the file", async () => {
    const project = new Project();
    const { id, events } = project.place({ second: 0, title: "Bare", config: {}, events: null });
    const results = await Promise.all([
      project.jp("conversation", "print", id),
      project.jp("conversation", "fork", id),
    ]);
    expect(
      results.map(({ status, stdout, stderr }) => ({
        status,
        stdout,
        isNamed: stderr.startsWith(`jp: Cannot read ${events}: `),
      })),
    ).toEqual(results.map(() => ({ status: 1, stdout: "", isNamed: true })));
  });

  test.each([
    ["inquiry ls", ["inquiry", "ls", "--format", "json"], 4],
    ["grep", ["conversation", "grep", "version"], 2],
  ])("without events does not keep %s from the others", async (_name, words, count) => {
    const project = new Project();
    const bare = project.place({ second: -10, title: "Bare", config: {}, events: null });
    placeRelease(project);
    const { status, stdout, stderr } = await project.jp(...words);
    expect({
      status,
      lines: stdout.split("\n").filter((line) => line !== "").length,
      isNamed: stderr.includes(bare.events),
    }).toEqual({ status: 0, lines: count, isNamed: true });
  });

  test("without metadata can still be read", async () => {
    const project = new Project();
    const { id } = project.place({
      second: 0,
      metadata: null,
      config: {},
      events: [request(0, "Hi.")],
    });
    const { status, stdout, stderr } = await project.jp("conversation", "print", id);
    expect({ status, stderr, body: stdout.split("\n").slice(1) }).toEqual({
      status: 0,
      stderr: "",
      body: ["you", "Hi.", "", ""],
    });
  });

  test("with a base config that is not JSON can still be read", async () => {
    const project = new Project();
    const { id } = project.place({ second: 0, config: "{", events: [request(0, "Hi.")] });
    const { status, stdout } = await project.jp("conversation", "print", id);
    expect({ status, isShown: stdout.includes("Hi.") }).toEqual({ status: 0, isShown: true });
  });

  test("with a session file that is not JSON loses only its history", async () => {
    const project = new Project();
    const release = placeRelease(project);
    project.activate(release);
    const [file] = snapshotOf(`${project.userFolder}/sessions`).slice(1);
    writeFileSync(file?.name ?? "", "{");
    const { status, stdout } = await project.jp("conversation", "path");
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${release.folder}\n` });
  });
});
