/** Decisions about something that changes before it runs: they no longer count, and are asked again. */
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import { transcript } from "../../record/conversation/transcript.fixture.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  textQuestion,
  type ToolSource,
} from "../../record/tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import type { Toolbox } from "./index.ts";
import {
  type NamedExecutor,
  toolboxOf,
  ToolTurn,
  type ToolTurnOptions,
} from "./tool-turn.fixture.ts";

const ACT = booleanQuestion("act", "Delete it?", { exclusive: true });
const KEEPS_CHANGING =
  "Tool 'x' was not run: what the user approved had changed each time before it could run. Do not " +
  "retry this tool call in this turn.";

/** A tool whose program may be replaced at any time. It asks its questions one after the other, then does its work. */
class ChangingTool implements NamedExecutor {
  readonly name = "x";
  /** The version of the program in each attempt, and the answers that it got. */
  readonly attempts: (readonly [version: number, answers: Readonly<Record<string, Json>>])[] = [];
  version = 1;
  /** Whether the program is replaced while it runs for the first time. */
  isReplacedWhileRunning = false;
  readonly executor: NamedExecutor["executor"];

  constructor(...questions: readonly Question[]) {
    this.executor = {
      attempt: async ({ answers }) => {
        this.attempts.push([this.version, answers]);
        if (this.isReplacedWhileRunning && this.attempts.length === 1) this.version += 1;
        const question = questions.find(({ id }) => !Object.hasOwn(answers, id));
        if (question === undefined) return { type: "success", content: `by v${this.version}` };
        return { type: "needs_input", question, source: { source: "tool", name: this.name } };
      },
    };
  }

  /** For a script: the person says yes, and the program is replaced meanwhile, the first `times`. */
  replaced<Reply>(reply: Reply, times = 1): () => Reply {
    let left = times;
    return () => {
      if (left > 0) this.version += 1;
      left -= 1;
      return reply;
    };
  }

  source(): ToolSource {
    return { origin: { type: "local", command: "x" }, program: { version: this.version } };
  }
}

interface Setting extends Omit<ToolTurnOptions, "tools" | "config"> {
  readonly config?: JsonObject;
}

async function start(tool: ChangingTool, { config = {}, ...options }: Setting = {}) {
  const settings = { tools: [tool], config: { x: config } };
  const base = toolboxOf(settings);
  const tools: Toolbox = {
    ...base,
    find: async (name, signal) => {
      const found = await base.find(name, signal);
      return found && { ...found, describeSource: async () => tool.source() };
    },
  };
  return ToolTurn.start({ ...settings, ...options, parts: { ...options.parts, tools } });
}

/** One call of the tool, and what was recorded from then on. */
async function call(tool: ChangingTool, setting: Setting) {
  const turn = await start(tool, setting);
  await turn.call("x");
  return { turn, record: transcript(turn.events).slice(2) };
}

const RUN = { type: "run" } as const;
const YES = { answer: true };
const ASK = { run: "ask" };

