/** A turn whose process died, at each point where that can happen, and the one that continues it. */
import { describe, expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../settings/config/index.ts";
import {
  type ConversationEvent,
  pendingOf,
  type PermissionDecision,
  readTurnProgress,
} from "../../record/conversation/index.ts";
import { problemsOf } from "../../record/conversation/record-rules.fixture.ts";
import {
  FakeClock,
  MemoryConversationStore,
  type PrompterScript,
  type ScriptedReply,
} from "../../testing/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  textQuestion,
} from "../../record/tool/index.ts";
import { abortable, type Json, type JsonObject } from "../../util/index.ts";
import { FormTool } from "./asked-together.fixture.ts";
import type { TurnEnd } from "./index.ts";
import { ModelTurn, type ModelTurnOptions, until } from "./model-turn.fixture.ts";
import { OUTCOME_UNKNOWN, SKIPPED_IN_DOUBT } from "./model-texts.ts";
import { questioner } from "./questioner.fixture.ts";
import type { NamedExecutor } from "./tool-turn.fixture.ts";
import { SlowTool } from "./turn-tools.fixture.ts";

const SURE = booleanQuestion("sure", "Sure?");
const NAME = textQuestion("name", "Name?");
const PIN = secretQuestion("pin", "PIN?");
const NEVER = () => new Promise<never>(() => undefined);
const call = (id: string, name = "x") => ({ type: "tool_call", id, name }) as const;
const REPLIES: readonly ScriptedReply[] = [[call("a")], "Fine"];

/** Asks all its questions at once, then does its work, and keeps count of both. */
class Worker implements NamedExecutor {
  readonly name: string;
  /** The answers of each attempt. */
  readonly attempts: Readonly<Record<string, Json>>[] = [];
  runs = 0;
  readonly executor: NamedExecutor["executor"];

  constructor(name: string, ...questions: readonly Question[]) {
    this.name = name;
    const form = new FormTool(name, questions);
    this.executor = {
      attempt: async (request) => {
        this.attempts.push(request.answers);
        const result = await form.executor.attempt(request);
        if (result.type !== "success") return result;
        this.runs += 1;
        return { ...result, content: `done by ${name}` };
      },
    };
  }
}

type Point = (event: ConversationEvent) => boolean;

const at =
  (type: ConversationEvent["type"], action?: string): Point =>
  (event) =>
    event.type === type && (action === undefined || ("action" in event && event.action === action));

/** Runs a turn to its end, and leaves a record that ends with the event. */
async function dieAfter(
  isLast: Point,
  options: Partial<ModelTurnOptions>,
): Promise<readonly ConversationEvent[]> {
  const turn = await ModelTurn.create({ replies: REPLIES, script: EAGER, ...options });
  await turn.run();
  const end = turn.events.findIndex(isLast);
  if (end === -1) throw new Error("The turn did not get there.");
  return turn.events.slice(0, end + 1);
}

/** Says yes to everything. */
const EAGER: NonNullable<ModelTurnOptions["script"]> = {
  permissions: () => ({ type: "run", isRemembered: false }),
  deliveries: () => ({ type: "deliver" }),
  answers: ({ question }) => ({ answer: question.answerType.type === "boolean" ? true : "Ada" }),
};

interface Continuation {
  readonly turn: ModelTurn;
  readonly end: TurnEnd;
  /** What was added to the record, after it said that the turn was resumed. */
  readonly added: readonly string[];
}

async function resume(
  events: readonly ConversationEvent[],
  options: Partial<ModelTurnOptions>,
): Promise<Continuation> {
  const conversation = await new MemoryConversationStore(new FakeClock()).create({});
  await conversation.append(...events);
  const replies = ["Fine"];
  const turn = await ModelTurn.create({ replies, script: EAGER, ...options, conversation });
  const end = await turn.resume();
  const [first, ...rest] = turn.record.slice(events.length);
  const added = first === undefined || first === "resumed" ? rest : ["not resumed", first, ...rest];
  return { turn, end, added };
}

const EDITED = { type: "run", isRemembered: false, arguments: { path: "b" } } as const;

const isRedacted: Point = (event) =>
  event.type === "inquiry_response" && event.outcome === "redacted";
const isLastAsked: Point = (event) =>
  event.type === "inquiry_request" && event.questionId === "name";

