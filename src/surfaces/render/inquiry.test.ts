import { describe, expect, test } from "vitest";
import {
  answered,
  cancelled,
  closed,
  permission,
  REASONS,
} from "../../record/conversation/events.fixture.ts";
import {
  type Decider,
  describeDecider,
  type PermissionDecision,
} from "../../record/conversation/index.ts";
import type { InquirySource } from "../../record/tool/index.ts";
import {
  describeAnswer,
  describeAskedAgain,
  describeChanged,
  describeDecided,
  describeOutcome,
  describeSource,
  describeVoidCause,
} from "./inquiry.ts";

const person: Decider = { kind: "user", channel: "terminal", auth: "os_user" };

describe("the outcome of a question in words", () => {
  test.each([
    ["a yes", true, "Answer: true"],
    ["a text, which keeps its quotes", "next", 'Answer: "next"'],
    ["a list", ["a", 1, null], 'Answer: ["a",1,null]'],
    ["nothing", null, "Answer: null"],
    ["an escape sequence", "\x1b[2J\u202e", String.raw`Answer: "\u001b[2J\u202e"`],
  ])("is the answer in JSON if it was %s", (_what, answer, words) => {
    expect(describeOutcome(answered("a", answer))).toBe(words);
  });

  test("is a placeholder if the answer is redacted", () => {
    expect(describeOutcome(closed("a", { outcome: "redacted" }))).toBe("Answer: <redacted>");
  });

  test.each(REASONS)("is the tag of the reason %s if there is no answer", (reason) => {
    expect(describeOutcome(cancelled("a", reason))).toBe(`Cancelled (${reason})`);
  });

  test("is the recorded tag if the reason is unknown", () => {
    expect(describeOutcome(cancelled("a", { unknown: "solar_flare" }))).toBe(
      "Cancelled (solar_flare)",
    );
  });
});

test("a model's reason stands with its answer, on one line", () => {
  const outcome = {
    outcome: "answered",
    answer: false,
    answerReason: "It drops\na table.",
    answeredBy: { kind: "assistant", model: "test/judge" },
  } as const;
  expect([describeOutcome(outcome), describeAnswer(outcome)]).toEqual([
    String.raw`Answer: false, reason: "It drops\na table."`,
    String.raw`no, reason: "It drops\na table." (assistant, via test/judge)`,
  ]);
});

test.each<[InquirySource, string]>([
  [{ source: "tool", name: "fs_modify_file" }, "fs_modify_file"],
  [{ source: "other", name: "a plugin" }, "a plugin"],
  [{ source: "assistant" }, "assistant"],
  [{ source: "user" }, "user"],
])("who asked is described by name, otherwise by kind: %j", (source, words) => {
  expect(describeSource(source)).toBe(words);
});

test.each<[Decider, string]>([
  [person, "user (terminal)"],
  [{ kind: "assistant", model: "ollama/qwen3" }, "assistant (ollama/qwen3)"],
  [{ kind: "config", key: "a.b.answer" }, "config (a.b.answer)"],
  [{ kind: "policy", key: "a.b.run" }, "policy (a.b.run)"],
  [{ kind: "remembered", from: "call_1.go.1" }, "remembered (call_1.go.1)"],
  [{ kind: "default" }, "default"],
  [{ kind: "tool" }, "the tool's own check"],
  [{ kind: "answers_file", entry: "answers[3]" }, "answers file (answers[3])"],
  [{ kind: "unknown", raw: { kind: "committee", size: 3 } }, "committee"],
  [{ kind: "unknown", raw: { size: 3 } }, "unknown"],
])("who answered is described with the channel: %j", (decider, words) => {
  expect(describeDecider(decider)).toBe(words);
});

test.each<[Parameters<typeof describeAnswer>[0], string]>([
  [
    closed("a", { outcome: "answered", answer: true, answeredBy: person }),
    "yes (you, via terminal)",
  ],
  [closed("a", { outcome: "answered", answer: false }), "no"],
  [answered("a", "next"), '"next"'],
  [
    closed("a", {
      outcome: "answered",
      answer: true,
      answeredBy: { kind: "remembered", from: "call_1.go.1" },
    }),
    "yes (you said so earlier in this turn)",
  ],
  [
    closed("a", { outcome: "redacted", answeredBy: { kind: "config", key: "a.b.answer" } }),
    "<redacted> (config: a.b.answer)",
  ],
  [cancelled("a", "user"), "cancelled (user)"],
  [cancelled("a", "declined_by_client"), "cancelled (the client declined)"],
])("an answer is described for people: %j", (response, words) => {
  expect(describeAnswer(response)).toBe(words);
});

test.each<[Partial<PermissionDecision>, string]>([
  [{}, "approved (you, via tty)"],
  [
    { decision: "denied", reason: "not\nnow" },
    String.raw`denied, reason: "not\nnow" (you, via tty)`,
  ],
  [
    { decision: "denied", cause: "unavailable", decidedBy: { kind: "policy", key: "a.b" } },
    "denied: no one could be asked (policy: a.b)",
  ],
  [
    { decision: "denied", cause: "prompt_failed", problem: "no screen" },
    'denied: the prompt failed ("no screen") (you, via tty)',
  ],
  [{ decision: "edited", decidedBy: { kind: "tool" } }, "found done (the tool's own check)"],
  [{ decidedBy: { kind: "tool" } }, "found not done (the tool's own check)"],
])("a decision about a call is described for people: %j", (fields, words) => {
  expect(describeDecided({ ...permission("call_1"), ...fields })).toBe(words);
});

test("what was passed on says so, and not that something has changed", () => {
  expect([
    describeVoidCause(["deadline"]),
    describeVoidCause(["file"]),
    describeAskedAgain(["deadline"], "since you answered"),
    describeAskedAgain(["file"], "since you answered"),
  ]).toEqual([
    "no one answered in time",
    "a file that its command names changed",
    "Others were asked before, and did not answer in time",
    "Changed since you answered: a file that its command names",
  ]);
});

test.each([
  [["arguments"], "its arguments"],
  [
    ["arguments", "file", "folder"],
    "its arguments, a file that its command names and the folder it runs in",
  ],
  [["call"], "the conversation that it belongs to"],
  [["confinement"], "how it is confined"],
  [["toString", "digest"], "what was recorded with it"],
])("what has changed since a decision is described for people: %j", (changed, words) => {
  expect(describeChanged(changed)).toBe(words);
});
