import { expect, test } from "vitest";
import type { DecisionJson } from "../wire.ts";
import { describeConsequences } from "./consequences.ts";
import { type Item, readItem } from "./item.ts";

const PERMISSION: DecisionJson = {
  workspace: "/w",
  conversation: "c",
  id: "c1:run:1",
  kind: "permission",
  tool: "deploy",
  label: "deploy",
  question: { text: "Run deploy?", answer_type: { type: "boolean" } },
  acts: true,
  asked_at: "2026-01-02 03:04:05.6",
};

const QUESTION = { kind: "question", source: { source: "tool", name: "deploy" } } as const;

const CHANGE = {
  ...QUESTION,
  tool: "fs_delete_file",
  question_id: "delete_file",
  origin: { type: "builtin" },
  arguments: { path: "a.txt" },
} as const;

function item(fields: Partial<DecisionJson>): Item {
  const found = readItem({ ...PERMISSION, ...fields });
  if (found === undefined) throw new Error("not an item");
  return found;
}

test.each<[Partial<DecisionJson>, string]>([
  [{ is_live: true }, "Run: it runs at once. Skip: it does not run, and the model is told so."],
  [
    { is_live: true, origin: { type: "builtin", confinement: "none", undo: "off" } },
    "Run: it runs at once. Skip: it does not run, and the model is told so. Cannot be undone: jp keeps no copies here.",
  ],
  [
    { terms: { quorum: 2 }, is_live: true },
    "Run: it runs once 2 people agree. Skip: it does not run, and the model is told so.",
  ],
  [
    { kind: "delivery", is_live: true },
    "Show: the model sees it at once. Withhold: the model learns only that you said no.",
  ],
  [
    { ...CHANGE, is_live: true },
    "Yes: it is done as shown at once. No: no file changes, and the model is told so.",
  ],
  [
    { ...QUESTION, is_live: true },
    "Yes: the tool goes ahead at once. No: the tool is told not to.",
  ],
  [{ ...QUESTION, acts: false, is_live: true }, "Your answer goes to the tool at once."],
  [
    { ...QUESTION, acts: false, source: { source: "assistant" }, is_live: true },
    "Your answer goes to the model at once.",
  ],
])("says what follows from each answer: %j", (fields, words) => {
  expect(describeConsequences(item(fields), false)).toBe(words);
});

test.each([
  [true, "once nothing else in its turn waits"],
  [false, "once someone continues its turn"],
])("says when, if no process waits (the desk continues turns: %s)", (runs, when) => {
  expect(describeConsequences(item({}), runs)).toContain(`it runs ${when}.`);
});
