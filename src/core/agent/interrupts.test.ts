import { describe, expect, test } from "vitest";
import { settle, until } from "./model-turn.fixture.ts";
import { type PrompterScript, ScriptedPrompter } from "../../testing/index.ts";
import { type Interruption, Interrupts } from "./interrupts.ts";
import { abortBy, promptCause, stopCause } from "./stop-cause.ts";
import type { InterruptChoice } from "./ports.ts";
import { PromptQueue } from "./prompt-queue.ts";

const NEVER = new Promise<never>(() => undefined);
const { signal: untilDone } = new AbortController();

/** Starts work that lasts until the test ends it, and collects its interruptions. */
function setUp(choices: NonNullable<PrompterScript["choices"]>, hasMenu = true) {
  const prompts = new PromptQueue();
  const menu = new ScriptedPrompter({ choices });
  const interrupts = new Interrupts(prompts, hasMenu ? menu : undefined);
  const chosen: string[] = [];
  const begin = (name = "") => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const onInterrupt = ({ type }: Interruption) => chosen.push(`${name}${type}`);
    const done = interrupts.during({ choices: ["continue", "stop"], onInterrupt }, () => promise);
    return async () => {
      resolve();
      await done;
    };
  };
  return { prompts, menu, interrupts, chosen, begin };
}

describe("the first press", () => {
  test("opens a menu with the current choices", async () => {
    const { menu, interrupts, chosen, begin } = setUp([{ type: "stop" }]);
    const end = begin();
    interrupts.press();
    await until(() => chosen.length > 0);
    await end();
    expect([menu.interrupts.map(({ choices }) => choices), chosen]).toEqual([
      [["continue", "stop"]],
      ["stop"],
    ]);
  });

  test("closes the open question, and only that", async () => {
    const { prompts, menu, interrupts, chosen, begin } = setUp([{ type: "stop" }]);
    const end = begin();
    const asked: string[] = [];
    const ask = async (name: string) => {
      using prompt = await prompts.open(untilDone);
      asked.push(name);
      await until(() => prompt?.signal.aborted === true);
      return `${name} closed`;
    };
    const [first, second] = [ask("first"), ask("second")];
    await until(() => asked.length === 1);
    interrupts.press();
    expect([await first, menu.interrupts.length, chosen]).toEqual(["first closed", 0, []]);
    await until(() => asked.length === 2);
    interrupts.press();
    expect([await second, menu.interrupts.length, chosen]).toEqual(["second closed", 0, []]);
    await end();
  });

  test("interrupts the work if there is no menu, or if it cannot be shown", async () => {
    const outcomes = [true, false].map(async (hasMenu) => {
      const { interrupts, chosen, begin } = setUp([], hasMenu);
      const end = begin();
      interrupts.press();
      await until(() => chosen.length > 0);
      await end();
      return chosen;
    });
    expect(await Promise.all(outcomes)).toEqual([["interrupted"], ["interrupted"]]);
  });

  test("does nothing without work in progress", () => {
    const { menu, interrupts } = setUp([]);
    interrupts.press();
    expect(menu.interrupts).toEqual([]);
  });
});

test("an interruption ends the current work and all that follows", async () => {
  const { interrupts, chosen, begin } = setUp([]);
  const endFirst = begin("first: ");
  interrupts.interrupt();
  interrupts.press(); // Too late: something else has ended it.
  await endFirst();
  await begin("second: ")();
  expect([interrupts.isLeaving, chosen]).toEqual([
    true,
    ["first: interrupted", "first: interrupted", "second: interrupted"],
  ]);
});

describe("while the menu is open", () => {
  test("another press quits", async () => {
    const { menu, interrupts, chosen, begin } = setUp(() => NEVER);
    const end = begin();
    interrupts.press();
    interrupts.press();
    await end();
    expect([menu.interrupts.length <= 1, chosen[0]]).toEqual([true, "leave"]);
  });

  test("a late choice does not undo leaving", async () => {
    const choice = Promise.withResolvers<InterruptChoice>();
    const { menu, interrupts, chosen, begin } = setUp(() => choice.promise);
    const end = begin();
    interrupts.press();
    await until(() => menu.interrupts.length === 1);
    interrupts.press();
    choice.resolve({ type: "stop" });
    await until(() => chosen.length > 0);
    await settle();
    await end();
    expect(chosen).toEqual(["leave"]);
  });

  test("no other menu opens once everything ends", async () => {
    const { menu, interrupts, chosen, begin } = setUp([{ type: "stop" }]);
    const end = begin();
    interrupts.interrupt();
    interrupts.press();
    await settle();
    await end();
    expect([interrupts.isLeaving, menu.interrupts, new Set(chosen)]).toEqual([
      true,
      [],
      new Set(["interrupted"]),
    ]);
  });

  test("it closes by itself when the work ends, and the next work can be interrupted", async () => {
    const { menu, interrupts, chosen, begin } = setUp(() =>
      menu.interrupts.length === 1 ? NEVER : { type: "stop" },
    );
    const endFirst = begin("first: ");
    interrupts.press();
    await until(() => menu.interrupts.length === 1);
    await endFirst();
    await settle();
    const endSecond = begin("second: ");
    interrupts.press();
    await until(() => chosen.includes("second: stop"));
    await endSecond();
    expect([menu.interrupts.map(({ signal }) => signal.aborted), chosen.at(-1)]).toEqual([
      [true, true],
      "second: stop",
    ]);
  });

  test("questions wait until it is closed", async () => {
    const choice = Promise.withResolvers<InterruptChoice>();
    const { prompts, menu, interrupts, chosen, begin } = setUp(() => choice.promise);
    const end = begin();
    interrupts.press();
    await until(() => menu.interrupts.length === 1);
    const order: string[] = [];
    const question = prompts.open(untilDone);
    choice.resolve({ type: "stop" });
    using _ = await question;
    order.push(`asked after ${chosen.join()}`);
    await end();
    expect(order).toEqual(["asked after stop"]);
  });
});

