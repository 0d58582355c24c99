import { expect, test } from "vitest";
import { type BuiltinTool, defineTool } from "../../../tool/index.ts";
import { type Consent, createConsent } from "./consent.ts";

/** A tool that asks about whatever the change is at the moment. */
function changing(consent: Consent, change: () => string, args = {}): BuiltinTool {
  return defineTool({
    name: "changing",
    description: "",
    parameters: { type: "object" },
    run: async (_, context) => {
      const isAgreed = await consent.ask(context, {
        call: ["changing", args],
        shown: "a.txt",
        change: [change()],
        question: { id: "sure", text: "Sure?", default: false },
      });
      return isAgreed ? "yes" : "no";
    },
  });
}

async function attempt(tool: BuiltinTool, answers = {}): Promise<string> {
  const { signal } = new AbortController();
  const outcome = await tool.execute({ arguments: {}, answers, signal });
  if (outcome.type === "needs_input") return "asks";
  return outcome.type === "success" ? outcome.content : (outcome.message.split(",")[0] ?? "");
}

test("a yes counts for the change that was shown", async () => {
  const tool = changing(createConsent(), () => "the same");
  expect([await attempt(tool), await attempt(tool, { sure: true })]).toEqual(["asks", "yes"]);
});

test("a yes does not count for another change, and a new question can be asked", async () => {
  let change = "one";
  const tool = changing(createConsent(), () => change);
  const told = [await attempt(tool)];
  change = "two";
  told.push(await attempt(tool, { sure: true }));
  told.push(await attempt(tool), await attempt(tool, { sure: true }));
  expect(told).toEqual(["asks", "a.txt changed meanwhile", "asks", "yes"]);
});

test("a no counts whatever the change is by now", async () => {
  let change = "one";
  const tool = changing(createConsent(), () => change);
  await attempt(tool);
  change = "two";
  expect(await attempt(tool, { sure: false })).toBe("no");
});

test("an answer that comes before any question counts, as one from a config does", async () => {
  expect(
    await attempt(
      changing(createConsent(), () => "one"),
      { sure: true },
    ),
  ).toBe("yes");
});

test("a call that was cancelled while it asked is in nobody's way", async () => {
  let change = "one";
  const tool = changing(createConsent(), () => change);
  await attempt(tool);
  change = "two";
  expect([await attempt(tool), await attempt(tool, { sure: true })]).toEqual(["asks", "yes"]);
});

test("of two equal calls that ask at the same time, only the first finds what was shown", async () => {
  let change = "one";
  const tool = changing(createConsent(), () => change);
  await attempt(tool);
  await attempt(tool);
  const first = await attempt(tool, { sure: true });
  change = "two";
  expect([first, await attempt(tool, { sure: true })]).toEqual(["yes", "a.txt changed meanwhile"]);
});

test("an answer of a wrong type is asked for again", async () => {
  const tool = changing(createConsent(), () => "one");
  expect(await attempt(tool, { sure: "yes" })).toBe("asks");
});

test("it forgets the oldest of very many open questions, and only that one", async () => {
  const consent = createConsent();
  for (let number = 0; number <= 100; number += 1) {
    await attempt(changing(consent, () => "one", { number }));
  }
  const isOpen = (number: number) => consent.isOpen(["changing", { number }]);
  expect([0, 1, 100].map(isOpen)).toEqual([false, true, true]);
});
