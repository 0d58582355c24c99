import { describe, expect, test } from "vitest";
import { settle, until } from "../../test/support/model-turn.ts";
import { type PrompterScript, ScriptedPrompter } from "../testing/index.ts";
import { type InterruptDecision, Interrupts } from "./interrupts.ts";
import type { InterruptChoice } from "./ports.ts";
import { PromptQueue } from "./tool-coordinator/prompt-queue.ts";

const NEVER = new Promise<never>(() => undefined);
const { signal: untilDone } = new AbortController();

/** Some work that lasts until it is ended, and everything that was chosen about it. */
function setUp(choices: NonNullable<PrompterScript["choices"]>, hasMenu = true) {
  const prompts = new PromptQueue();
  const menu = new ScriptedPrompter({ choices });
  const interrupts = new Interrupts(prompts, hasMenu ? menu : undefined);
  const chosen: string[] = [];
  const begin = (name = "") => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const onChoice = (choice: InterruptDecision) => chosen.push(`${name}${choice.type}`);
    const done = interrupts.during({ choices: ["continue", "stop"], onChoice }, () => promise);
    return async () => {
      resolve();
      await done;
    };
  };
  return { prompts, menu, interrupts, chosen, begin };
}

describe("the first press", () => {
  test("opens a menu with the choices of the moment", async () => {
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

  test("closes the question that is being asked, and only that", async () => {
    const { prompts, menu, interrupts, chosen, begin } = setUp([{ type: "stop" }]);
    const end = begin();
    const asked: string[] = [];
    const ask = (name: string) =>
      prompts.run(async (signal) => {
        asked.push(name);
        await until(() => signal.aborted);
        return `${name} closed`;
      }, untilDone);
    const [first, second] = [ask("first"), ask("second")];
    await until(() => asked.length === 1);
    interrupts.press();
    expect([await first, menu.interrupts.length, chosen]).toEqual(["first closed", 0, []]);
    await until(() => asked.length === 2);
    interrupts.press();
    expect([await second, menu.interrupts.length, chosen]).toEqual(["second closed", 0, []]);
    await end();
  });

  test("interrupts the work where there is no menu, and where it cannot be shown", async () => {
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

  test("is for nothing when nothing is under way", () => {
    const { menu, interrupts } = setUp([]);
    interrupts.press();
    expect(menu.interrupts).toEqual([]);
  });
});

test("an interruption ends the work of the moment, and all that follows", async () => {
  const { interrupts, chosen, begin } = setUp([]);
  const endFirst = begin("first: ");
  interrupts.interrupt();
  interrupts.press(); // Too late: it is over already, and not by the person.
  await endFirst();
  await begin("second: ")();
  expect([interrupts.isLeaving, chosen]).toEqual([
    true,
    ["first: interrupted", "first: interrupted", "second: interrupted"],
  ]);
});

describe("while the menu is open", () => {
  test("one more press means to leave", async () => {
    const { menu, interrupts, chosen, begin } = setUp(() => NEVER);
    const end = begin();
    interrupts.press();
    interrupts.press();
    await end();
    expect([menu.interrupts.length <= 1, chosen[0]]).toEqual([true, "leave"]);
  });

  test("nothing that is chosen afterwards takes back that the person leaves", async () => {
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
    expect(chosen.filter((type) => type !== "continue")).toEqual(["leave"]);
  });

  test("no other is opened once everything ends", async () => {
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
    const question = prompts.run(async () => order.push(`asked after ${chosen.join()}`), untilDone);
    choice.resolve({ type: "continue" });
    await question;
    await end();
    expect(order).toEqual(["asked after continue"]);
  });
});