function dieRunning(worker: Worker): Promise<readonly ConversationEvent[]> {
  return dieAfter(at("attempt_start"), { tools: [worker] });
}

function withConfig(worker: Worker, config: JsonObject = {}) {
  return { tools: [worker], config: { x: config } };
}

const answering = (answer: Json) => ({ ...EAGER, answers: () => ({ answer }) });

describe("a process that died", () => {
  test("before the model replied: the model is asked", async () => {
    const events = await dieAfter(at("chat_request"), {});
    const { turn, end, added } = await resume(events, { replies: ["Hello"] });
    expect({ end, added, shown: turn.shown }).toEqual({
      end: { type: "done", reason: "stop" },
      added: ["message: Hello"],
      shown: [["person: Hello"]],
    });
  });

  test("while the model was replying: the calls on record are made, and the model goes on", async () => {
    const worker = new Worker("x");
    const events = await dieAfter(at("tool_call_request"), {
      tools: [worker],
      replies: [[call("a"), call("b")], "Fine"],
    });
    const { added } = await resume(events, { tools: [worker] });
    expect(added).toEqual(["a approved (run)", "a starts", "a gives: done by x", "message: Fine"]);
  });

  test("at the permission prompt: it is asked for again, under the id on record", async () => {
    const worker = new Worker("x");
    const options = { tools: [worker], config: { x: { run: "ask" } } };
    const events = await dieAfter(at("permission_request"), options);
    worker.runs = 0;
    const { turn, added } = await resume(events, options);
    expect({ added, runs: worker.runs, asked: turn.prompter.permissions.length }).toEqual({
      added: ["a approved (run)", "a starts", "a gives: done by x", "message: Fine"],
      runs: 1,
      asked: 1,
    });
  });

  test("after the permission was given: it is not asked for again", async () => {
    const worker = new Worker("x");
    const options = { tools: [worker], config: { x: { run: "ask" } } };
    const events = await dieAfter(at("permission_decision"), options);
    const { turn, added } = await resume(events, options);
    expect([added, turn.prompter.permissions]).toEqual([
      ["a starts", "a gives: done by x", "message: Fine"],
      [],
    ]);
  });

  test("after the permission was given with other arguments: they hold, and the model is told", async () => {
    const worker = new Worker("x");
    const options = { tools: [worker], config: { x: { run: "ask" } } };
    const script = { ...EAGER, permissions: () => EDITED };
    const events = await dieAfter(at("permission_decision"), { ...options, script });
    const { added } = await resume(events, options);
    expect(added[1]).toContain('Arguments used: {"path":"b"}\n\ndone by x');
  });

  test("after the permission was denied elsewhere: the call does not run", async () => {
    const worker = new Worker("x");
    const options = { tools: [worker], config: { x: { run: "ask" } } };
    const script = {
      ...EAGER,
      permissions: () => ({ type: "skip" as const, isRemembered: false, reason: "not now" }),
    };
    const events = await dieAfter(at("permission_decision"), { ...options, script });
    const { added } = await resume(events, options);
    expect([added, worker.runs]).toEqual([
      ["a gives: Tool skipped by user: not now", "message: Fine"],
      0,
    ]);
  });

  test("at a question: it is asked again under its own id, and the tool does not run until then", async () => {
    const worker = new Worker("x", SURE);
    const options = { tools: [worker] };
    const events = await dieAfter(at("inquiry_request"), options);
    worker.attempts.length = 0;
    const { turn, added } = await resume(events, options);
    expect({
      added,
      attempts: worker.attempts,
      asked: turn.prompter.questions.map(({ inquiryId }) => inquiryId),
    }).toEqual({
      added: ["a.sure.1 answered: true", "a starts", "a gives: done by x", "message: Fine"],
      attempts: [{ sure: true }],
      asked: ["a.sure.1"],
    });
  });

  test("with some questions answered: only the others are asked, and secrets again", async () => {
    const worker = new Worker("x", SURE, NAME, PIN);
    const options = { tools: [worker] };
    const full = await dieAfter(isRedacted, options);
    const events = full.filter(
      (event) => event.type !== "inquiry_response" || event.id !== "a.name.1",
    );
    worker.attempts.length = 0;
    const { turn, added, end } = await resume(events, options);
    expect({
      end,
      added: added.toSorted(),
      attempts: worker.attempts,
      asked: turn.prompter.questions.map(({ inquiryId }) => inquiryId).toSorted(),
      problems: problemsOf(turn.events),
    }).toEqual({
      end: { type: "done", reason: "stop" },
      added: [
        "a gives: done by x",
        "a starts",
        'a.name.1 answered: "Ada"',
        "a.pin.2 asks: PIN?",
        "a.pin.2 redacted",
        "message: Fine",
      ],
      attempts: [{ sure: true, name: "Ada", pin: "Ada" }],
      asked: ["a.name.1", "a.pin.2"],
      problems: [],
    });
  });

  test("after a question was answered elsewhere: the tool runs with the answer", async () => {
    const worker = new Worker("x", SURE);
    const events = await dieAfter(at("inquiry_response"), { tools: [worker] });
    const { turn, added } = await resume(events, { tools: [worker] });
    expect([added, turn.prompter.questions]).toEqual([
      ["a starts", "a gives: done by x", "message: Fine"],
      [],
    ]);
  });

  test("after a question was refused elsewhere: the call ends, with all its questions", async () => {
    const worker = new Worker("x", SURE, NAME);
    const options = { tools: [worker], script: { forms: [{ isCancelled: true } as const] } };
    const events = await dieAfter(at("inquiry_response"), options);
    const { turn, added } = await resume(events, { tools: [worker] });
    expect([added, problemsOf(turn.events), worker.runs]).toEqual([
      [
        'a.name.1 cancelled: "interrupted"',
        "a gives: Tool input cancelled by user.",
        "message: Fine",
      ],
      [],
      0,
    ]);
  });

  test("at the delivery prompt: the result is not lost, and the tool does not run again", async () => {
    const worker = new Worker("x");
    const options = { tools: [worker], config: { x: { result: "ask" } } };
    const events = await dieAfter(at("permission_request", "deliver"), options);
    const { turn, added } = await resume(events, options);
    expect([added, worker.runs, turn.prompter.deliveries.length]).toEqual([
      ["a approved (deliver)", "a gives: done by x", "message: Fine"],
      1,
      1,
    ]);
  });

  test.each([
    ["approved", "a gives: done by x"],
    ["denied", "a gives: Result delivery skipped by user."],
  ] as const)(
    "after the delivery was %s elsewhere: it is not asked about again",
    async (decision, result) => {
      const worker = new Worker("x");
      const options = { tools: [worker], config: { x: { result: "ask" } } };
      const events = await dieAfter(at("permission_request", "deliver"), options);
      const decided = deliveryOf(events, decision);
      const { turn, added } = await resume([...events, decided], options);
      expect([added, worker.runs, turn.prompter.deliveries]).toEqual([
        [result, "message: Fine"],
        1,
        [],
      ]);
    },
  );

  test("after the result was edited: the edited one is delivered, and no one is asked again", async () => {
    const worker = new Worker("x");
    const options = { tools: [worker], config: { x: { result: "ask" } } };
    const script = { ...EAGER, deliveries: () => ({ type: "deliver" as const, content: "less" }) };
    const events = await dieAfter(at("permission_decision", "deliver"), { ...options, script });
    const { added } = await resume(events, options);
    expect(added).toEqual(["a gives: less", "message: Fine"]);
  });

  test("between two results: only the call without one is continued", async () => {
    const [slow, other] = [new SlowTool("x"), new Worker("y", SURE)];
    const tools = [slow, other];
    const replies = [[call("a"), call("b", "y")], "Fine"];
    const first = await ModelTurn.create({ tools, replies, script: { answers: NEVER } });
    const left = first.run();
    await until(() => first.prompter.questions.length === 1);
    slow.release();
    await first.saw("event", "tool_call_response");
    const { events } = first;
    first.leave();
    await left;
    const { turn, added, end } = await resume(events, { tools });
    expect({ starts: slow.starts, end, problems: problemsOf(turn.events) }).toEqual({
      starts: 1,
      end: { type: "done", reason: "stop" },
      problems: [],
    });
    expect(added).toEqual([
      "b.sure.1 answered: true",
      "b starts",
      "b gives: done by y",
      "message: Fine",
    ]);
  });

  test("after the last result: the model gets all of them", async () => {
    const worker = new Worker("x");
    const events = await dieAfter(at("tool_call_response"), { tools: [worker] });
    const { turn, added } = await resume(events, { tools: [worker] });
    expect([added, turn.shown, worker.runs]).toEqual([
      ["message: Fine"],
      [["person: Hello", "a calls x", "a gives: done by x"]],
      1,
    ]);
  });

  test("after the turn had ended: nothing happens", async () => {
    const events = await dieAfter(at("chat_response"), { replies: ["Hello"] });
    const { end, added, turn } = await resume(events, { replies: [] });
    expect([end, added, turn.model.requests]).toEqual([{ type: "done", reason: "stop" }, [], []]);
  });
});

