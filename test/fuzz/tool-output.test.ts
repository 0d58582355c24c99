/** Output of local tools: always one result, which never sets the source of a question. */
/* oxlint-disable vitest/no-standalone-expect -- `fuzz` makes a test of each property. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { anyQuestion } from "../../src/record/conversation/events.fixture.ts";
import {
  eventToJson,
  type InquiryId,
  type InquiryRequest,
  parseEvent,
  type Timestamp,
} from "../../src/record/conversation/index.ts";
import { toAttemptResult } from "../../src/reach/executor/local/local-executor.ts";
import type { AttemptResult } from "../../src/reach/executor/port.ts";
import { type ProcessEnd, type ProcessRequest } from "../../src/reach/process/index.ts";
import {
  explainMisfit,
  parseOutcome,
  type Question,
  questionToWire,
  withoutOther,
} from "../../src/record/tool/index.ts";
import { CappedOutput, ShapeError } from "../../src/util/index.ts";
import { fuzz, thrownBy } from "./fuzz.ts";
import { explainGrowth } from "./growth.ts";
import { changedJson, hostileJson, withDepths } from "./hostile-json.ts";
import { damagedText, hostileText } from "./hostile-text.ts";

const LIMIT = 4000;
const STDERR_LIMIT = 500;

const request: ProcessRequest = {
  program: "tool",
  args: [],
  cwd: "/",
  variables: {},
  input: "",
  signal: new AbortController().signal,
  timeoutMs: 1500,
  limits: { stdoutBytes: LIMIT, stderrBytes: STDERR_LIMIT, killGraceMs: 1, pipeGraceMs: 1 },
};

const QUESTION_FIELDS = new Set([
  "text",
  "context",
  "exclusive",
  "persistence",
  "allowsNote",
  "acts",
  "rememberAs",
  "binding",
  "for",
]);

const wireQuestion: fc.Arbitrary<unknown> = fc.oneof(
  fc
    .tuple(anyQuestion, fc.constantFrom("a", "b", "__proto__", "constructor"))
    .map(([question, id]) => questionToWire({ ...question, id })),
  fc.record({
    id: hostileText,
    text: hostileText,
    pre_amble: fc.option(hostileText),
    answer_type: fc.oneof(
      fc.constantFrom("Boolean", "Text", "Secret", "toString"),
      fc.record({ Select: fc.record({ options: fc.array(hostileJson, { maxLength: 3 }) }) }),
      fc.record({
        type: fc.constantFrom("boolean", "select", "text", "secret"),
        options: fc.array(hostileText, { maxLength: 3 }),
        other: fc.boolean(),
        multiple: fc.boolean(),
      }),
    ),
    default: hostileJson,
    exclusive: fc.option(fc.boolean()),
    persistence: fc.constantFrom("none", "turn", null, "forever"),
  }),
);

/** Outcomes, with fields that a tool must not set. */
const document: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({
    type: fc.constant("needs_input"),
    question: wireQuestion,
    more: fc.option(fc.array(wireQuestion, { maxLength: 3 }), { nil: undefined }),
    source: fc.constant({ source: "user" }),
    answered_by: fc.constant({ kind: "user", channel: "terminal", auth: "os_user" }),
    inquiry_id: fc.constant("call_1.a.1"),
    tool_call_id: fc.constant("call_1"),
    closed: fc.constant({ aborted: true }),
    onUnanswered: hostileJson,
  }),
  fc.record({ type: fc.constant("success"), content: fc.oneof(hostileText, hostileJson) }),
  fc.record(
    {
      type: fc.constant("error"),
      message: hostileText,
      trace: fc.oneof(fc.array(hostileJson, { maxLength: 3 }), hostileJson),
      transient: hostileJson,
    },
    { requiredKeys: ["type"] },
  ),
);

const stdout = fc.oneof(
  damagedText(changedJson(document).map((value) => JSON.stringify(value))),
  changedJson(document).map((value) => JSON.stringify(value)),
  hostileText,
);

const anyEnd = fc.record({
  kind: fc.constantFrom("exited", "exited", "exited", "timed_out", "cancelled", "not_started"),
  exit: fc.oneof(
    fc.record({ status: fc.constantFrom(0, 1, 127, 255) }),
    fc.record({ signal: fc.constantFrom("SIGKILL", "SIGSEGV") }),
  ),
  stdout,
  stderr: hostileText,
});

fuzz(
  "every exit of a process gives one result within the limits, and only jp sets the source",
  1500,
  fc.property(anyEnd, (given) => {
    const result = toAttemptResult("a_tool", request, endOf(given));
    switch (result.type) {
      case "cancelled":
        expect(result).toEqual({ type: "cancelled" });
        break;
      case "success":
      case "error":
        expect(Object.keys(result).toSorted()).toEqual(["content", "type"]);
        // Escaping JSON in JSON may turn one byte into six.
        expect(result.content.length).toBeLessThan(6 * (LIMIT + STDERR_LIMIT) + 500);
        break;
      case "needs_input":
        checkQuestions(result);
    }
  }),
);

