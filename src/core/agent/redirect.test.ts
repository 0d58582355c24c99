import { describe, expect, test } from "vitest";
import { holdPrompt, type ScriptedAnswer, type ScriptedPermission } from "../../testing/index.ts";
import { defineTool } from "../../record/tool/index.ts";
import { ModelTurn, type ModelTurnOptions, until } from "./model-turn.fixture.ts";
import type { PermissionRequest } from "./ports.ts";
import { asker, echo, SlowTool } from "./turn-tools.fixture.ts";

const call = (id: string, name: string) => ({ type: "tool_call", id, name }) as const;
const WORDS = "Use the old parser.";
const NO = { type: "skip", reason: WORDS, redirects: true } as const;
const SKIPPED =
  "The tool did not run: the user turned down another call of the same reply and sent a message instead.";
const ASKED_FIRST = { echo: { run: "ask" } };

async function start(options: Partial<ModelTurnOptions>): Promise<ModelTurn> {
  return ModelTurn.create({ tools: [echo, asker], config: ASKED_FIRST, replies: [], ...options });
}

/** The record without what leads to an answer. */
function outline(turn: ModelTurn): readonly string[] {
  return turn.record.filter((line) => !/ (waits|calls|asks|starts)/.test(line));
}

describe("a no with what to do instead", () => {
  test("denies the call, skips those that have not started, and starts a turn with the words", async () => {
    const turn = await start({
      script: { permissions: [NO] },
      replies: [[call("a", "echo"), call("b", "echo")], "Done."],
    });
    expect(await turn.run("Fix it")).toEqual({ type: "done", reason: "stop" });
    expect(turn.prompter.permissions).toHaveLength(1);
    expect(outline(turn)).toEqual([
      "turn",
      "person: Fix it",
      "a denied (run)",
      `a gives: Tool skipped by user: ${WORDS}`,
      "b denied (run)",
      `b gives: ${SKIPPED}`,
      "turn stopped",
      "turn",
      `person: ${WORDS}`,
      "message: Done.",
    ]);
    expect(turn.shown[1]?.at(-1)).toBe(`person: ${WORDS}`);
  });

  test("is a message of whoever said it", async () => {
    const turn = await start({
      script: { permissions: [{ ...NO, userName: "Ada" }] },
      replies: [[call("a", "echo")], "Done."],
    });
    await turn.run({ content: "Fix it", author: "Ben" });
    const authors = turn.events.flatMap((event) =>
      event.type === "chat_request" ? [event.author] : [],
    );
    expect(authors).toEqual(["Ben", "Ada"]);
  });

  test("is on record as such", async () => {
    const turn = await start({
      script: { permissions: [NO] },
      replies: [[call("a", "echo")], "Done."],
    });
    await turn.run();
    const decision = turn.events.find((event) => event.type === "permission_decision");
    expect(decision).toMatchObject({ decision: "denied", reason: WORDS, redirects: true });
  });

  test("lets a call that runs come to its end", async () => {
    const slow = new SlowTool();
    const asked = holdPrompt<PermissionRequest, ScriptedPermission>();
    const turn = await start({
      tools: [echo, slow],
      script: { permissions: [asked.reply] },
      replies: [[call("a", "echo"), call("b", "slow")], "Done."],
    });
    const end = turn.run();
    await asked.opened;
    await until(() => slow.starts === 1);
    asked.answer(NO);
    await until(() => turn.record.includes(`a gives: Tool skipped by user: ${WORDS}`));
    slow.release();
    await end;
    expect(outline(turn)).toContain("b gives: slow is done");
  });

  test("at a question, goes to the tool as a no, and closes the questions of other calls", async () => {
    const turn = await start({
      script: { answers: [{ answer: false, note: WORDS, redirects: true }] },
      replies: [[call("a", "asker"), call("b", "asker")], "Done."],
    });
    await turn.run("Fix it");
    expect(turn.prompter.questions).toHaveLength(1);
    expect(outline(turn)).toEqual([
      "turn",
      "person: Fix it",
      "a approved (run)",
      "b approved (run)",
      "a.sure.1 answered: false",
      'b.sure.1 cancelled: "user"',
      "b gives: Tool input cancelled by user.",
      `a gives: got false\n\n[The user answered no to "Are you sure?": ${WORDS}]`,
      "turn stopped",
      "turn",
      `person: ${WORDS}`,
      "message: Done.",
    ]);
  });

  test("ends what was allowed for the turn", async () => {
    const turn = await start({
      script: {
        permissions: [{ type: "run", isRemembered: true }, { type: "skip" }],
        answers: [{ answer: false, note: WORDS, redirects: true }],
      },
      replies: [[call("a", "echo")], [call("b", "asker")], [call("c", "echo")], "Done."],
    });
    await turn.run();
    expect(turn.prompter.permissions.map(({ toolCallId }) => toolCallId)).toEqual(["a", "c"]);
  });

  test("is not lost if the process ends before the words are sent", async () => {
    const killed = await start({
      script: { permissions: [NO] },
      replies: [[call("a", "echo"), call("b", "echo")]],
      beforeAppend: (events) => {
        if (events.some(({ type }) => type === "tool_call_response")) throw new Error("killed");
      },
    });
    await expect(killed.run("Fix it")).rejects.toThrow("killed");
    const { conversation } = killed;
    const turn = await start({ conversation, replies: ["Done."] });
    expect(await turn.resume()).toEqual({ type: "done", reason: "stop" });
    expect(turn.prompter.permissions).toEqual([]);
    expect(outline(turn).slice(-8)).toEqual([
      "resumed",
      `a gives: Tool skipped by user: ${WORDS}`,
      "b denied (run)",
      `b gives: ${SKIPPED}`,
      "turn stopped",
      "turn",
      `person: ${WORDS}`,
      "message: Done.",
    ]);
  });

  test("keeps a call that runs unattended from starting when the turn is continued", async () => {
    const started: string[] = [];
    const noted = defineTool({
      name: "noted",
      description: "",
      parameters: { type: "object" },
      run: () => started.push("noted"),
    });
    const killed = await start({
      tools: [echo, noted],
      config: { ...ASKED_FIRST, noted: { run: "ask" } },
      script: { permissions: [NO] },
      replies: [[call("a", "echo"), call("b", "noted")]],
      beforeAppend: (events) => {
        if (events.some(({ type }) => type === "tool_call_response")) throw new Error("killed");
      },
    });
    await expect(killed.run()).rejects.toThrow("killed");
    const { conversation } = killed;
    const turn = await start({ tools: [echo, noted], conversation, replies: ["Done."] });
    await turn.resume();
    expect([started, turn.record.includes(`b gives: ${SKIPPED}`)]).toEqual([[], true]);
  });

  test("asks for data again if the first message did", async () => {
    const schema = { type: "object", required: ["n"] };
    const turn = await start({
      script: { permissions: [NO] },
      replies: [[call("a", "echo")], [{ type: "text", text: '{"n":1}' }]],
    });
    expect(await turn.run({ content: "How many?", schema })).toMatchObject({ data: { n: 1 } });
  });

  test.each<[string, ScriptedAnswer]>([
    ["a yes", { answer: true, note: WORDS, redirects: true }],
    ["a no without words", { answer: false, note: "  ", redirects: true }],
  ])("is not what %s is", async (_, answer) => {
    const turn = await start({
      script: { answers: [answer] },
      replies: [[call("a", "asker")], "Done."],
    });
    await turn.run("Fix it");
    expect(turn.record.filter((line) => line.startsWith("person:"))).toEqual(["person: Fix it"]);
  });
});