describe("a call that may have run when its process died", () => {
  test.each([
    ["run", ["a approved (rerun)", "a starts", "a gives: done by x"], 2],
    ["skip", ["a denied (rerun)", `a fails: ${SKIPPED_IN_DOUBT}`], 1],
    ["It was done.", ["a edited (rerun)", "a gives: It was done."], 1],
  ])("is left to the person, who says: %s", async (answer, ending, runs) => {
    const worker = new Worker("x");
    const events = await dieRunning(worker);
    const { turn, added } = await resume(events, { tools: [worker], script: answering(answer) });
    expect({ added, runs: worker.runs, asked: turn.prompter.questions }).toMatchObject({
      added: ["a waits for permission (rerun)", ...ending, "message: Fine"],
      runs,
      asked: [{ inquiryId: "a:rerun:1", tool: "x" }],
    });
  });

  test("is run again if its tool is idempotent, without asking", async () => {
    const worker = new Worker("x");
    const events = await dieRunning(worker);
    const config = { x: { idempotent: true } };
    const { turn, added } = await resume(events, { tools: [worker], config });
    expect([added, turn.prompter.questions]).toEqual([
      ["a starts", "a gives: done by x", "message: Fine"],
      [],
    ]);
  });

  test("records with its start that its tool is idempotent, and waits for no one if it is", async () => {
    const worker = new Worker("x");
    const config = { x: { idempotent: true } };
    const events = await dieAfter(at("attempt_start"), { tools: [worker], config });
    expect([events.at(-1), pendingOf(readTurnProgress(events))]).toMatchObject([
      { type: "attempt_start", isIdempotent: true },
      [],
    ]);
    const { added } = await resume(events, { tools: [worker], config });
    expect(added).toEqual(["a starts", "a gives: done by x", "message: Fine"]);
  });

  test("records the same with a start that an answer allows", async () => {
    const options = { tools: [new Worker("x", SURE)], config: { x: { idempotent: true } } };
    const events = await dieAfter(at("tool_call_response"), options);
    const starts = events.filter(({ type }) => type === "attempt_start");
    expect(starts).toMatchObject([{ isIdempotent: true }, { isIdempotent: true }]);
  });

  test("is asked about after all if the config no longer says that it is idempotent", async () => {
    const worker = new Worker("x");
    const config = { x: { idempotent: true } };
    const events = await dieAfter(at("attempt_start"), { tools: [worker], config });
    const { added } = await resume(events, { tools: [worker], script: answering("skip") });
    expect(added[0]).toBe("a waits for permission (rerun)");
  });

  test("waits, and is not run again and again, if its connection's question is left for later", async () => {
    let attempts = 0;
    const bound: NamedExecutor = {
      name: "x",
      executor: {
        attempt: async () => {
          attempts += 1;
          const source = { source: "tool" as const, name: "x" };
          return { type: "needs_input", question: SURE, source, isBound: true };
        },
      },
    };
    const turn = await ModelTurn.create({
      tools: [bound],
      config: { x: { idempotent: true, detached: "defer" } },
      replies: REPLIES,
      isInteractive: false,
    });
    expect([await turn.run(), attempts]).toEqual([{ type: "waiting" }, 1]);
  });

  test("is not run again without a person: the model learns that the outcome is unknown", async () => {
    const worker = new Worker("x");
    const events = await dieRunning(worker);
    const { added } = await resume(events, { tools: [worker], isInteractive: false });
    expect([added, worker.runs]).toEqual([
      ["a denied (rerun)", `a fails: ${OUTCOME_UNKNOWN}`, "message: Fine"],
      1,
    ]);
  });

  test("waits if it may be decided later, and is then decided under the same id", async () => {
    const worker = new Worker("x");
    const options = { tools: [worker], config: { x: { detached: "defer" } } };
    const first = await resume(await dieRunning(worker), { ...options, isInteractive: false });
    const second = await resume(first.turn.events, { ...options, script: answering("skip") });
    expect([first.end, first.added, second.added, worker.runs]).toEqual([
      { type: "waiting" },
      ["a waits for permission (rerun)"],
      ["a denied (rerun)", `a fails: ${SKIPPED_IN_DOUBT}`, "message: Fine"],
      1,
    ]);
  });

  test("keeps its answers when it runs again, and asks for its secrets", async () => {
    const worker = new Worker("x", NAME, PIN);
    const events = (await dieAfter(at("tool_call_response"), { tools: [worker] })).slice(0, -1);
    worker.attempts.length = 0;
    const script: PrompterScript = {
      ...EAGER,
      answers: ({ kind }) => ({ answer: kind === "in_doubt" ? "run" : "1234" }),
    };
    const { turn, added } = await resume(events, { tools: [worker], script });
    expect({ added, attempts: worker.attempts, problems: problemsOf(turn.events) }).toEqual({
      added: [
        "a waits for permission (rerun)",
        "a approved (rerun)",
        "a.pin.2 asks: PIN?",
        "a.pin.2 redacted",
        "a starts",
        "a gives: done by x",
        "message: Fine",
      ],
      attempts: [{ name: "Ada", pin: "1234" }],
      problems: [],
    });
  });

  test("closes the question of a connection that is gone", async () => {
    const bound: NamedExecutor = {
      name: "x",
      executor: {
        attempt: async () => {
          const source = { source: "tool" as const, name: "x" };
          return { type: "needs_input", question: SURE, source, isBound: true };
        },
      },
    };
    const turn = await ModelTurn.create({
      tools: [bound],
      replies: REPLIES,
      script: { answers: NEVER },
    });
    const end = turn.run();
    await until(() => turn.prompter.questions.length === 1);
    turn.leave();
    await end;
    const { added } = await resume(turn.events, { tools: [bound], script: answering("skip") });
    expect(added).toEqual([
      'a.sure.1 cancelled: "interrupted"',
      "a waits for permission (rerun)",
      "a denied (rerun)",
      `a fails: ${SKIPPED_IN_DOUBT}`,
      "message: Fine",
    ]);
  });
});

