import { describe, expect, test } from "vitest";
import { verifies } from "../conformance/manifest.ts";
import { answer, message, question, request, result, call, time, turnStart } from "./records.ts";
import { placeLegacy, placeRelease } from "./samples.ts";
import { type Finished, jsonLines, lines, printed, Project } from "./support.ts";

const RULE = (turn: number, ago: string) => `── turn ${turn}, ${ago} `.padEnd(80, "─");

function placeTurns(project: Project, count: number) {
  const events = Array.from({ length: count }, (_, index) => [
    turnStart(index * 10),
    request(index * 10 + 1, `Request ${index + 1}.`),
  ]);
  return project.place({ second: 0, config: {}, events: events.flat() });
}

/** The requests in an output. */
function requestsIn({ stdout }: Finished): string[] {
  return stdout.match(/Request \d/g) ?? [];
}

describe("a printed conversation", () => {
  test("shows messages, and calls with their questions and results", async () => {
    const project = new Project();
    const { id } = placeRelease(project);
    const { stdout, ...rest } = await project.jp("conversation", "print", id);
    expect(rest).toEqual({ status: 0, stderr: "" });
    // The rendering tests cover the position of a permission.
    expect(stdout.replace("  fs_modify_file approved by user (terminal)\n", "")).toBe(
      lines(
        RULE(1, "2 days ago"),
        "you",
        "Bump the version.",
        "",
        '✓ fs_modify_file(path: "package.json", line: 3)',
        "  ? fs_modify_file asks: Apply this change? → yes (you, via terminal)",
        "  │ Changed one line.",
        "",
        "assistant",
        "The version is 1.2.0.",
        "",
        RULE(2, "2 days ago"),
        "Ada",
        "Publish it.",
        "",
        "│ A password will be needed.",
        "",
        '✗ npm_publish(tag: "next")',
        "  ? npm_publish asks: One-time password → <redacted> (you, via terminal)",
        "  ? assistant asks: Announce it where? → cancelled (no_prompt_backend)",
        "  │ E401",
        "  │ wrong password",
        "",
        "assistant",
        "It is not published.",
        "",
      ),
    );
  });

  test("can be in the oldest format: packed, without turns, with repeated IDs", async () => {
    const project = new Project();
    const { id } = placeLegacy(project);
    const asked = "? fs_modify_file asks: Do you want to apply the following patch? …";
    expect(await project.jp("conversation", "print", id)).toEqual(
      printed(
        lines(
          RULE(1, "1 week ago"),
          "you",
          "Why does it crash?",
          "",
          '✓ fs_modify_file(path: "a.rs")',
          "  │ File modified.",
          `${asked} → yes`,
          '✗ fs_modify_file(path: "a.rs")',
          "  │ Not modified.",
          `${asked} → no`,
          '✗ fs_modify_file(path: "a.rs")',
          "  │ The inquiry failed.",
          `${asked} → no answer`,
          "",
          "assistant",
          "It is fixed.",
          "",
        ),
      ),
    );
  });

  test("can have URL-safe base64, other timestamps and inline config", async () => {
    const project = new Project();
    const content = Buffer.from("ÿþ? ~ok").toString("base64url");
    const { id } = project.place({
      second: 0,
      events: [
        { type: "config_delta", timestamp: time(0), assistant: { name: "jp" } },
        { ...request(1, "Hi."), timestamp: "2020-01-02T03:04:05.123456789+01:00" },
        call(2, "call_1", "look"),
        { ...result(3, "call_1", ""), content },
      ],
    });
    const { status, stdout, stderr } = await project.jp("conversation", "print", id);
    expect({ status, stderr, body: stdout.split("\n").slice(1) }).toEqual({
      status: 0,
      stderr: "",
      body: ["you", "Hi.", "", "✓ look()", "  │ ÿþ? ~ok", "", ""],
    });
  });

  test("leaves out reasoning with --no-reasoning", async () => {
    const project = new Project();
    const { id } = placeRelease(project);
    const [shown, hidden] = await Promise.all([
      project.jp("conversation", "print", id),
      project.jp("conversation", "print", id, "--no-reasoning"),
    ]);
    expect(hidden.stdout).toBe(shown.stdout.replace("│ A password will be needed.\n\n", ""));
  });

  test("folds long results unless --full is given", async () => {
    const project = new Project();
    const content = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`);
    const { id } = project.place({
      second: 0,
      config: {},
      events: [call(0, "call_1", "look"), result(1, "call_1", content.join("\n"))],
    });
    const [folded, full] = await Promise.all([
      project.jp("conversation", "print", id),
      project.jp("conversation", "print", id, "--full"),
    ]);
    const shown = content.map((line) => `  │ ${line}`);
    const head = [RULE(1, "2 days ago"), "✓ look()"];
    expect([folded, full]).toEqual([
      printed(lines(...head, ...shown.slice(0, 10), "  │ … 2 more lines", "")),
      printed(lines(...head, ...shown, "")),
    ]);
  });

  test("can be stored twice: the copy that changed last is read", async () => {
    const project = new Project();
    project.place({ second: 0, config: {}, events: [request(0, "Older.")] });
    const { id } = project.place({
      second: 0,
      where: "local",
      config: {},
      events: [request(0, "Newer.")],
    });
    const { stdout } = await project.jp("conversation", "print", id);
    expect(stdout).toBe(lines(RULE(1, "2 days ago"), "you", "Newer.", ""));
  });
});

describe("some turns of a conversation", () => {
  test("are the first, the last, or a range", async () => {
    const project = new Project();
    const { id } = placeTurns(project, 4);
    const ranges: readonly (readonly [flags: string, requests: readonly string[]])[] = [
      ["--first 2", ["Request 1", "Request 2"]],
      ["--last 2", ["Request 3", "Request 4"]],
      ["--first 0", []],
      ["--last 9", ["Request 1", "Request 2", "Request 3", "Request 4"]],
      ["--turn 3", ["Request 3"]],
      ["--turn 2..3", ["Request 2", "Request 3"]],
      ["--turn 4..", ["Request 4"]],
      ["--turn ..2", ["Request 1", "Request 2"]],
    ];
    const found = ranges.map(async ([flags]) => [
      flags,
      requestsIn(await project.jp("conversation", "print", id, ...flags.split(" "))),
    ]);
    expect(await Promise.all(found)).toEqual(ranges);
  });

  test("are the same in every format, and keep their numbers", async () => {
    const project = new Project();
    const { id } = placeTurns(project, 3);
    const print = (format: string) =>
      project.jp("conversation", "print", id, "--turn", "2", "--format", format);
    const [text, markdown, json] = await Promise.all(["text", "markdown", "json"].map(print));
    expect([text, markdown, jsonLines(json as Finished)]).toEqual([
      printed(lines(RULE(2, "2 days ago"), "you", "Request 2.", "")),
      printed(lines(`## You on ${time(11)}`, "", "Request 2.")),
      [turnStart(10), request(11, "Request 2.")],
    ]);
  });

  test("at the end keep their numbers, whatever the layout of the record", async () => {
    const project = new Project();
    const leading = request(0, "Before the first turn.");
    const turns = [1, 2].flatMap((turn) => [turnStart(turn), request(turn, `Request ${turn}.`)]);
    const usual = project.place({ second: 0, config: {}, events: [leading, ...turns] });
    const minified = project.place({
      second: 1,
      config: {},
      events: JSON.stringify([leading, ...turns]),
    });
    const last = lines(RULE(3, "2 days ago"), "you", "Request 2.", "");
    for (const { id } of [usual, minified]) {
      expect(await project.jp("conversation", "print", id, "--last", "1")).toEqual(printed(last));
    }
  });

  test("out of range are a usage error", async () => {
    const project = new Project();
    const { id } = placeTurns(project, 4);
    const wrong: Readonly<Record<string, string>> = {
      "--turn 5": "Turn 5 is out of range: the conversation has 4 turns.",
      "--turn 0": "Turn 0 is out of range: the conversation has 4 turns.",
      "--turn 3..2": "Turn 3..2 is out of range: the conversation has 4 turns.",
      "--turn x": "Not a range of turns: x\nWrite 3, 2..5, 4.. or ..2.",
      "--turn 1 --last 1": "Use only one of --first, --last and --turn.",
    };
    const found = Object.keys(wrong).map((flags) =>
      project.jp("conversation", "print", id, ...flags.split(" ")),
    );
    expect(await Promise.all(found)).toEqual(
      Object.values(wrong).map((words) => ({ status: 2, stdout: "", stderr: `jp: ${words}\n` })),
    );
  });
});