describe("a permission for a program that is replaced before it runs", () => {
  test("no longer counts: the person is asked again, and told what has changed", async () => {
    counters("T-DECIDE-1");
    const tool = new ChangingTool();
    const script = { permissions: tool.replaced(RUN) };
    const { turn, record } = await call(tool, { config: ASK, script });
    expect(record).toEqual([
      "call_1 waits for permission (run)",
      "call_1 approved (run)",
      "call_1:run:1 no longer counts: program",
      "call_1 waits for permission (run)",
      "call_1 approved (run)",
      "call_1 starts",
      "call_1 gives: by v2",
    ]);
    const shown = turn.prompter.permissions.map(({ inquiryId, changed }) => [inquiryId, changed]);
    expect(shown).toEqual([
      ["call_1:run:1", undefined],
      ["call_1:run:2", ["program"]],
    ]);
    expect(turn.recorded("permission_request")[1]).toMatchObject({ replaces: "call_1:run:1" });
  });

  test("runs nothing if the person then says no", async () => {
    const tool = new ChangingTool();
    const permissions = [tool.replaced(RUN), { type: "skip" }] as const;
    const { record } = await call(tool, { config: ASK, script: { permissions } });
    expect([record.at(-1), tool.attempts]).toEqual(["call_1 gives: Tool skipped by user.", []]);
  });

  test.each([
    ["deny", ["call_1 denied (run)"]],
    ["auto", ["call_1 denied (run)"]],
    ["defer", ["call_1 waits for permission (run)"]],
  ])("runs nothing if the person is gone (detached: %s)", async (detached, ends) => {
    const tool = new ChangingTool();
    const permissions = () => {
      tool.version += 1;
      turn.prompter.isAvailable = false;
      return RUN;
    };
    const config = { ...ASK, detached };
    const turn = await start(tool, { config, script: { permissions } });
    await turn.call("x");
    expect([transcript(turn.events).slice(4, 6), tool.attempts]).toEqual([
      ["call_1:run:1 no longer counts: program", ...ends],
      [],
    ]);
  });

  test("fails the call if that happens three times", async () => {
    counters("T-DECIDE-3");
    const tool = new ChangingTool();
    const script = { permissions: tool.replaced(RUN, 9) };
    const { turn, record } = await call(tool, { config: ASK, script });
    expect([record.slice(-3), turn.prompter.permissions.length, tool.attempts]).toEqual([
      [
        "call_1:run:3 no longer counts: program",
        "call_1 denied (run)",
        `call_1 fails: ${KEEPS_CHANGING}`,
      ],
      3,
      [],
    ]);
    expect(turn.recorded("permission_decision").at(-1)).toMatchObject({
      decision: "denied",
      cause: "subject_unstable",
    });
  });

  test("does not count for later calls either, if it was given for the whole turn", async () => {
    const tool = new ChangingTool();
    const script = { permissions: () => ({ ...RUN, isRemembered: true }) };
    const turn = await start(tool, { config: ASK, script });
    await turn.run(toolCall("call_1", "x"));
    await turn.run(toolCall("call_2", "x"));
    tool.version += 1;
    await turn.run(toolCall("call_3", "x"));
    expect(turn.prompter.permissions.map(({ toolCallId }) => toolCallId)).toEqual([
      "call_1",
      "call_3",
    ]);
  });

  test("is no concern if the config lets the tool run anyway", async () => {
    const tool = new ChangingTool(textQuestion("name", "Name?"));
    const script = { answers: [{ answer: "Ada" }] };
    const { turn } = await call(tool, {
      config: { questions: { name: { answer: "Ada" } } },
      script,
    });
    tool.version += 1;
    await turn.run(toolCall("call_2", "x"));
    expect(turn.recorded("decision_void")).toEqual([]);
  });

  test("is not replaced by an answer to a question that does not act, nor by a no", async () => {
    counters("T-DECIDE-1");
    const questions = [
      [textQuestion("name", "Name?"), { answer: "Ada" }],
      [ACT, { answer: false }],
    ] as const;
    for (const [question, answer] of questions) {
      const tool = new ChangingTool(question);
      const script = { permissions: () => RUN, answers: () => answer };
      const turn = await start(tool, { config: ASK, script });
      tool.isReplacedWhileRunning = true;
      await turn.call("x");
      expect(turn.prompter.permissions.map(({ changed }) => changed)).toEqual([
        undefined,
        ["program"],
      ]);
    }
  });

  test("is replaced by a yes to an acting question about what it has become", async () => {
    const tool = new ChangingTool(ACT);
    tool.isReplacedWhileRunning = true;
    const script = { permissions: () => RUN, answers: () => YES };
    const { turn, record } = await call(tool, { config: ASK, script });
    expect([record, turn.prompter.permissions.length]).toEqual([
      [
        "call_1 waits for permission (run)",
        "call_1 approved (run)",
        "call_1 starts",
        "call_1.act.1 asks: Delete it?",
        "call_1.act.1 answered: true",
        "call_1 starts",
        "call_1 gives: by v2",
      ],
      1,
    ]);
  });
});