describe("a choice", () => {
  const OPTIONS = { choices: ["continue", "reply", "stop", "restart"] } as const;

  async function choose(choice: InterruptChoice, requiresMessage = false) {
    const interrupts = new Interrupts(
      new PromptQueue(),
      new ScriptedPrompter({ choices: [choice, { type: "stop" }] }),
    );
    let restarts = 0;
    const onRestart = () => {
      restarts += 1;
    };
    const options = { ...OPTIONS, requiresMessage, onRestart };
    const { value, interruption } = await interrupts.during(options, async (work) => {
      interrupts.press();
      await settle();
      return [work.signal.aborted, work.interruption?.type];
    });
    return { value, interruption: interruption?.type, restarts };
  }

  test.each<[InterruptChoice, boolean]>([
    [{ type: "stop" }, true],
    [{ type: "reply", message: "Wait" }, true],
    [{ type: "reply", message: "" }, false],
  ])("%j aborts the work, which learns why", async (choice, requiresMessage) => {
    expect(await choose(choice, requiresMessage)).toEqual({
      value: [true, choice.type],
      interruption: choice.type,
      restarts: 0,
    });
  });

  test.each<[InterruptChoice, number]>([
    [{ type: "continue" }, 0],
    [{ type: "reply", message: " " }, 0],
    [{ type: "restart" }, 1],
  ])("%j does not abort the work", async (choice, restarts) => {
    expect(await choose(choice, true)).toEqual({
      value: [false, undefined],
      interruption: undefined,
      restarts,
    });
  });
});

test("an error of interrupted work is thrown", async () => {
  const interrupts = new Interrupts(new PromptQueue());
  const failing = interrupts.during({ choices: [] }, async ({ signal }) => {
    interrupts.interrupt();
    throw new Error(`aborted: ${signal.aborted}`);
  });
  await expect(failing).rejects.toThrow("aborted: true");
});

function aborted(by: "user" | "interrupted"): AbortSignal {
  const controller = new AbortController();
  abortBy(by, controller);
  return controller.signal;
}

test("a stop by the user is recognized through derived signals, and no other abort is", () => {
  const followed = AbortSignal.any([AbortSignal.any([aborted("user")])]);
  const timedOut = AbortSignal.abort(new Error("Stopped by the user."));
  expect([followed, aborted("interrupted"), timedOut].map(stopCause)).toEqual([
    "user",
    "interrupted",
    "interrupted",
  ]);
});

test("the first abort counts", () => {
  const both = AbortSignal.any([aborted("interrupted"), aborted("user")]);
  expect(stopCause(both)).toBe("interrupted");
});

test("a provider cannot tell the user's abort from a plain one", () => {
  const { reason } = aborted("user") as { reason: unknown };
  expect([reason instanceof DOMException, (reason as DOMException).name]).toEqual([
    true,
    (AbortSignal.abort().reason as DOMException).name,
  ]);
});

test("what a prompter reports counts only while its signal is not aborted", () => {
  const { signal: unaborted } = new AbortController();
  expect([
    promptCause({ type: "cancelled" }, unaborted),
    promptCause({ type: "interrupted" }, unaborted),
    promptCause({ type: "cancelled" }, aborted("interrupted")),
    promptCause({ type: "interrupted" }, aborted("user")),
  ]).toEqual(["user", "interrupted", "interrupted", "user"]);
});

/** A menu in which the person chooses to reply, and then writes. */
function replying(written: Promise<InterruptChoice>, isRequired = false) {
  const interrupts = new Interrupts(new PromptQueue(), {
    choose: ({ stopNow }) => {
      stopNow?.();
      return written;
    },
  });
  const messages: Promise<string>[] = [];
  const options = {
    choices: ["continue", "reply", "stop"] as const,
    requiresMessage: isRequired,
    onInterrupt: (_: Interruption, message: Promise<string>) => void messages.push(message),
  };
  const done = interrupts.during(options, ({ signal }) => until(() => signal.aborted));
  interrupts.press();
  return { interrupts, messages, done };
}

describe("a reply", () => {
  test("stops the work when it is chosen, and goes along once it is written", async () => {
    const written = Promise.withResolvers<InterruptChoice>();
    const { messages, done } = replying(written.promise);
    await until(() => messages.length === 1); // The work has been stopped.
    written.resolve({ type: "reply", message: "not now" });
    expect([(await done).interruption, await messages[0]]).toEqual([
      { type: "reply", message: "not now" },
      "not now",
    ]);
  });

  test.each<[string, InterruptChoice]>([
    ["is left", { type: "stop" }],
    ["counts as continuing", { type: "continue" }],
    ["is empty", { type: "reply", message: " " }],
  ])("leaves the work stopped if it %s", async (_, choice) => {
    const { messages, done } = replying(Promise.resolve(choice), true);
    expect([(await done).interruption, await messages[0]]).toEqual([{ type: "stop" }, ""]);
  });

  test("is not waited for if the person quits", async () => {
    const { interrupts, messages, done } = replying(NEVER);
    await until(() => messages.length === 1);
    interrupts.press();
    expect([(await done).interruption, await messages[0]]).toEqual([{ type: "leave" }, ""]);
  });
});

test("stopping needs no menu, and stops the next work if there is none", async () => {
  const { menu, interrupts, chosen, begin } = setUp([]);
  const end = begin("first: ");
  interrupts.stop();
  await end();
  await begin("second: ")();
  expect([chosen, menu.interrupts]).toEqual([["first: stop", "second: stop"], []]);
});