describe("a conversation as Markdown", () => {
  test("ends each question with its answer, a mark or the reason", async () => {
    verifies(
      "082/markdown/answered-line",
      "082/markdown/redacted-line",
      "082/markdown/cancelled-line",
      "082/markdown/unknown-reason-shown-verbatim",
    );
    const project = new Project();
    const { id } = project.place({
      second: 0,
      title: "Questions",
      config: {},
      events: [
        question(0, "a.1"),
        answer(1, "a.1", { outcome: "answered", answer: "next" }),
        question(2, "a.2", { answer_type: { type: "secret" } }),
        answer(3, "a.2", { outcome: "redacted" }),
        question(4, "a.3"),
        answer(5, "a.3", { outcome: "cancelled", reason: "backend_error" }),
        question(6, "a.4"),
        answer(7, "a.4", { outcome: "cancelled", reason: "solar_flare" }),
        question(8, "a.b", { text: "Which?\n\n-old", source: { source: "other", name: "x" } }),
        answer(9, "a.b", { answer: { deep: [1] } }),
      ],
    });
    const ends = ['Answer: "next"', "Answer: <redacted>", "Cancelled (backend_error)"];
    const sections = [...ends, "Cancelled (solar_flare)"].flatMap((end, index) => [
      `## Inquiry Request (a_tool) on ${time(2 * index)}`,
      "",
      "Go on?",
      "",
      `## Inquiry Response on ${time(2 * index + 1)}`,
      "",
      end,
      "",
    ]);
    expect(await project.jp("conversation", "print", id, "--format", "markdown")).toEqual(
      printed(
        lines(
          "# Questions",
          "",
          ...sections,
          `## Inquiry Request (x) on ${time(8)}`,
          "",
          "Which?",
          "",
          "-old",
          "",
          `## Inquiry Response on ${time(9)}`,
          "",
          'Answer: {"deep":[1]}',
        ),
      ),
    );
  });

  test("has the whole conversation, decoded", async () => {
    const project = new Project();
    const { id } = project.place({
      second: 0,
      config: {},
      events: [
        request(0, "Look."),
        call(1, "call_1", "look", { at: "ünïcode" }),
        result(2, "call_1", "```\nseen\n```"),
        message(3, "**Seen.**"),
      ],
    });
    expect(await project.jp("conversation", "print", id, "-F", "markdown")).toEqual(
      printed(
        lines(
          `## You on ${time(0)}`,
          "",
          "Look.",
          "",
          `## Tool Call Request on ${time(1)}`,
          "",
          "```json",
          "{",
          '  "id": "call_1",',
          '  "name": "look",',
          '  "arguments": {',
          '    "at": "ünïcode"',
          "  }",
          "}",
          "```",
          "",
          `## Tool Call Result on ${time(2)}`,
          "",
          "````",
          "```",
          "seen",
          "```",
          "````",
          "",
          `## Assistant on ${time(3)}`,
          "",
          "**Seen.**",
        ),
      ),
    );
  });
});

describe("a conversation as JSON", () => {
  test("has one event per line, as recorded but decoded", async () => {
    const project = new Project();
    const { id } = project.place({
      second: 0,
      config: {},
      events: [
        turnStart(0),
        { ...request(1, "Hi.", "Ada"), from_a_newer_version: [1] },
        call(2, "call_1", "look", { at: "ünïcode", line: 3 }),
        question(3, "call_1.go", { default: true }),
        answer(4, "call_1.go", { answer: false }),
        result(5, "call_1", "two\nlines", true),
        { timestamp: time(6), type: "from_the_future" },
        message(7, "Done."),
      ],
    });
    expect(jsonLines(await project.jp("conversation", "print", id, "--format", "json"))).toEqual([
      turnStart(0),
      { ...request(1, "Hi.", "Ada"), from_a_newer_version: [1] },
      { ...call(2, "call_1", "look"), arguments: { at: "ünïcode", line: 3 } },
      question(3, "call_1.go", { default: true }),
      answer(4, "call_1.go", { outcome: "answered", answer: false }),
      { ...result(5, "call_1", "", true), content: "two\nlines" },
      message(7, "Done."),
    ]);
  });
});
