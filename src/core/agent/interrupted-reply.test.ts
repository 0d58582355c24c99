import { describe, expect, test } from "vitest";
import {
  ModelTurn,
  type ModelTurnOptions,
  unfinished,
  settle,
  until,
} from "./model-turn.fixture.ts";
import { echo } from "./turn-tools.fixture.ts";
import { ProviderError } from "../../reach/provider/index.ts";
import type { ScriptedStep } from "../../testing/index.ts";
import type { InterruptChoice } from "./ports.ts";

const CALL = { type: "tool_call", id: "a", name: "echo" } as const;
const HANG = { type: "hang" } as const;
const REPLY = { type: "reply", message: "Rather the other one" } as const;
const TOLD = "Tool run cancelled by user with a custom message:\n\nRather the other one";

/** Interrupts an endless reply after these steps, the last of which is a text. */
async function interrupt(
  choice: InterruptChoice,
  steps: readonly ScriptedStep[],
  options: Partial<ModelTurnOptions> = {},
) {
  const turn = await ModelTurn.create({
    tools: [echo],
    config: { echo: { cancellation_response: "Stopped." } },
    script: { choices: [choice] },
    replies: [[...steps, HANG], "Fine"],
    ...options,
  });
  const end = turn.run();
  await turn.saw("message_delta");
  await until(() => turn.model.requests.length === 1);
  turn.press();
  return { turn, end: await end };
}

const ONE_AND_A_HALF = [{ type: "text", text: "One" } as const, unfinished("two ")];
const HEARD = ["turn", "person: Hello", "message: One", "message: two "];