describe("the stricter rule holds if meanwhile", () => {
  test("the tool is gone: its questions are closed", async () => {
    const events = await dieAfter(at("inquiry_request"), withConfig(new Worker("x", SURE)));
    const { turn, added } = await resume(events, {});
    expect([added.map((line) => line.slice(0, 36)), problemsOf(turn.events)]).toEqual([
      [
        'a.sure.1 cancelled: "interrupted"',
        "a fails: Tool 'x' is not available. ",
        "message: Fine",
      ],
      [],
    ]);
  });

  test("the tool is gone, and may have run: the outcome is unknown", async () => {
    const events = await dieAfter(at("attempt_start"), withConfig(new Worker("x")));
    const { added } = await resume(events, {});
    expect(added).toEqual([`a fails: ${OUTCOME_UNKNOWN}`, "message: Fine"]);
  });

  test("the tool is gone, and has a result: a person decides, now or later", async () => {
    const worker = new Worker("x");
    const events = await dieAfter(
      at("permission_request", "deliver"),
      withConfig(worker, { result: "ask" }),
    );
    const later = await resume(events, { isInteractive: false });
    const now = await resume(events, {});
    expect([later.end, later.added, now.added]).toEqual([
      { type: "waiting" },
      [],
      ["a approved (deliver)", "a gives: done by x", "message: Fine"],
    ]);
  });

  test("the tool is skipped: it does not run, whatever was allowed", async () => {
    const worker = new Worker("x", SURE);
    const events = await dieAfter(at("inquiry_request"), withConfig(worker));
    const { turn, added } = await resume(events, withConfig(worker, { run: "skip" }));
    expect([added, problemsOf(turn.events), worker.runs]).toEqual([
      [
        'a.sure.1 cancelled: "interrupted"',
        "a denied (run)",
        "a gives: Tool skipped by configuration.",
        "message: Fine",
      ],
      [],
      1,
    ]);
  });

  test("the tool is skipped, and may have run: no one can run it again", async () => {
    const worker = new Worker("x");
    const events = await dieAfter(at("attempt_start"), withConfig(worker));
    const { added } = await resume(events, withConfig(worker, { run: "skip", idempotent: true }));
    expect(added).toEqual([`a fails: ${OUTCOME_UNKNOWN}`, "message: Fine"]);
  });

  test("a person has to permit it: the config's earlier permission is not enough", async () => {
    const worker = new Worker("x", SURE);
    const events = await dieAfter(at("inquiry_request"), withConfig(worker));
    const { turn, added } = await resume(events, withConfig(worker, { run: "ask" }));
    expect([added, turn.prompter.permissions.length]).toEqual([
      [
        "a waits for permission (run)",
        "a approved (run)",
        "a.sure.1 answered: true",
        "a starts",
        "a gives: done by x",
        "message: Fine",
      ],
      1,
    ]);
  });

  test("a person has to permit it: even an idempotent tool is not run again unasked", async () => {
    const worker = new Worker("x");
    const events = await dieAfter(at("attempt_start"), withConfig(worker));
    const strict = withConfig(worker, { run: "ask", idempotent: true });
    const { added } = await resume(events, { ...strict, isInteractive: false });
    expect([added, worker.runs]).toEqual([
      ["a denied (rerun)", `a fails: ${OUTCOME_UNKNOWN}`, "message: Fine"],
      1,
    ]);
  });

  test("no result may be delivered: a decision to deliver it does not count", async () => {
    const worker = new Worker("x");
    const events = await dieAfter(
      at("permission_request", "deliver"),
      withConfig(worker, { result: "ask" }),
    );
    const decided = deliveryOf(events, "approved");
    const { added } = await resume([...events, decided], withConfig(worker, { result: "skip" }));
    expect(added).toEqual([
      "a denied (deliver)",
      "a gives: Result delivery skipped by configuration.",
      "message: Fine",
    ]);
  });
});

