import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ModelServer } from "./model-server.ts";
import { query, queryProject } from "./query-project.ts";
import { Screen } from "./screen.ts";
import { call, message, reasoning, request, result, turnStart } from "./records.ts";
import { jsonLines, lines, Project } from "./support.ts";

/** Four turns, each with a thought and a call. */
function placeLong(project: Project) {
  const events = [1, 2, 3, 4].flatMap((turn) => [
    turnStart(turn * 10),
    request(turn * 10, `Look ${turn}`),
    reasoning(turn * 10 + 1, "I had better look."),
    call(turn * 10 + 2, `call_${turn}`, "look", { at: `tree ${turn}` }),
    result(turn * 10 + 3, `call_${turn}`, `a bird in tree ${turn}`),
    message(turn * 10 + 4, `Bird ${turn}.`),
  ]);
  return project.place({ second: 0, title: "Birds", config: {}, events });
}

function compact(project: Project, ...words: readonly string[]) {
  return project.jp("conversation", "compact", ...words);
}

describe("jp conversation compact", () => {
  test("applies the built-in rule, shows every turn, and changes no other byte", async () => {
    const project = new Project();
    const placed = placeLong(project);
    const before = readFileSync(placed.events, "utf8");
    const { stdout, stderr } = await compact(project, placed.id);
    expect([stdout, stderr]).toEqual([
      lines(
        "turn 1      kept",
        "turns 2..3  compacted (reasoning, tool calls)",
        "turn 4      kept",
      ),
      lines("To undo: jp conversation compact --reset"),
    ]);
    const after = readFileSync(placed.events, "utf8");
    expect(after.startsWith(before.slice(0, -3))).toBe(true);
    await compact(project, placed.id, "--reset");
    expect(readFileSync(placed.events, "utf8")).toBe(before);
  });

  test("compacts a copy with fork -k, and not the original", async () => {
    const project = new Project();
    const placed = placeLong(project);
    const before = readFileSync(placed.events, "utf8");
    const fork = await project.jp("conversation", "fork", placed.id, "-k", "-k", "r:..-1");
    const id = fork.stdout.trim();
    expect(fork.stderr).toBe(
      lines(
        `Compacted turns 2..3 (reasoning, tool calls). To undo: jp conversation compact ${id} --reset`,
        `Compacted turns 1..3 (reasoning). To undo: jp conversation compact ${id} --reset`,
      ),
    );
    expect(readFileSync(placed.events, "utf8")).toBe(before);
    const wrong = await project.jp("conversation", "fork", placed.id, "-k", "bogus");
    expect([wrong.status, wrong.stdout]).toEqual([2, ""]);
  });

  test("changes nothing in a dry run", async () => {
    const project = new Project();
    const placed = placeLong(project);
    const before = readFileSync(placed.events, "utf8");
    const { stdout, stderr } = await compact(
      project,
      placed.id,
      "--dry-run",
      "-s",
      "--keep-last",
      "2",
    );
    expect([stdout, stderr]).toEqual([
      lines("turn 1      kept", "turn 2      compacted (summary)", "turns 3..4  kept"),
      lines("Dry run: nothing was changed."),
    ]);
    expect(readFileSync(placed.events, "utf8")).toBe(before);
  });

  test.each([
    [["-r", "--turn", "2"], { from_turn: 1, to_turn: 1, reasoning: "strip" }],
    [["-t", "omit", "--first", "2"], { from_turn: 0, to_turn: 1, tool_calls: { policy: "omit" } }],
    [["-r", "--from", "-2"], { from_turn: 2, to_turn: 2 }],
    [["-r", "--to", "-1"], { from_turn: 1, to_turn: 3 }],
    [["-r", "--keep-first", "0", "--keep-last", "0"], { from_turn: 0, to_turn: 3 }],
    [["-k", "r+t=sres:..-2"], { from_turn: 0, to_turn: 1, reasoning: "strip" }],
    [["-k", "t:2.."], { from_turn: 1, to_turn: 3 }],
  ])("means by %j these turns", async (words, expected) => {
    const project = new Project();
    const { id } = placeLong(project);
    const [made] = jsonLines(await compact(project, id, ...words, "--format", "json"));
    expect(made).toMatchObject(expected);
  });

  test.each([[["-r", "--keep-last", "1000d"]], [["-r", "--last", "0"]]])(
    "means by %j no turn",
    async (words) => {
      const project = new Project();
      const { id } = placeLong(project);
      const { stdout, stderr } = await compact(project, id, ...words);
      expect([stdout, stderr]).toEqual(["", lines("Nothing to compact.")]);
    },
  );

  test("applies the rules of the config", async () => {
    const project = new Project();
    const { id } = placeLong(project);
    const rules =
      'conversation.compaction.rules:=[{"keep_first":"0","keep_last":2,"reasoning":"strip"}]';
    const made = jsonLines(await compact(project, id, "--cfg", rules, "--format", "json"));
    expect(made).toMatchObject([{ from_turn: 0, to_turn: 1, reasoning: "strip" }]);
    expect(made[0]).not.toHaveProperty("tool_calls");
  });

  test("summarizes with the configured model, and records the summary and its tokens", async () => {
    const usage = { prompt_tokens: 70, completion_tokens: 7, total_tokens: 77 };
    await using server = await ModelServer.start([{ text: "They saw birds.", usage }]);
    const project = queryProject({ server });
    const { id, events } = placeLong(project);
    const { status, stderr } = await compact(project, id, "-s", "birds only", "--keep-first", "0");
    expect([status, stderr]).toEqual([
      0,
      lines(
        "Summarizing turns 1..3 with llamacpp/scripted…",
        "To undo: jp conversation compact --reset",
      ),
    ]);
    expect(JSON.stringify(server.requests)).toContain("birds only");
    const added = (JSON.parse(readFileSync(events, "utf8")) as object[]).slice(-2);
    expect(added).toMatchObject([
      { type: "token_usage", purpose: "summary", input: 70, output: 7 },
      { type: "compaction", from_turn: 0, to_turn: 2, summary: { summary: "They saw birds." } },
    ]);
    const { stdout } = await project.jp("conversation", "print", id, "--compacted");
    expect(stdout).toContain("── turns 1..3, ");
    expect(stdout).toContain("They saw birds.");
    expect(stdout).not.toContain("Bird 2.");
  });

  test.each([
    [["-r", "-k", "r"], "--compact and --reasoning cannot be used together."],
    [["--reset", "--dry-run", "-r"], "--reset and --reasoning cannot be used together."],
    [["--keep-first", "3", "--first", "2"], "--keep-first 3 keeps all of --first 2"],
    [["-k", "x"], "Not a compaction rule: x"],
    [["--turn", "9"], "Turn 9 is out of range"],
    [["-t", "shorter"], "Unknown mode for tool calls: shorter"],
    [["--from", "soon"], "Not a turn: soon"],
  ])("refuses %j", async (words, problem) => {
    const project = new Project();
    const { id } = placeLong(project);
    const { status, stderr } = await compact(project, id, ...words);
    expect([status, stderr]).toEqual([2, expect.stringContaining(problem)]);
  });

  test("undoes one compaction by its number, and says which there are", async () => {
    const project = new Project();
    const { id, events } = placeLong(project);
    const before = readFileSync(events, "utf8");
    await compact(project, id, "-r");
    await compact(project, id, "-t");
    const { stdout } = await project.jp("conversation", "show", id);
    expect(stdout).toContain(
      "Compactions  1: turns 2..3 (reasoning); 2: turns 2..3 (tool calls)\n",
    );
    const missing = await compact(project, id, "--reset", "3");
    expect([missing.status, missing.stderr]).toEqual([
      1,
      expect.stringContaining("No compaction 3"),
    ]);
    await compact(project, id, "--reset", "1");
    // What the other one said of the first is forgotten.
    const after = readFileSync(events, "utf8");
    expect(after.startsWith(before.slice(0, -3))).toBe(true);
    expect(after).not.toContain('"earlier"');
    const { stdout: left } = await project.jp("conversation", "show", id);
    expect(left).toContain("Compactions  1: turns 2..3 (tool calls)\n");
    const { stderr } = await project.jp("conversation", "print", id);
    expect(stderr).toContain("(compacted for the model: turns 2..3: tool calls; see --compacted)");
  });
});

