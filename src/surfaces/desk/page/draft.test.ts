import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../util/index.ts";
import type { DecisionJson } from "../wire.ts";
import {
  describeDraft,
  type Draft,
  DraftStore,
  isAnswerable,
  newDraft,
  toReply,
  whyNot,
} from "./draft.ts";
import {
  argumentsLine,
  askerOf,
  describeBy,
  describeEnd,
  isOver,
  type Item,
  readItem,
  showValue,
  summaryOf,
} from "./item.ts";

const SELECT = { type: "select", options: [{ value: "a" }, { value: null }, { value: ["b"] }] };

const ASKED: DecisionJson = {
  workspace: "/w",
  conversation: "c",
  id: "q",
  kind: "question",
  tool: "t",
  label: "t",
  question: { text: "Sure?", answer_type: { type: "boolean" } },
  acts: false,
  asked_at: "2026-01-02 03:04:05.6",
};

/** Fields of the question, and of the decision itself. */
type Fields = JsonObject & Partial<Pick<DecisionJson, "kind" | "for" | "acts" | "asked_at">>;

/** As the API gives it. */
function item(fields: Fields): Item {
  const { kind = "question", acts = false, asked_at = ASKED.asked_at } = fields;
  const { for_any } = fields;
  const { content, is_error: isError, is_live: isLive, for: person, takes, ...question } = fields;
  const found = readItem({
    ...ASKED,
    kind,
    acts,
    asked_at,
    question: { ...ASKED.question, ...question },
    ...(person !== undefined && { for: person }),
    // As the test gives it.
    ...(for_any !== undefined && { for_any: for_any as NonNullable<DecisionJson["for_any"]> }),
    ...(takes !== undefined && { takes: takes as NonNullable<DecisionJson["takes"]> }),
    ...(isLive === true && { is_live: true }),
    ...(typeof content === "string" && { result: { content, is_error: isError === true } }),
  });
  if (found === undefined) throw new Error("not an item");
  return found;
}

function replyTo(fields: Fields, draft: Partial<Draft>) {
  const asked = item(fields);
  const result = toReply(asked, { ...newDraft(asked), ...draft });
  return result.type === "complete" ? result.reply : result.problem;
}

describe("the answer that is sent", () => {
  test.each<[title: string, Fields, Partial<Draft>, unknown]>([
    ["yes", {}, { truth: true }, { answer: true }],
    ["no", {}, { truth: false }, { answer: false }],
    ["nothing yet", {}, {}, "Choose yes or no."],
    ["text", { answer_type: { type: "text" } }, { text: " a\nb " }, { answer: " a\nb " }],
    ["an empty text", { answer_type: { type: "text" } }, {}, { answer: "" }],
    ["the suggested text", { answer_type: { type: "text" }, default: "x" }, {}, { answer: "x" }],
    ["a secret", { answer_type: { type: "secret" } }, { text: "s" }, { answer: "s" }],
    ["no secret", { answer_type: { type: "secret" } }, {}, "Enter the secret."],
    ["an option", { answer_type: SELECT }, { chosen: [0] }, { answer: "a" }],
    ["an option that is null", { answer_type: SELECT }, { chosen: [1] }, { answer: null }],
    ["an option that is a list", { answer_type: SELECT }, { chosen: [2] }, { answer: ["b"] }],
    ["no option", { answer_type: SELECT }, {}, "Choose an option."],
    ["the suggested option", { answer_type: SELECT, default: "a" }, {}, { answer: "a" }],
    [
      "no suggested option if it acts",
      { answer_type: SELECT, default: "a", acts: true },
      {},
      "Choose an option.",
    ],
    [
      "another answer",
      { answer_type: { ...SELECT, other: true } },
      { isOther: true, other: " mine " },
      { answer: "mine" },
    ],
    [
      "another answer that is empty",
      { answer_type: { ...SELECT, other: true } },
      { isOther: true, other: " ", chosen: [0] },
      "Choose an option.",
    ],
    ["no options of several", { answer_type: { ...SELECT, multiple: true } }, {}, { answer: [] }],
    [
      "several options in their order, and another",
      { answer_type: { ...SELECT, multiple: true, other: true } },
      { chosen: [1, 0], isOther: true, other: "z" },
      { answer: ["a", null, "z"] },
    ],
  ])("is %s", (_title, fields, draft, expected) => {
    expect(replyTo(fields, draft)).toEqual(expected);
  });

  test("has a note only where the request takes one, or if it is a no", () => {
    const yes = { truth: true, note: " why " };
    const no = { truth: false, note: " why " };
    const permission = { kind: "permission", takes: { note: "any" } } as const;
    expect([
      replyTo({ note: true }, yes),
      replyTo(permission, yes),
      replyTo({}, yes),
      replyTo({ kind: "permission" }, yes),
      replyTo({}, no),
    ]).toEqual([
      { answer: true, note: "why" },
      { answer: true, note: "why" },
      { answer: true },
      { answer: true },
      { answer: false, note: "why" },
    ]);
  });

  test("has a note that is the next message only if it is the reason of a no", () => {
    const asked = item({ note: true });
    const draft = { ...newDraft(asked), note: "Use sed.", redirects: true };
    const replies = [
      { ...draft, truth: false },
      { ...draft, truth: true },
      { ...draft, truth: false, note: " " },
    ].map((each) => toReply(asked, each));
    expect(replies).toEqual([
      { type: "complete", reply: { answer: false, note: "Use sed.", redirects: true } },
      { type: "complete", reply: { answer: true, note: "Use sed." } },
      { type: "complete", reply: { answer: false } },
    ]);
  });

  test("is remembered only where the request offers that", () => {
    const draft = { truth: true, isRemembered: true };
    const remembered = { answer: true, isRemembered: true };
    expect(replyTo({ takes: { turn: { code: "question" } } }, draft)).toEqual(remembered);
    const permission = { kind: "permission", takes: { turn: { code: "calls" } } } as const;
    expect(replyTo(permission, draft)).toEqual(remembered);
    expect(replyTo({ takes: { note: "any" } }, draft)).toEqual({ answer: true });
    expect(replyTo({ kind: "permission" }, draft)).toEqual({ answer: true });
  });

  test("has the edited result of a delivery, if it was edited and is shown", () => {
    const delivery = { kind: "delivery", content: "long", is_error: false } as const;
    expect(replyTo(delivery, { truth: true, content: "short" })).toEqual({
      answer: true,
      content: "short",
    });
    expect(replyTo(delivery, { truth: true, content: "long" })).toEqual({ answer: true });
    expect(replyTo(delivery, { truth: false, content: "short" })).toEqual({ answer: false });
  });
});

