import { expect, test } from "vitest";
import { type Tool, defineTool } from "../../../tool/index.ts";
import { type Consent, createConsent } from "./consent.ts";

/** A tool that asks about the current value of `change`. */
function changing(consent: Consent, change: () => string, args = {}): Tool {
  return defineTool({
    name: "changing",
    description: "",
    parameters: { type: "object" },
    run: async (_, context) => {
      const isAgreed = await consent.ask(context, {
        call: ["changing", args],
        displayPath: "a.txt",
        change: [change()],
        question: { id: "sure", text: "Sure?", default: false },
      });
      return isAgreed ? "yes" : "no";
    },
  });
}

async function attempt(tool: Tool, answers = {}): Promise<string> {
  const { signal } = new AbortController();
  const outcome = await tool.execute({ arguments: {}, answers, signal });
  if (outcome.type === "needs_input") return "asks";
  return outcome.type === "success" ? outcome.content : (outcome.message.split(" and ")[0] ?? "");
}

test("a yes counts for the change that was shown", async () => {
  const tool = changing(createConsent(), () => "the same");
  expect([await attempt(tool), await attempt(tool, { sure: true })]).toEqual(["asks", "yes"]);
});

test("a yes does not count for another change, which can be asked about again", async () => {
  let change = "one";
  const tool = changing(createConsent(), () => change);
  const results = [await attempt(tool)];
  change = "two";
  results.push(await attempt(tool, { sure: true }));
  results.push(await attempt(tool), await attempt(tool, { sure: true }));
  expect(results).toEqual(["asks", "a.txt changed in the meantime", "asks", "yes"]);
});

test("a no counts even if the change is different by now", async () => {
  let change = "one";
  const tool = changing(createConsent(), () => change);
  await attempt(tool);
  change = "two";
  expect(await attempt(tool, { sure: false })).toBe("no");
});

test("an answer given before any question counts, such as one from config", async () => {
  expect(
    await attempt(
      changing(createConsent(), () => "one"),
      { sure: true },
    ),
  ).toBe("yes");
});

test("a call that was cancelled while it asked does not affect the next one", async () => {
  let change = "one";
  const tool = changing(createConsent(), () => change);
  await attempt(tool);
  change = "two";
  expect([await attempt(tool), await attempt(tool, { sure: true })]).toEqual(["asks", "yes"]);
});

test("each answer settles one of two equal calls", async () => {
  let change = "one";
  const tool = changing(createConsent(), () => change);
  await attempt(tool);
  await attempt(tool);
  const first = await attempt(tool, { sure: true });
  change = "two";
  expect([first, await attempt(tool, { sure: true })]).toEqual([
    "yes",
    "a.txt changed in the meantime",
  ]);
});

test("an answer of the wrong type is asked for again", async () => {
  const tool = changing(createConsent(), () => "one");
  expect(await attempt(tool, { sure: "yes" })).toBe("asks");
});

test("beyond one hundred pending questions the oldest is forgotten", async () => {
  const consent = createConsent();
  for (let number = 0; number <= 100; number += 1) {
    await attempt(changing(consent, () => "one", { number }));
  }
  const isPending = (number: number) => consent.isPending(["changing", { number }]);
  expect([0, 1, 100].map(isPending)).toEqual([false, true, true]);
});