fuzz(
  "other output is the result at exit status 0, and otherwise an error with both streams",
  300,
  fc.property(hostileText, hostileText, fc.constantFrom(0, 1), (out, err, status) => {
    fc.pre(Buffer.byteLength(out) <= LIMIT && Buffer.byteLength(err) <= STDERR_LIMIT);
    const exit = { status };
    const result = toAttemptResult(
      "a_tool",
      request,
      endOf({ kind: "exited", exit, stdout: out, stderr: err }),
    );
    const [said, complained] = [out.toWellFormed(), err.toWellFormed()];
    const message = "Tool 'a_tool' execution failed.";
    expect(result).toEqual(
      status === 0
        ? { type: "success", content: said }
        : {
            type: "error",
            content: JSON.stringify({ message, status, stderr: complained, stdout: said }),
          },
    );
  }),
);

fuzz(
  "output of any shape is an outcome, not an outcome, or rejected with a reason",
  600,
  fc.property(fc.oneof(changedJson(document), hostileJson), (marked) => {
    const error = thrownBy(() => parseOutcome(withDepths(marked)));
    if (error !== undefined) expect(error).toBeInstanceOf(ShapeError);
  }),
);

test.each<[string, (count: number) => unknown]>([
  ["options", (count) => ({ answer_type: { type: "select", options: numbered(count) } })],
  [
    "options as defaults",
    (count) => ({
      answer_type: { type: "select", options: numbered(count), multiple: true, other: true },
      default: numbered(count),
    }),
  ],
])("many %s are read in linear time", async (_what, make) => {
  const read = (count: number) =>
    parseOutcome({
      type: "needs_input",
      question: { id: "a", text: "b", ...(make(count) as object) },
    });
  expect(await explainGrowth(5_000, read)).toBeUndefined();
});

test("many questions are read in linear time", async () => {
  expect(await explainGrowth(5_000, readQuestions)).toBeUndefined();
});

function readQuestions(count: number) {
  const more = numbered(count).map((id) => ({ id, text: "b", answer_type: "Text" }));
  return parseOutcome({ type: "needs_input", question: { ...more[0], id: "first" }, more });
}

function endOf(given: {
  readonly kind: string;
  readonly exit: { readonly status: number } | { readonly signal: string };
  readonly stdout: string;
  readonly stderr: string;
}): ProcessEnd {
  const output = {
    stdout: captured(given.stdout, LIMIT),
    stderr: captured(given.stderr, STDERR_LIMIT),
  };
  switch (given.kind) {
    case "cancelled":
      return { type: "cancelled" };
    case "not_started":
      return { type: "not_started", error: Object.assign(new Error("no"), { code: "ENOENT" }) };
    case "timed_out":
      return { type: "timed_out", ...output };
    default:
      return { type: "exited", exit: given.exit, ...output };
  }
}

/** The output in pieces, as a pipe delivers it. */
function captured(text: string, limit: number): CappedOutput {
  const output = new CappedOutput(limit);
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += 77) {
    output.add(bytes.subarray(start, start + 77));
  }
  return output;
}

function checkQuestions(result: Extract<AttemptResult, { type: "needs_input" }>): void {
  const { type: _type, question, more = [], ...rest } = result;
  expect(rest).toEqual({ source: { source: "tool", name: "a_tool" } });
  const questions = [question, ...more];
  expect(new Set(questions.map(({ id }) => id)).size).toBe(questions.length);
  for (const each of questions) checkQuestion(each);
}

/** It can be answered, sets no forbidden field, and survives recording. */
function checkQuestion(question: Question): void {
  const { id, answerType, default: suggested, ...others } = question;
  expect(id).not.toBe("");
  expect(Object.keys(others).filter((key) => !QUESTION_FIELDS.has(key))).toEqual([]);
  if (answerType.type === "select") expect(answerType.options).not.toEqual([]);
  if (suggested !== undefined) {
    expect(explainMisfit(withoutOther(answerType), suggested)).toBeUndefined();
  }
  const { id: _id, ...asked } = question;
  const event: InquiryRequest = {
    type: "inquiry_request",
    timestamp: "2026-01-02 03:04:05.0" as Timestamp,
    id: "call_1.a.1" as InquiryId,
    source: { source: "tool", name: "a_tool" },
    question: asked,
  };
  const written = JSON.stringify(eventToJson(event));
  expect(JSON.stringify(eventToJson(parseEvent(JSON.parse(written))))).toBe(written);
}

function numbered(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `number ${index}`);
}