test("a suggested answer that does not fit is not suggested", () => {
  expect(newDraft(item({ default: "maybe" })).truth).toBeUndefined();
});

test("a secret is never in the review, and can be given only to a process that waits", () => {
  const secret = item({ answer_type: { type: "secret" } });
  expect(describeDraft(secret, { ...newDraft(secret), text: "hunter2" })).toBe("(hidden)");
  expect(isAnswerable(secret)).toBe(false);
  expect(isAnswerable(item({ answer_type: { type: "secret" }, is_live: true }))).toBe(true);
});

test("the review has the answer, the note and how long it holds", () => {
  const asked = item({ takes: { turn: { code: "question" }, note: "any" } });
  const draft = { ...newDraft(asked), truth: true, note: "why", isRemembered: true };
  expect(describeDraft(asked, draft)).toBe("yes; note: why; for the rest of this turn");
});

test("the review names chosen options by their titles", () => {
  const options = [{ value: "a1", title: "First" }, { value: "b2", title: "Second" }, "c"];
  const several = item({ answer_type: { type: "select", options, multiple: true, other: true } });
  const draft = { ...newDraft(several), chosen: [1, 2], isOther: true, other: " mine " };
  expect([describeDraft(several, draft), describeDraft(several, newDraft(several))]).toEqual([
    "Second, c, mine",
    "(none)",
  ]);
});

describe("an item", () => {
  test("is read from the record, with who answered", () => {
    const read = readItem({
      ...ASKED,
      source: { source: "assistant" },
      outcome: "answered",
      answer: true,
      answered_by: { kind: "user", channel: "desk", name: "Ada" },
    });
    expect(read && [askerOf(read), describeEnd(read), isOver(read)]).toEqual([
      "Assistant",
      "yes",
      true,
    ]);
    expect(describeBy(read?.answered_by)).toBe("Ada (desk)");
  });

  test.each([
    [{ outcome: "denied", reason: "no" }, "denied (no)"],
    [{ outcome: "denied", cause: "timed_out" }, "denied (timed_out)"],
    [{ outcome: "answered", answer: "yes" }, '"yes"'],
    [{ outcome: "answered", answer: "a\u00a0b" }, '"a<U+00A0>b"'],
    [{ outcome: "redacted" }, "answered with a secret"],
    [{ outcome: "edited", answered_by: { kind: "tool" } }, "found done"],
    [{ outcome: "approved", answered_by: { kind: "tool" } }, "found not done"],
    [{}, "pending"],
  ])("says how it ended: %j", (end, words) => {
    expect(describeEnd(end)).toBe(words);
  });

  test("waits no longer once it is void", () => {
    expect([isOver(item({})), isOver({ ...item({}), void: ["file"] })]).toEqual([false, true]);
  });

  test("of an unknown type is left out", () => {
    const question = { ...ASKED.question, answer_type: { type: "dance" } };
    expect(readItem({ ...ASKED, question })).toBeUndefined();
  });

  test.each([
    ["Delete __init__.py?", "Delete __init__.py?"],
    ["~~old~~prod.db", "~~old~~prod.db"],
    ["# Plan\n\nMore", "# Plan …"],
    ["a\u{202e}b", "a<U+202E>b"],
    ["", ""],
  ])("has its first line in lists, without Markdown: %j", (text, line) => {
    expect(summaryOf(text, showValue)).toBe(line);
  });

  test("is short in lists", () => {
    expect(summaryOf("x".repeat(1_000_000), showValue)).toHaveLength(302);
  });
});