describe("a reply that a person interrupts", () => {
  test("offers to continue, reply, stop or discard, and continues meanwhile", async () => {
    const rest = Promise.withResolvers<void>();
    const turn = await ModelTurn.create({
      script: { choices: [{ type: "continue" }] },
      replies: [[unfinished("One "), { type: "wait", until: rest.promise }, unfinished("two")]],
    });
    const end = turn.run();
    await turn.saw("message_delta");
    turn.press();
    await until(() => turn.prompter.interrupts.length === 1);
    rest.resolve();
    expect({
      end: await end,
      choices: turn.prompter.interrupts.map(({ choices }) => choices),
      record: turn.record,
    }).toEqual({
      end: { type: "done", reason: "stop" },
      choices: [["continue", "reply", "stop", "discard"]],
      record: ["turn", "person: Hello", "message: One two"],
    });
  });

  test("ends with the person's message, and the model sees it after the partial reply", async () => {
    const { turn, end } = await interrupt(REPLY, ONE_AND_A_HALF);
    expect({ end, record: turn.record, shown: turn.shown[1] }).toEqual({
      end: { type: "done", reason: "stop" },
      record: [...HEARD, "person: Rather the other one", "message: Fine"],
      shown: [...HEARD.slice(1), "person: Rather the other one"],
    });
    expect(turn.model.requests[0]?.signal.aborted).toBe(true);
  });

  test("still has to call a required tool if it has called none", async () => {
    const { turn } = await interrupt(REPLY, ONE_AND_A_HALF, {
      assistant: { toolChoice: "required" },
    });
    expect(turn.model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
      "required",
      "required",
    ]);
  });

  test("drops its calls, and the model sees the person's message", async () => {
    const { turn, end } = await interrupt(REPLY, [CALL, unfinished("two ")]);
    expect({ end, shown: turn.shown[1] }).toEqual({
      end: { type: "done", reason: "stop" },
      shown: ["person: Hello", "message: two ", "person: Rather the other one"],
    });
  });

  test("continues if the message is empty", async () => {
    const rest = Promise.withResolvers<void>();
    const turn = await ModelTurn.create({
      script: { choices: [{ type: "reply", message: " \n" }] },
      replies: [[unfinished("One "), { type: "wait", until: rest.promise }, unfinished("two")]],
    });
    const end = turn.run();
    await turn.saw("message_delta");
    turn.press();
    await until(() => turn.prompter.interrupts.length === 1);
    rest.resolve();
    await end;
    expect(turn.record).toEqual(["turn", "person: Hello", "message: One two"]);
  });

  test.each<[InterruptChoice, string, readonly string[]]>([
    [{ type: "stop" }, "stopped", HEARD],
    [{ type: "discard" }, "stopped", HEARD.slice(0, -1)],
    [{ type: "leave" }, "interrupted", HEARD],
  ])("ends the turn on %o", async (choice, end, record) => {
    const result = await interrupt(choice, ONE_AND_A_HALF);
    expect({ end: result.end, record: result.turn.record }).toEqual({ end: { type: end }, record });
  });

  test.each<[InterruptChoice["type"], readonly string[]]>([
    ["stop", ["message: two "]],
    ["discard", ["turn stopped"]],
    ["leave", ["message: two "]],
  ])("records none of its calls on %s", async (type, rest) => {
    const { turn } = await interrupt({ type } as InterruptChoice, [CALL, unfinished("two ")]);
    expect(turn.record).toEqual(["turn", "person: Hello", ...rest]);
  });

  test("ends at the second press, or at the first without a menu", async () => {
    const ends = [true, false].map(async (hasMenu) => {
      const turn = await ModelTurn.create({
        hasMenu,
        script: { choices: () => new Promise<never>(() => undefined) },
        replies: [[unfinished("One "), HANG]],
      });
      const end = turn.run();
      await turn.saw("message_delta");
      turn.press();
      if (hasMenu) {
        await until(() => turn.prompter.interrupts.length === 1);
        turn.press();
      }
      return { end: await end, record: turn.record };
    });
    const expected = {
      end: { type: "interrupted" },
      record: ["turn", "person: Hello", "message: One "],
    };
    expect(await Promise.all(ends)).toEqual([expected, expected]);
  });

  test("closes the menu when it ends by itself", async () => {
    const rest = Promise.withResolvers<void>();
    const turn = await ModelTurn.create({
      script: { choices: () => new Promise<never>(() => undefined) },
      replies: [[unfinished("One "), { type: "wait", until: rest.promise }]],
    });
    const end = turn.run();
    await turn.saw("message_delta");
    turn.press();
    await until(() => turn.prompter.interrupts.length === 1);
    rest.resolve();
    expect([await end, turn.prompter.interrupts[0]?.signal.aborted]).toEqual([
      { type: "done", reason: "stop" },
      true,
    ]);
  });

  test("is not retried if the person stops it in the pause before", async () => {
    const error = new ProviderError("overloaded", "Busy.", { isRetryable: true });
    const turn = await ModelTurn.create({
      waitsForRetries: true,
      script: { choices: [{ type: "stop" }] },
      replies: [[unfinished("One "), { type: "error", error }]],
    });
    const end = turn.run();
    await turn.saw("retry_start");
    turn.press();
    expect([await end, turn.model.requests.length, turn.record.at(-1)]).toEqual([
      { type: "stopped" },
      1,
      "message: One ",
    ]);
  });
});

test.each<[InterruptChoice, object, readonly string[]]>([
  [{ type: "stop" }, { type: "stopped" }, ["a gives: Stopped.", "turn stopped"]],
  [REPLY, { type: "done", reason: "stop" }, [`a gives: ${TOLD}`, "message: Fine"]],
  [{ type: "leave" }, { type: "interrupted" }, ["a calls echo", "message: two "]],
])("%o counts even while the calls are being recorded", async (choice, expected, last) => {
  const written = Promise.withResolvers<void>();
  const turn: ModelTurn = await ModelTurn.create({
    tools: [echo],
    config: { echo: { cancellation_response: "Stopped." } },
    script: { choices: [choice] },
    beforeAppend: async (events) => {
      if (!events.some(({ type }) => type === "tool_call_request")) return;
      turn.press();
      await written.promise;
    },
    replies: [[CALL, unfinished("two ")], "Fine"],
  });
  const end = turn.run();
  await until(() => turn.prompter.interrupts.length === 1);
  await settle();
  written.resolve();
  expect([await end, turn.record.slice(-last.length)]).toEqual([expected, last]);
});