test("a person who stops a continued turn before its tools are ready closes what was open", async () => {
  const worker = new Worker("x", SURE, NAME);
  const events = await dieAfter(isLastAsked, { tools: [worker] });
  const conversation = await new MemoryConversationStore(new FakeClock()).create({});
  await conversation.append(...events);
  const turn = await ModelTurn.create({
    conversation,
    tools: [worker],
    config: { x: { cancellation_response: "Stopped." } },
    script: { choices: [{ type: "stop" }] },
    replies: [],
    schemas: (signal) => {
      turn.press();
      return abortable(NEVER(), signal);
    },
  });
  expect([await turn.resume(), turn.record.slice(events.length)]).toEqual([
    { type: "stopped" },
    [
      "resumed",
      'a.sure.1 cancelled: "user"',
      'a.name.1 cancelled: "user"',
      "a gives: Stopped.",
      "turn stopped",
    ],
  ]);
});

test("the answers of earlier processes count towards the limit of a call", async () => {
  const options = {
    tools: [questioner("x", SURE, booleanQuestion("really", "Really?"))],
    config: { x: { questions: { sure: { answer: true }, really: { answer: true } } } },
  };
  const events = await dieAfter(at("inquiry_response"), options);
  const limits = { ...DEFAULT_LIMITS, automaticAnswersPerCall: 1 };
  const { added } = await resume(events, { ...options, limits });
  expect(added.at(-3)).toBe('a.really.1 cancelled: "attempts_exhausted"');
});

/** The permission on record, to make another decision of. */
/** A decision from elsewhere about the result that waits at the end of the record. */
function deliveryOf(
  events: readonly ConversationEvent[],
  decision: PermissionDecision["decision"],
): PermissionDecision {
  const request = events.at(-1);
  const digest = request?.type === "permission_request" ? request.subject?.digest : undefined;
  if (request?.type !== "permission_request" || digest === undefined) {
    throw new Error("Nothing waits.");
  }
  const { timestamp, id, toolCallId, tool, action } = request;
  return {
    type: "permission_decision",
    timestamp,
    id,
    toolCallId,
    tool,
    action,
    decision,
    decidedBy: { kind: "user", channel: "web" },
    digest,
  };
}