/** As a tab of a browser stores it. */
function tab() {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  };
}

describe("what was typed", () => {
  const asked = item({ answer_type: { type: "text" } });
  const draft = { ...newDraft(asked), text: "Half" };

  test("is there after a reload, for the same person and the same question only", () => {
    const storage = tab();
    new DraftStore(storage, "Ada").keep(asked, draft);
    const later = item({ answer_type: { type: "text" }, asked_at: "2026-01-02 03:04:06" });
    expect(new DraftStore(storage, "Ada").find(asked)).toEqual(draft);
    expect(new DraftStore(storage, "Ada").find(later)).toBeUndefined();
    expect(new DraftStore(storage, "Ben").find(asked)).toBeUndefined();
  });

  test("is gone once it is sent, and after logging out", () => {
    const storage = tab();
    const drafts = new DraftStore(storage, "Ada");
    drafts.keep(asked, draft);
    drafts.remove(asked);
    expect(new DraftStore(storage, "Ada").find(asked)).toBeUndefined();
    drafts.keep(asked, draft);
    drafts.clear();
    expect(storage.values.size).toBe(0);
  });

  test("is not kept if it is a secret", () => {
    const storage = tab();
    const secret = item({ answer_type: { type: "secret" } });
    const drafts = new DraftStore(storage, "Ada");
    drafts.keep(secret, { ...newDraft(secret), text: "s3cret" });
    expect([drafts.find(secret), storage.values.size]).toEqual([undefined, 0]);
  });

  test.each(["", "{", "[]", '{"name":"Ada","drafts":[["k",{}],[1],null]}'])(
    "is left out if another version has written it: %s",
    (text) => {
      const storage = tab();
      storage.setItem("jp-desk-drafts", text);
      expect(new DraftStore(storage, "Ada").find(asked)).toBeUndefined();
    },
  );
});

test.each([
  [{ command: "ls\n-l" }, "ls<U+000A>-l"],
  [{ path: "a", lines: [1, 2] }, 'path: "a", lines: [1,2]'],
  [{}, ""],
])("arguments on one line: %j", (args, line) => {
  expect(argumentsLine(args)).toBe(line);
});

describe("who may answer", () => {
  test.each<[title: string, Fields, string | undefined]>([
    ["anyone with the right", {}, undefined],
    ["the person it is for, however the name is written", { for: "ADA" }, undefined],
    [
      "no one but the person it is for",
      { for: "ben" },
      "You can read this, but only ben can answer this.",
    ],
    [
      "no one else, if it is for a role",
      { for_any: [{ role: "finance" }] },
      "You can read this, but only someone with the role finance can answer this.",
    ],
    ["those who have one of its roles", { for_any: [{ user: "ben" }, { role: "ops" }] }, undefined],
    [
      "no one without the right",
      { kind: "permission", acts: true },
      "You can read this. To answer it, you need the right “approve”.",
    ],
    [
      "no one without the right to approve, if a question acts",
      { acts: true },
      "You can read this. To answer it, you need the right “approve”.",
    ],
  ])("%s", (_title, fields, reason) => {
    const known = { name: "ada", roles: ["ops"] };
    expect(whyNot(item(fields), { name: "ada", rights: ["see", "answer"], known })).toBe(reason);
  });

  test("no one decides for a role while no people are known, unless the owner decides alone", () => {
    const asked = item({ for_any: [{ role: "finance" }] });
    const owner = { name: "ada", rights: ["see", "answer"], no_people: true } as const;
    const reason =
      /only someone with the role finance can answer this, and no people are known\. .*jp serve people add .*people\.owner_alone true/u;
    expect(whyNot(asked, owner)).toMatch(reason);
    expect(whyNot(asked, { ...owner, owner_alone: true })).toBeUndefined();
  });
});