test("a message counts even if all calls of the reply have ended", async () => {
  const turn: ModelTurn = await ModelTurn.create({
    script: { choices: [REPLY] },
    beforeAppend: async (events) => {
      if (!events.some(({ type }) => type === "tool_call_request")) return;
      turn.press();
      await until(() => turn.prompter.interrupts.length === 1);
      await settle();
    },
    replies: [[{ ...CALL, name: "gone" }], "Fine"],
  });
  await turn.run();
  expect(turn.shown[1]?.filter((line) => line.includes("Rather the other one"))).toHaveLength(1);
});

/** Servers that never start. */
function open(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
  });
}

describe("while the tools start", () => {
  test.each<[InterruptChoice, object, readonly string[]]>([
    [{ type: "stop" }, { type: "stopped" }, ["turn stopped"]],
    [{ type: "leave" }, { type: "interrupted" }, []],
  ])("%o ends the turn before the model is asked", async (choice, expected, last) => {
    const turn = await ModelTurn.create({
      script: { choices: [choice] },
      schemas: open,
      replies: [],
    });
    const end = turn.run();
    await turn.saw("event", "chat_request");
    await until(() => turn.record.length === 2);
    await settle();
    turn.press();
    expect({
      end: await end,
      choices: turn.prompter.interrupts.map(({ choices }) => choices),
      record: turn.record,
    }).toEqual({
      end: expected,
      choices: [["continue", "stop"]],
      record: ["turn", "person: Hello", ...last],
    });
  });

  test("a stop counts even if aborted tools are left out without an error", async () => {
    const opening = Promise.withResolvers<void>();
    const turn = await ModelTurn.create({
      script: { choices: [{ type: "stop" }] },
      schemas: async (signal) => {
        opening.resolve();
        await open(signal).catch(() => undefined);
        return [];
      },
      replies: ["Never said"],
    });
    const end = turn.run();
    await opening.promise;
    turn.press();
    expect([await end, turn.model.requests.length]).toEqual([{ type: "stopped" }, 0]);
  });

  test("continuing waits for them", async () => {
    const opened = Promise.withResolvers<readonly []>();
    const opening = Promise.withResolvers<void>();
    const turn = await ModelTurn.create({
      script: { choices: [{ type: "continue" }] },
      schemas: () => {
        opening.resolve();
        return opened.promise;
      },
      replies: ["Hi"],
    });
    const end = turn.run();
    await opening.promise;
    turn.press();
    await until(() => turn.prompter.interrupts.length === 1);
    opened.resolve([]);
    expect(await end).toEqual({ type: "done", reason: "stop" });
  });

  test("their error is thrown by the turn", async () => {
    const turn = await ModelTurn.create({
      schemas: () => Promise.reject(new Error("no such server")),
      replies: [],
    });
    await expect(turn.run()).rejects.toThrow("no such server");
  });
});

test("a press does nothing outside a turn", async () => {
  const turn = await ModelTurn.create({ replies: ["Hi"] });
  turn.press();
  const end = await turn.run();
  turn.press();
  expect([end, turn.prompter.interrupts]).toEqual([{ type: "done", reason: "stop" }, []]);
});

test("a turn that is left before its first request never asks the model", async () => {
  const turn: ModelTurn = await ModelTurn.create({
    beforeAppend: () => turn.leave(),
    replies: ["Never said"],
  });
  expect([await turn.run(), turn.model.requests.length, turn.record]).toEqual([
    { type: "interrupted" },
    0,
    ["turn", "person: Hello"],
  ]);
});

test("leaving the turn closes an open prompt, and leaves its call waiting", async () => {
  const turn = await ModelTurn.create({
    tools: [echo],
    config: { echo: { run: "ask" } },
    script: { permissions: () => new Promise<never>(() => undefined) },
    replies: [[CALL], "Never said"],
  });
  const end = turn.run();
  await until(() => turn.prompter.permissions.length === 1);
  turn.leave();
  expect([await end, turn.record.slice(2)]).toEqual([
    { type: "interrupted" },
    ["a calls echo", "a waits for permission (run)"],
  ]);
});