describe("jp query", () => {
  test("compacts before the turn with --compact", async () => {
    await using server = await ModelServer.start(["Fine."]);
    const project = queryProject({ server });
    const { id } = placeLong(project);
    const { stdout, stderr } = await query(project, ["And now?", "--id", id, "--compact"]);
    expect(stdout).toBe("Fine.\n");
    expect(stderr).toContain("Compacted turns 2..3 (reasoning, tool calls). To undo:");
    const sent = JSON.stringify(server.requests);
    expect([sent.includes("tree 1"), sent.includes("tree 2")]).toEqual([true, false]);
  });

  test("compacts by itself when the window is full, and says so in one line", async () => {
    const problem = "the request exceeds the available context size";
    await using server = await ModelServer.start([{ status: 400, problem }, "Fine."]);
    const project = queryProject({ server });
    const { id } = placeLong(project);
    const cfg = "conversation.compaction.auto.rule.keep_last=1";
    const { status, stdout, stderr } = await query(project, ["And now?", "--id", id, "--cfg", cfg]);
    expect([status, stdout]).toEqual([0, "Fine.\n"]);
    expect(stderr).toContain(
      "Compacted turns 2..4 (reasoning, tool calls): the context window is filling up. To undo:",
    );
  });

  test("says in a session how to undo that there", async () => {
    const problem = "the request exceeds the available context size";
    await using server = await ModelServer.start([{ status: 400, problem }, "Fine."]);
    const config = "conversation.compaction.auto.rule.keep_last = 1";
    const project = queryProject({ server, config });
    const screen = new Screen(project, ["resume", placeLong(project).id]);
    await screen.untilShown((shown) => shown.some((line) => line.startsWith(">")));
    screen.type("And now?\r");
    await screen.untilShown((shown) => shown.includes("Fine."));
    screen.type("\u0004");
    const ended = await screen.end();
    expect(ended.lines.join(" ")).toContain("filling up. To undo: /compact undo");
  });

  test("compacts by the size in the config, before the window is full", async () => {
    await using server = await ModelServer.start(["Fine."]);
    const project = queryProject({ server });
    const { id } = placeLong(project);
    const cfg = [
      "conversation.compaction.auto.rule.keep_last=1",
      "conversation.compaction.auto.context_window=2000",
      "conversation.compaction.auto.trigger_ratio=0.99",
    ].flatMap((setting) => ["--cfg", setting]);
    const long = "word ".repeat(1180);
    const { stderr } = await query(project, [long, "--id", id, ...cfg]);
    expect(stderr).toContain("Compacted turns 2..4");
  });

  test("leaves the conversation alone if that is off, and explains the error", async () => {
    const problem = "the request exceeds the available context size";
    await using server = await ModelServer.start([{ status: 400, problem }]);
    const project = queryProject({ server });
    const { id } = placeLong(project);
    const cfg = "conversation.compaction.auto.enabled=false";
    const { status, stderr } = await query(project, ["And now?", "--id", id, "--cfg", cfg]);
    expect([status, stderr]).toEqual([1, expect.stringContaining("jp conversation compact")]);
  });
});
