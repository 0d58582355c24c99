import { describe, expect, test } from "vitest";
import type { Mode } from "../../../settings/config/index.ts";
import { SessionMode } from "./session-mode.ts";

interface Place {
  readonly chosen?: Mode;
  readonly hasSandbox?: boolean;
}

function open({ chosen, hasSandbox = true }: Place = {}) {
  let time = 0;
  const mode = new SessionMode({ chosen, now: () => time, hasSandbox: async () => hasSandbox });
  return { mode, pass: (ms: number) => void (time += ms) };
}

async function press(mode: SessionMode, times: number): Promise<readonly Mode[]> {
  const seen: Mode[] = [];
  for (let count = 0; count < times; count += 1) {
    await mode.next();
    seen.push(mode.current);
  }
  return seen;
}

describe("Shift-Tab", () => {
  test("goes from mode to mode, and from the last to the first", async () => {
    const { mode } = open();
    expect(await press(mode, 5)).toEqual(["edits", "plan", "sandbox", "ask", "edits"]);
  });

  test("goes on from the mode that is configured, which then no longer counts", async () => {
    const { mode } = open();
    mode.configure({ conversation: { mode: "edits" } });
    expect(mode.chosen).toBeUndefined();
    await mode.next();
    mode.configure({ conversation: { mode: "sandbox" } });
    expect([mode.chosen, mode.current]).toEqual(["plan", "plan"]);
  });

  test("leaves out sandbox where there is none, and says so", async () => {
    const { mode } = open({ hasSandbox: false });
    expect(await press(mode, 3)).toEqual(["edits", "plan", "ask"]);
    expect(mode.shown).toEqual({ name: "ask", note: "no sandbox here: see jp doctor" });
    await mode.next();
    expect(mode.shown).toEqual({ name: "edits", note: undefined });
  });

  test("counts each time, even if it is pressed before jp knows whether there is a sandbox", async () => {
    const { mode } = open();
    await Promise.all([mode.next(), mode.next(), mode.next()]);
    expect(mode.current).toBe("sandbox");
  });
});

test("/allow says if a mode is of no use here, and chooses it all the same", async () => {
  const { mode } = open({ hasSandbox: false });
  const usable = [await mode.choose("plan"), await mode.choose("sandbox")];
  expect([usable, mode.current]).toEqual([[true, false], "sandbox"]);
});

describe("the mode is shown", () => {
  test.each(["plan", "edits", "sandbox"] as const)("unless it is ask (%s)", (chosen) => {
    expect([open({ chosen }).mode.shown?.name, open().mode.shown]).toEqual([chosen, undefined]);
  });

  test("until a message is sent, if the person has gone back to ask", async () => {
    const { mode } = open({ chosen: "plan" });
    await mode.choose("ask");
    expect(mode.shown?.name).toBe("ask");
    mode.settle();
    expect(mode.shown).toBeUndefined();
  });
});

describe("while a turn runs", () => {
  test("a looser mode counts only once the person stays there", async () => {
    const { mode, pass } = open();
    await mode.next();
    pass(999);
    expect([mode.current, mode.forCall()]).toEqual(["edits", "ask"]);
    pass(1);
    expect(mode.forCall()).toBe("edits");
  });

  test("modes that the person passes let nothing run", async () => {
    const { mode, pass } = open();
    const counted: Mode[] = [];
    for (let count = 0; count < 4; count += 1) {
      await mode.next();
      pass(900);
      counted.push(mode.forCall());
    }
    expect(counted).toEqual(["ask", "plan", "ask", "ask"]);
  });

  test("a stricter mode counts at once", async () => {
    const { mode } = open({ chosen: "edits" });
    await mode.choose("plan");
    expect(mode.forCall()).toBe("plan");
  });

  test("neither of two modes that let different things run counts at first", async () => {
    const { mode, pass } = open({ chosen: "edits" });
    await mode.choose("sandbox");
    const first = mode.forCall();
    pass(1000);
    expect([first, mode.forCall()]).toEqual(["ask", "sandbox"]);
  });

  test("the mode that a message was sent with counts from the start", async () => {
    const { mode } = open();
    await mode.choose("edits");
    mode.settle();
    expect(mode.forCall()).toBe("edits");
  });
});