describe("an answer about something that changes before it reaches the tool", () => {
  test("no longer counts: the person is asked again, and told what has changed", async () => {
    counters("T-DECIDE-1");
    const tool = new ChangingTool(ACT);
    const { turn, record } = await call(tool, { script: { answers: tool.replaced(YES) } });
    expect(record.slice(2)).toEqual([
      "call_1.act.1 asks: Delete it?",
      "call_1.act.1 answered: true",
      "call_1.act.1 no longer counts: program",
      "call_1.act.2 asks: Delete it?",
      "call_1.act.2 answered: true",
      "call_1 starts",
      "call_1 gives: by v2",
    ]);
    expect(turn.prompter.questions.map(({ changed }) => changed)).toEqual([undefined, ["program"]]);
    expect(turn.recorded("inquiry_request")[1]).toMatchObject({
      replaces: "call_1.act.1",
      isForPerson: true,
      question: { exclusive: true },
    });
    expect(tool.attempts).toEqual([
      [1, {}],
      [2, { act: true }],
    ]);
  });

  test("fails the call if that happens three times", async () => {
    counters("T-DECIDE-3");
    const tool = new ChangingTool(ACT);
    const { turn, record } = await call(tool, { script: { answers: tool.replaced(YES, 9) } });
    expect([record.at(-1), turn.prompter.questions.length, tool.attempts.length]).toEqual([
      `call_1 fails: ${KEEPS_CHANGING}`,
      3,
      1,
    ]);
  });

  test.each<[string, Question, Setting, Json]>([
    ["is a no", ACT, { script: { answers: [{ answer: false }] } }, false],
    ["comes from the config", ACT, { config: { questions: { act: { answer: true } } } }, true],
  ])("stands if it %s", async (_, question, setting, answer) => {
    const tool = new ChangingTool(question);
    tool.isReplacedWhileRunning = true;
    const { turn } = await call(tool, setting);
    expect([turn.recorded("decision_void"), tool.attempts.at(-1)]).toEqual([
      [],
      [2, { act: answer }],
    ]);
  });

  test("is asked for again if it is a secret", async () => {
    const tool = new ChangingTool(secretQuestion("key", "Key?"));
    const answers = [tool.replaced({ answer: "old" }), { answer: "new" }];
    const { record } = await call(tool, { script: { answers } });
    expect([record.slice(2, 7), tool.attempts.at(-1)]).toEqual([
      [
        "call_1.key.1 asks: Key?",
        "call_1.key.1 redacted",
        "call_1.key.1 no longer counts: program",
        "call_1.key.2 asks: Key?",
        "call_1.key.2 redacted",
      ],
      [2, { key: "new" }],
    ]);
  });

  test("may be a model's, which is asked again", async () => {
    const tool = new ChangingTool(booleanQuestion("act", "Go on?"));
    const model = { type: "answered", answer: true, model: "test/judge" } as const;
    const config = { questions: { act: { target: "assistant" } } };
    const { turn } = await call(tool, { config, answers: tool.replaced(model) });
    expect(turn.recorded("inquiry_response")).toMatchObject([
      { id: "call_1.act.1", answeredBy: { kind: "assistant" } },
      { id: "call_1.act.2", answeredBy: { kind: "assistant" } },
    ]);
    expect(turn.recorded("inquiry_request")[1]).not.toHaveProperty("isForPerson");
  });

  test("passes from a person to no one else, though a model may answer the question", async () => {
    const tool = new ChangingTool(booleanQuestion("act", "Go on?", { default: true }));
    const answers = () => {
      tool.version += 1;
      turn.prompter.isAvailable = false;
      return YES;
    };
    const model = { "call_1.act.2": true };
    const turn = await start(tool, { script: { answers }, answers: model });
    const response = await turn.call("x");
    expect([turn.inquiries.calls, turn.recorded("inquiry_response").at(-1)]).toMatchObject([
      [],
      { id: "call_1.act.2", outcome: "cancelled", reason: "no_prompt_backend" },
    ]);
    expect(response?.isError).toBe(true);
  });

  test("of an earlier attempt is asked for again too, with all that depends on it", async () => {
    const tool = new ChangingTool(ACT, textQuestion("name", "Name?"));
    const answers = [YES, tool.replaced({ answer: "Ada" }), YES, { answer: "Ben" }];
    const { record } = await call(tool, { script: { answers } });
    expect([record.slice(5), tool.attempts.at(-1)]).toEqual([
      [
        "call_1.name.1 asks: Name?",
        'call_1.name.1 answered: "Ada"',
        "call_1.act.1 no longer counts: program",
        "call_1.act.2 asks: Delete it?",
        "call_1.name.1 no longer counts: program",
        "call_1.name.2 asks: Name?",
        "call_1.act.2 answered: true",
        'call_1.name.2 answered: "Ben"',
        "call_1 starts",
        "call_1 gives: by v2",
      ],
      [2, { act: true, name: "Ben" }],
    ]);
  });
});

/** Asks until the person has said yes to the last of these bindings. */
function bound(...bindings: readonly string[]): NamedExecutor & { readonly seen: Json[] } {
  const seen: Json[] = [];
  return {
    name: "x",
    seen,
    executor: {
      attempt: async ({ bindings: answered = {} }) => {
        seen.push(answered["act"] ?? null);
        const binding = bindings[seen.length - 1];
        if (binding === undefined) return { type: "success", content: "done" };
        const source = { source: "tool", name: "x" } as const;
        return { type: "needs_input", question: { ...ACT, binding }, source };
      },
    },
  };
}

describe("a tool that asks the same again", () => {
  test("makes the answer void if it is about something else, and gets the binding of the new one", async () => {
    counters("T-DECIDE-1");
    const tool = bound("one", "two");
    const turn = await ToolTurn.start({ tools: [tool], script: { answers: () => YES } });
    await turn.call("x");
    expect(transcript(turn.events).slice(3)).toEqual([
      "call_1 starts",
      "call_1.act.1 asks: Delete it?",
      "call_1.act.1 answered: true",
      "call_1 starts",
      "call_1.act.1 no longer counts: binding",
      "call_1.act.2 asks: Delete it?",
      "call_1.act.2 answered: true",
      "call_1 starts",
      "call_1 gives: done",
    ]);
    expect([tool.seen, turn.prompter.questions.map(({ changed }) => changed)]).toEqual([
      [null, "one", "two"],
      [undefined, ["binding"]],
    ]);
  });

  test("about the same makes nothing void", async () => {
    const turn = await ToolTurn.start({
      tools: [bound("one", "one")],
      script: { answers: () => YES },
    });
    await turn.call("x");
    expect([turn.recorded("decision_void"), turn.prompter.questions.length]).toEqual([[], 2]);
  });

  test("fails if it is about something else each time, after the third void", async () => {
    counters("T-DECIDE-3");
    const tool = bound("1", "2", "3", "4", "5", "6");
    const turn = await ToolTurn.start({ tools: [tool], script: { answers: () => YES } });
    const response = await turn.call("x");
    expect([response?.content, turn.prompter.questions.length]).toEqual([KEEPS_CHANGING, 3]);
  });
});
