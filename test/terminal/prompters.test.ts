import { describe, expect, test } from "vitest";
import type { InquiryId } from "../../src/record/conversation/index.ts";
import {
  booleanQuestion,
  type InquiryQuestion,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import { verifies } from "../conformance/manifest.ts";
import type { PrompterTask } from "../support/prompter-task.ts";
import { type Behaviour, PROMPTERS } from "./every-prompter.ts";

const inquiryId = "call_1.q.3" as InquiryId; // In the format of the agent.

function ask(question: InquiryQuestion): PrompterTask {
  return { method: "ask", request: { inquiryId, question, label: "Assistant" } };
}

function later(question: InquiryQuestion): PrompterTask {
  return { method: "ask", request: { inquiryId, question, allowsLater: true } };
}

function form(...questions: readonly InquiryQuestion[]): PrompterTask {
  const fields = questions.map((question, index) => ({ inquiryId: fieldId(index), question }));
  return { method: "ask", request: { kind: "form", inquiryId: fieldId(0), fields } };
}

function fieldId(index: number): InquiryId {
  return `call_1.q.${index}` as InquiryId; // In the format of the agent.
}

const FORM = form(booleanQuestion("a", "Really?"), textQuestion("b", "What?"));
const YES_OR_NO = ask(booleanQuestion("q", "Really?"));
const PERMISSION: PrompterTask = {
  method: "ask",
  request: { kind: "permission", inquiryId, tool: "sweep", origin: { type: "builtin" } },
};
const DELIVERY: PrompterTask = {
  method: "ask",
  request: { kind: "delivery", inquiryId, tool: "sweep", content: "dust" },
};
const INTERRUPT: PrompterTask = {
  method: "choose",
  request: { choices: ["continue", "reply", "stop", "discard"] },
};

/** What every prompter must do. */
const BEHAVIOURS: readonly Behaviour[] = [
  {
    title: "returns an answer with the id of its question",
    task: YES_OR_NO,
    typed: [["Really?", "y"]],
    lines: [["Really?", "y\r"]],
    script: { answers: [{ answer: true }] },
    result: { inquiryId, type: "answered", answer: true, isRemembered: false },
  },
  {
    title: "returns an answer for the rest of the turn",
    task: YES_OR_NO,
    typed: [["Really?", "N\r"]],
    lines: [["Really?", "N\r"]],
    script: { answers: [{ answer: false, isRemembered: true }] },
    result: { inquiryId, type: "answered", answer: false, isRemembered: true },
  },
  {
    title: "returns a no in words that are also the next message",
    task: YES_OR_NO,
    typed: [["Really?", "yes, but later\r"]],
    lines: [["Really?", "yes, but later\r"]],
    script: {
      answers: [{ answer: false, isRemembered: false, note: "yes, but later", redirects: true }],
    },
    result: {
      inquiryId,
      type: "answered",
      answer: false,
      isRemembered: false,
      note: "yes, but later",
      redirects: true,
    },
  },
  {
    title: "returns the chosen option",
    task: ask(selectQuestion("q", "Which?", { options: ["a", "b"] })),
    typed: [["Which?", "b\r"]],
    lines: [["Which?", "2\r"]],
    script: { answers: [{ answer: "b" }] },
    result: { inquiryId, type: "answered", answer: "b", isRemembered: false },
  },
  {
    title: "accepts free text if the question allows it",
    task: ask(selectQuestion("q", "Which?", { options: ["a", "b"], allowsOther: true })),
    typed: [
      ["Which?", "c"],
      ["Other: c", "\r"],
    ],
    lines: [["Which?", "c\r"]],
    script: { answers: [{ answer: "c" }] },
    result: { inquiryId, type: "answered", answer: "c", isRemembered: false },
  },
  {
    title: "returns all chosen options",
    task: ask(selectQuestion("q", "Which?", { options: ["a", "b", "c"], isMultiple: true })),
    typed: [["Which?", " \u001b[F \r"]],
    lines: [["Which?", "1, c\r"]],
    script: { answers: [{ answer: ["a", "c"] }] },
    result: { inquiryId, type: "answered", answer: ["a", "c"], isRemembered: false },
  },
  {
    title: "returns a note with the answer",
    task: ask(booleanQuestion("q", "Really?", { allowsNote: true })),
    typed: [
      ["Really?", "\t"],
      ["Note:", "why not\r"],
      ["Note: why not", "y"],
    ],
    lines: [
      ["Really?", "/note\r"],
      ["Note:", "why not\r"],
      ["Note: why not", "y\r"],
    ],
    script: { answers: [{ answer: true, note: "why not" }] },
    result: { inquiryId, type: "answered", answer: true, isRemembered: false, note: "why not" },
  },
  {
    title: "returns the answers of a form in the order of its fields",
    task: FORM,
    typed: [
      ["Really?", "Y\r"],
      ["What?", "x\r"],
      ["Send these answers?", "y"],
    ],
    lines: [
      ["Really?", "Y\r"],
      ["What?", "x\r"],
      ["Send these answers?", "\r"],
    ],
    script: { forms: [[{ answer: true, isRemembered: true }, { answer: "x" }]] },
    result: {
      inquiryId: fieldId(0),
      type: "form",
      results: [
        { inquiryId: fieldId(0), type: "answered", answer: true, isRemembered: true },
        { inquiryId: fieldId(1), type: "answered", answer: "x", isRemembered: false },
      ],
    },
  },
  {
    title: "cancels a form if one of its questions is cancelled",
    task: FORM,
    typed: [
      ["Really?", "y"],
      ["What?", "\u0003"],
    ],
    lines: [
      ["Really?", "y\r"],
      ["What?", "\u0003"],
    ],
    script: { answers: [{ answer: true }, { isCancelled: true }] },
    result: { inquiryId: fieldId(0), type: "cancelled" },
  },
  {
    title: "interrupts a form when the signal aborts",
    task: FORM,
    typed: [["Really?", ""]],
    lines: [["Really?", ""]],
    isAborted: true,
    result: { inquiryId: fieldId(0), type: "interrupted" },
  },
  {
    title: "accepts text of several lines",
    task: ask(textQuestion("q", "What?")),
    typed: [["What?", "one\ntwo\r"]],
    lines: [["What?", "/lines\rone\rtwo\r.\r"]],
    script: { answers: [{ answer: "one\ntwo" }] },
    result: { inquiryId, type: "answered", answer: "one\ntwo", isRemembered: false },
  },
  {
    title: "returns a secret like any other answer",
    task: ask(secretQuestion("q", "Password?")),
    typed: [["Password?", "hunter2\r"]],
    lines: [["Password?", "hunter2\r"]],
    script: { answers: [{ answer: "hunter2" }] },
    result: { inquiryId, type: "answered", answer: "hunter2", isRemembered: false },
  },
  {
    title: "returns a cancellation with the id of its question",
    task: YES_OR_NO,
    typed: [["Really?", "\u001b"]],
    lines: [["Really?", "\u0003"]],
    script: { answers: [{ isCancelled: true }] },
    result: { inquiryId, type: "cancelled" },
  },
  ...[
    ["a question", later(booleanQuestion("q", "Really?"))] as const,
    ["a question for a secret", later(secretQuestion("q", "Really?"))] as const,
  ].map(([what, task]) => ({
    title: `leaves ${what} for later`,
    task,
    typed: [["Really?", "\u0003"] as const, ["Leave this for later", "l"] as const],
    lines: [["Really?", "\u0003"] as const, ["Leave this for later", "l\r"] as const],
    script: { answers: [{ isLater: true } as const] },
    result: { inquiryId, type: "later" },
  })),
  {
    title: "interrupts a question when the signal aborts",
    task: YES_OR_NO,
    typed: [["Really?", ""]],
    lines: [["Really?", ""]],
    isAborted: true,
    result: { inquiryId, type: "interrupted" },
  },
  {
    title: "allows a tool for the rest of the turn",
    task: PERMISSION,
    typed: [["Run built-in sweep tool?", "a\r"]],
    lines: [["Run built-in sweep tool?", "a\r"]],
    script: { permissions: [{ type: "run", isRemembered: true }] },
    result: { inquiryId, type: "answered", answer: true, isRemembered: true },
  },
  {
    title: "allows a tool with edited arguments",
    task: PERMISSION,
    typed: [
      ["Run built-in sweep tool?", "e"],
      ["Edit arguments:", '\u0015{"a":1}\r'],
    ],
    lines: [
      ["Run built-in sweep tool?", "e\r"],
      ["Edit arguments:", '{"a":1}\r'],
    ],
    script: { permissions: [{ type: "run", arguments: { a: 1 } }] },
    result: {
      inquiryId,
      type: "answered",
      answer: true,
      arguments: { a: 1 },
    },
  },
  {
    title: "skips a tool with a reason",
    task: PERMISSION,
    typed: [
      ["Run built-in sweep tool?", "\t"],
      ["No, because:", "not today\r"],
    ],
    lines: [["Run built-in sweep tool?", "/why not today\r"]],
    script: { permissions: [{ type: "skip", reason: "not today" }] },
    result: { inquiryId, type: "answered", answer: false, note: "not today" },
  },
  {
    title: "skips a tool with words that are also the next message",
    task: PERMISSION,
    typed: [["Run built-in sweep tool?", "use the mop\r"]],
    lines: [["Run built-in sweep tool?", "use the mop\r"]],
    script: { permissions: [{ type: "skip", reason: "use the mop", redirects: true }] },
    result: { inquiryId, type: "answered", answer: false, note: "use the mop", redirects: true },
  },
  {
    title: "interrupts a permission prompt when the signal aborts",
    task: PERMISSION,
    typed: [["Run built-in sweep tool?", ""]],
    lines: [["Run built-in sweep tool?", ""]],
    isAborted: true,
    result: { inquiryId, type: "interrupted" },
  },
  {
    title: "withholds a result",
    task: DELIVERY,
    typed: [["Deliver sweep result to assistant?", "n\r"]],
    lines: [["Deliver sweep result to assistant?", "n\r"]],
    script: { deliveries: [{ type: "withhold" }] },
    result: { inquiryId, type: "answered", answer: false },
  },
  {
    title: "interrupts a delivery prompt when the signal aborts",
    task: DELIVERY,
    typed: [["Deliver sweep result to assistant?", ""]],
    lines: [["Deliver sweep result to assistant?", ""]],
    isAborted: true,
    result: { inquiryId, type: "interrupted" },
  },
  {
    title: "returns a reply to an interrupt",
    task: INTERRUPT,
    typed: [
      ["Interrupted", "r\r"],
      ["Write your reply:", "wait\r"],
    ],
    lines: [
      ["Interrupted", "r\r"],
      ["Write your reply:", "wait\r"],
    ],
    script: { choices: [{ type: "reply", message: "wait" }] },
    result: { type: "reply", message: "wait" },
  },
  {
    title: "continues after an interrupt when the signal aborts",
    task: INTERRUPT,
    typed: [["Interrupted", ""]],
    lines: [["Interrupted", ""]],
    isAborted: true,
    result: { type: "continue" },
  },
];

describe.each(PROMPTERS)("every prompter ($name)", ({ run }) => {
  test.each(BEHAVIOURS)(
    "returns what the person decided, with the question's id: it $title",
    async (behaviour) => {
      verifies("082/prompt/answer-carries-the-id", "082/prompt/cancellation-carries-the-id");
      expect(await run(behaviour)).toEqual(behaviour.result);
    },
  );
});
