import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { counters } from "../../../test/security/threats.ts";
import {
  answered,
  anyEvent,
  at,
  cancelled,
  closed,
  inquiry,
  questionOf,
  REASONS,
  subjectOf,
} from "./events.fixture.ts";
import { savedByOriginal } from "./original-record.fixture.ts";
import { type InquiryQuestion, secretQuestion } from "../tool/index.ts";
import { type JsonObject, ShapeError } from "../../util/index.ts";
import { encodeStrings } from "./encoded-strings.ts";
import { eventToJson, parseEvent } from "./event-codec.ts";
import type { ConversationEvent, Decider, InquiryOutcome, InquiryRequest } from "./event.ts";
import { cancellationTag, deciderToJson, parseDecider } from "./inquiry-codec.ts";

const head = '"timestamp":"2026-01-02 03:04:05.0","type":"inquiry_response"';

/** The mirror in the metadata of a stored event. */
const mirror = (fields: JsonObject) =>
  `"metadata":${JSON.stringify({ jp_ts: JSON.stringify(fields) })}`;

/** The JSON of a response in a file. */
const response = (fields: JsonObject): JsonObject => ({
  timestamp: at(0),
  type: "inquiry_response",
  id: "c.ok.1",
  ...fields,
});

describe("a response is written with its outcome", () => {
  test("an answer is written with its value", () => {
    verifies("082/response/answered-form", "082/response/new-writes-are-tagged");
    const json = `{${head},"outcome":"answered","id":"c.ok.1","answer":true}`;
    expect(JSON.stringify(eventToJson(answered("c.ok.1")))).toBe(json);
    expect(parseEvent(JSON.parse(json))).toStrictEqual(answered("c.ok.1"));
  });

  test("an answer is written with who gave it", () => {
    verifies("082/response/answered-form", "082/response/new-writes-are-tagged");
    const event = closed("c.ok.1", {
      outcome: "answered",
      answer: null,
      answeredBy: { kind: "assistant", model: "m-1" },
    });
    const json =
      `{${head},"outcome":"answered","id":"c.ok.1","answer":null,` +
      '"answered_by":{"kind":"assistant","model":"m-1"},' +
      `${mirror({ outcome: "answered", answered_by: { kind: "assistant", model: "m-1" } })}}`;
    expect(JSON.stringify(eventToJson(event))).toBe(json);
    expect(parseEvent(JSON.parse(json))).toStrictEqual(event);
  });

  test("a free-text answer is written with its note", () => {
    const event = closed("c.ok.1", {
      outcome: "answered",
      answer: "neither",
      isOther: true,
      note: "ask me\nagain",
      answeredBy: { kind: "user", channel: "tty" },
    });
    const json =
      `{${head},"outcome":"answered","id":"c.ok.1","answer":"neither","other":true,` +
      '"note":"ask me\\nagain","answered_by":{"kind":"user","channel":"tty"},' +
      `${mirror({ other: true, note: "ask me\nagain", answered_by: { kind: "user", channel: "tty" } })}}`;
    expect(JSON.stringify(eventToJson(event))).toBe(json);
    expect(parseEvent(JSON.parse(json))).toStrictEqual(event);
  });

  test("a model's answer is written with its reason, which the original keeps too", () => {
    const answeredBy = { kind: "assistant", model: "test/judge" } as const;
    const event = closed("c.ok.1", {
      outcome: "answered",
      answer: false,
      answerReason: "It drops a table.",
      answeredBy,
    });
    const added = { answer_reason: "It drops a table.", answered_by: answeredBy };
    const json =
      `{${head},"outcome":"answered","id":"c.ok.1","answer":false,` +
      `"answer_reason":"It drops a table.","answered_by":${JSON.stringify(answeredBy)},${mirror(added)}}`;
    expect(JSON.stringify(eventToJson(event))).toBe(json);
    expect(parseEvent(savedByOriginal([eventToJson(event)])[0])).toStrictEqual(event);
  });

  test("a redacted answer is written without its value", () => {
    verifies("082/response/redacted-form", "082/response/new-writes-are-tagged");
    const json = `{${head},"outcome":"redacted","id":"c.key.1","answer":null,${mirror({ outcome: "redacted" })}}`;
    const event = closed("c.key.1", { outcome: "redacted" });
    expect(JSON.stringify(eventToJson(event))).toBe(json);
    expect(parseEvent(JSON.parse(json))).toStrictEqual(event);
  });

  test("a redacted answer is written with who gave it", () => {
    verifies("082/response/redacted-form", "082/response/new-writes-are-tagged");
    const event = closed("c.key.1", {
      outcome: "redacted",
      answeredBy: { kind: "user", channel: "tty" },
    });
    const json =
      `{${head},"outcome":"redacted","id":"c.key.1","answer":null,` +
      '"answered_by":{"kind":"user","channel":"tty"},' +
      `${mirror({ outcome: "redacted", answered_by: { kind: "user", channel: "tty" } })}}`;
    expect(JSON.stringify(eventToJson(event))).toBe(json);
    expect(parseEvent(JSON.parse(json))).toStrictEqual(event);
  });

  test("a cancellation is written with its reason", () => {
    verifies("082/response/cancelled-form", "082/response/new-writes-are-tagged");
    const forms = (["user", "backend_error"] as const).map((reason) =>
      JSON.stringify(eventToJson(cancelled("c.ok.1", reason))),
    );
    expect(forms).toEqual([
      `{${head},"outcome":"cancelled","id":"c.ok.1","answer":null,"reason":"user",` +
        `${mirror({ outcome: "cancelled", reason: "user" })}}`,
      `{${head},"outcome":"cancelled","id":"c.ok.1","answer":null,"reason":"backend_error",` +
        `${mirror({ outcome: "cancelled", reason: "backend_error" })}}`,
    ]);
  });
});

test.each([false, null, "yes", 1])(
  "an answer with %j for `other` is an ordinary answer",
  (other) => {
    const event = parseEvent(response({ outcome: "answered", answer: "a", other, note: null }));
    expect(event).toStrictEqual(answered("c.ok.1", "a"));
  },
);

test("`note` and `other` are ignored without an answer", () => {
  const extra = { other: true, note: "it is hunter2" };
  expect([
    parseEvent(response({ outcome: "redacted", ...extra })),
    parseEvent(response({ outcome: "cancelled", reason: "user", ...extra })),
  ]).toStrictEqual([closed("c.ok.1", { outcome: "redacted" }), cancelled("c.ok.1", "user")]);
});

describe("a cancellation reason", () => {
  test("survives a round trip, for every known reason", () => {
    verifies(
      "082/reason/user-tag",
      "082/reason/backend-error-tag",
      "082/reason/no-prompt-backend-tag",
      "082/reason/assistant-routing-denied-tag",
      "083/record/invalid-static-answer-tag",
      "082/reason/set-may-grow",
    );
    const written = REASONS.map((reason) => eventToJson(cancelled("c.ok.1", reason)));
    expect(written.map((json) => json["reason"])).toEqual([
      "user",
      "backend_error",
      "no_prompt_backend",
      "assistant_routing_denied",
      "invalid_static_answer",
      "interrupted",
      "attempts_exhausted",
      "timed_out",
      "subject_unstable",
      "declined_by_client",
    ]);
    expect(written.map(parseEvent)).toStrictEqual(
      REASONS.map((reason) => cancelled("c.ok.1", reason)),
    );
  });

  test("is `user` if the record has none", () => {
    verifies("082/response/missing-reason-is-user");
    const events = [
      parseEvent(response({ outcome: "cancelled" })),
      parseEvent(response({ outcome: "cancelled", reason: null })),
    ];
    expect(events).toStrictEqual([cancelled("c.ok.1", "user"), cancelled("c.ok.1", "user")]);
  });

  test("is kept as text and written back unchanged if it is of another version", () => {
    verifies(
      "082/reason/unknown-tag-survives-verbatim",
      "082/reason/unknown-tag-does-not-fail-the-load",
      "082/reason/set-may-grow",
    );
    const reason = "some_future_variant";
    const event = parseEvent(response({ outcome: "cancelled", reason }));
    expect([event, eventToJson(event)]).toStrictEqual([
      cancelled("c.ok.1", { unknown: reason }),
      {
        ...response({ outcome: "cancelled", answer: null, reason }),
        metadata: { jp_ts: JSON.stringify({ outcome: "cancelled", reason }) },
      },
    ]);
  });

  test.each(["", "User", "toString", "__proto__", "user ", "größe"])(
    'is kept exactly if it is of another version: "%s"',
    (tag) => {
      verifies("082/reason/unknown-tag-survives-verbatim");
      const event = parseEvent(response({ outcome: "cancelled", reason: tag }));
      expect([event, eventToJson(event)["reason"]]).toStrictEqual([
        cancelled("c.ok.1", { unknown: tag }),
        tag,
      ]);
    },
  );

  test("is shown as the text in the record", () => {
    expect([...REASONS, { unknown: "some_future_variant" }].map(cancellationTag)).toEqual([
      ...REASONS,
      "some_future_variant",
    ]);
  });
});

describe("a response without an outcome, as in old records", () => {
  test.each([true, false, "", { nested: [1] }])("is read as an answer: %j", (answer) => {
    verifies("082/response/legacy-flat-form-is-answered", "082/response/no-migration-step");
    expect(parseEvent(response({ answer }))).toStrictEqual(answered("c.ok.1", answer));
  });

  test("is written in the current form", () => {
    verifies("082/response/no-migration-step", "082/response/new-writes-are-tagged");
    const event = parseEvent(response({ answer: true }));
    expect(JSON.stringify(eventToJson(event))).toBe(
      `{${head},"outcome":"answered","id":"c.ok.1","answer":true}`,
    );
  });
});

describe("a response has exactly one outcome", () => {
  test("a redacted response has no answer, even if the file has one", () => {
    verifies("082/response/redacted-yields-no-answer", "082/response/exactly-one-outcome");
    const event = parseEvent(response({ outcome: "redacted", answer: "hunter2", reason: "user" }));
    expect(event).toStrictEqual(closed("c.ok.1", { outcome: "redacted" }));
  });

  test("a redacted response is written without answer and reason, even if it was read with both", () => {
    verifies("082/response/redacted-form", "082/response/redacted-yields-no-answer");
    const event = parseEvent(response({ outcome: "redacted", answer: "hunter2", reason: "user" }));
    expect(JSON.stringify(eventToJson(event))).toBe(
      `{${head},"outcome":"redacted","id":"c.ok.1","answer":null,${mirror({ outcome: "redacted" })}}`,
    );
  });

  test("the fields of two outcomes never occur together, in types or after reading", () => {
    verifies("082/response/exactly-one-outcome");
    const impossible: readonly InquiryOutcome[] = [
      // @ts-expect-error A cancelled inquiry has no answer.
      { outcome: "cancelled", reason: "backend_error", answer: true },
      // @ts-expect-error A cancelled inquiry has a reason.
      { outcome: "cancelled", answer: true },
      // @ts-expect-error A redacted inquiry has no answer.
      { outcome: "redacted", answer: true },
      // @ts-expect-error An answered inquiry has no reason.
      { outcome: "answered", answer: true, reason: "user" },
      // @ts-expect-error Every response has an outcome.
      { answer: true },
    ];
    const files = impossible.map((fields) => response(fields as JsonObject));
    expect(files.map(parseEvent)).toStrictEqual([
      cancelled("c.ok.1", "backend_error"),
      cancelled("c.ok.1", "user"),
      closed("c.ok.1", { outcome: "redacted" }),
      answered("c.ok.1"),
      answered("c.ok.1"),
    ]);
  });

  test.each<[string, JsonObject, string, string]>([
    [
      "neither outcome nor answer",
      {},
      "outcome",
      'an inquiry_response needs "outcome" or "answer"',
    ],
    [
      "a reason alone",
      { reason: "user" },
      "outcome",
      'an inquiry_response needs "outcome" or "answer"',
    ],
    [
      "an outcome that does not exist",
      { outcome: "ignored", answer: true },
      "outcome",
      'expected "answered" or "cancelled" or "redacted", got another string',
    ],
    [
      "an outcome that is null",
      { outcome: null, answer: true },
      "outcome",
      'expected "answered" or "cancelled" or "redacted", got null',
    ],
    [
      "no answer although it has one",
      { outcome: "answered" },
      "answer",
      "an answered inquiry needs an answer",
    ],
    ["no id", { id: null, answer: true }, "id", "expected a string, got null"],
    [
      "a reason that is not text",
      { outcome: "cancelled", reason: 3 },
      "reason",
      "expected a string, got number",
    ],
  ])("a response with the wrong fields is rejected: %s", (_, fields, path, problem) => {
    verifies("082/response/unrecognisable-is-an-error");
    expect(() => parseEvent(response(fields))).toThrow(new ShapeError(path, problem));
  });
});

describe("the Rust original", () => {
  test("can decode every response, and every question except secret ones", () => {
    counters("T-COMPAT-2");
    fc.assert(
      fc.property(anyEvent.filter(isReadable), (event) => {
        expect(savedByOriginal([eventToJson(event)])).toHaveLength(1);
      }),
    );
    const secret = eventToJson(inquiry("c.key.1", { answerType: { type: "secret" } }));
    expect(() => savedByOriginal([secret])).toThrow("[0].question.answer_type.type");
  });

  test("loses nothing of an inquiry or a checked request when it saves, except long fields", () => {
    counters("T-COMPAT-2");
    fc.assert(
      fc.property(anyEvent.filter(isReadable), (event) => {
        if (!["chat_request", "inquiry_request", "inquiry_response"].includes(event.type)) return;
        const [saved] = savedByOriginal([eventToJson(event)]);
        const { extra: _extra, ...known } = event;
        expect(parseEvent(saved)).toStrictEqual(
          known.type === "inquiry_request" ? withoutLongFields(known) : known,
        );
      }),
    );
  });

  test("loses nothing of results, and changes nothing of events that only jp records, when it saves", () => {
    const others = /^(?:turn_start|chat_response|tool_call_(?:request|response))$/;
    fc.assert(
      fc.property(anyEvent.filter(isReadable), (event) => {
        if (/^(?:chat|inquiry)_re(?:quest|sponse)$/.test(event.type)) return;
        const element = eventToJson(event);
        const [saved] = savedByOriginal([element]);
        const { extra: _extra, ...known } = event;
        const [found, expected] = others.test(event.type)
          ? [parseEvent(saved), known]
          : [saved, element];
        expect(found).toStrictEqual(expected);
      }),
    );
  });

  test("leaves null for a question without an answer, which is read as no answer", () => {
    counters("T-COMPAT-2");
    expect(parseEvent(response({ answer: null }))).toStrictEqual(
      cancelled("c.ok.1", { unknown: "unrecorded" }),
    );
  });
});

describe("the mirror for the Rust original", () => {
  test("has the digest of what was asked and answered, but not those of its parts", () => {
    const subject = subjectOf("this", { arguments: "0123456789abcdef" });
    const { digest } = subject;
    const events = [
      { ...inquiry("c.ok.1"), subject },
      { ...answered("c.ok.1"), digest },
    ];
    expect(events.map((event) => eventToJson(event)["metadata"])).toEqual([
      { jp_ts: JSON.stringify({ digest }) },
      { jp_ts: JSON.stringify({ digest }) },
    ]);
    expect(savedByOriginal(events.map(eventToJson)).map(parseEvent)).toStrictEqual([
      { ...inquiry("c.ok.1"), subject: { digest, version: 0, parts: {} } },
      { ...answered("c.ok.1"), digest },
    ]);
  });

  test("keeps a question for a person that a person had answered before", () => {
    const event = { ...inquiry("c.ok.1"), isForPerson: true };
    expect(savedByOriginal([eventToJson(event)]).map(parseEvent)).toStrictEqual([event]);
  });

  test("is used only for fields that the event itself does not have", () => {
    const metadata = encodeStrings({
      jp_ts: JSON.stringify({ outcome: "cancelled", reason: "user" }),
      other: 1,
    });
    expect([
      parseEvent(response({ outcome: "answered", answer: true, metadata })),
      parseEvent(response({ outcome: "redacted", answer: null, metadata })),
    ]).toStrictEqual([
      { ...answered("c.ok.1"), metadata: { other: 1 } },
      { ...closed("c.ok.1", { outcome: "redacted" }), metadata: { other: 1 } },
    ]);
  });

  test("is read as text, in base64 too", () => {
    const fields = { answered_by: { kind: "user", channel: "tty" } };
    const text = JSON.stringify(fields);
    const mirrors = [{ jp_ts: text }, encodeStrings({ jp_ts: text })];
    const event = {
      ...answered("c.ok.1"),
      answeredBy: { kind: "user", channel: "tty" },
    } as const;
    const read = mirrors.map((metadata) => parseEvent(response({ answer: true, metadata })));
    expect(read).toStrictEqual([event, event]);
  });

  test("is ignored and kept if it has another shape", () => {
    const metadata = encodeStrings({ jp_ts: "cancelled" });
    expect(parseEvent(response({ answer: true, metadata }))).toStrictEqual({
      ...answered("c.ok.1"),
      metadata: { jp_ts: "cancelled" },
    });
  });
});

/** It cannot read a turn_start with extra fields, which we never write, or a secret question. */
function isReadable(event: ConversationEvent): boolean {
  if (event.type === "turn_start") return event.extra === undefined;
  return event.type !== "inquiry_request" || event.question.answerType.type !== "secret";
}

/** Keeps only the whole digest of its subject, which still says whether anything has changed. */
function withoutLongFields(request: InquiryRequest): InquiryRequest {
  const { origin: _origin, folder: _folder, outside: _outside, ...shown } = request;
  const { replaces: _replaces, subject, ...kept } = shown;
  return {
    ...kept,
    question: withoutLongTexts(request.question),
    ...(subject !== undefined && { subject: { digest: subject.digest, version: 0, parts: {} } }),
  };
}

function withoutLongTexts({
  context: _context,
  binding: _binding,
  ...question
}: InquiryQuestion): InquiryQuestion {
  const { answerType } = question;
  if (answerType.type !== "select") return question;
  const options = answerType.options.map(({ preview: _preview, ...option }) => option);
  return { ...question, answerType: { ...answerType, options } };
}

describe("a request", () => {
  test.each<[string, InquiryRequest["source"]]>([
    ['{"source":"tool","name":"a_tool"}', { source: "tool", name: "a_tool" }],
    ['{"source":"assistant"}', { source: "assistant" }],
    ['{"source":"user"}', { source: "user" }],
    ['{"source":"other","name":"plugin"}', { source: "other", name: "plugin" }],
  ])("says who asks the question: %s", (json, source) => {
    verifies("005/event/request-names-source-and-question");
    const event = { ...inquiry("c.ok.1"), source };
    const written = eventToJson(event);
    expect([JSON.stringify(written["source"]), parseEvent(written)]).toStrictEqual([json, event]);
  });

  test("needs no more than id, source and question", () => {
    verifies("082/question/request-form");
    const json = {
      timestamp: at(0),
      type: "inquiry_request",
      id: "c.ok",
      source: { source: "tool", name: "a_tool" },
      question: { text: "Go on?", answer_type: { type: "boolean" } },
    };
    const event = parseEvent(json);
    expect([event, eventToJson(event)]).toStrictEqual([inquiry("c.ok"), json]);
  });

  test("is still a request if the kind of its source is unknown", () => {
    const json = { ...eventToJson(inquiry("c.ok")), source: { source: "cron", job: 7 } };
    expect(parseEvent(json)).toStrictEqual({
      ...inquiry("c.ok"),
      source: { source: "other", name: "cron" },
    });
  });

  test.each<[string, JsonObject, string, string]>([
    ["no source", { source: undefined as never }, "source", "expected an object, got nothing"],
    [
      "a tool without a name",
      { source: { source: "tool" } },
      "source.name",
      "expected a string, got nothing",
    ],
    ["no question", { question: "Go on?" }, "question", "expected an object, got a string"],
    [
      "a question without an answer type",
      { question: { text: "Go on?" } },
      "question.answer_type",
      "expected an object, got nothing",
    ],
  ])("is rejected if a field is wrong: %s", (_, fields, path, problem) => {
    const json = { ...eventToJson(inquiry("c.ok.1")), ...fields };
    expect(() => parseEvent(json)).toThrow(new ShapeError(path, problem));
  });
});

/** The JSON of a request's question in the record. */
const stored = (question: Parameters<typeof questionOf>[0]): string =>
  JSON.stringify(eventToJson(inquiry("c.ok.1", question))["question"]);

/** The question of a request after reading it from the record. */
const read = (question: JsonObject): unknown => {
  const event = parseEvent({ ...eventToJson(inquiry("c.ok.1")), question });
  return event.type === "inquiry_request" ? event.question : undefined;
};

describe("a recorded question", () => {
  test("has the same fields as before if its type is one of the three older ones", () => {
    verifies(
      "082/question/other-types-unchanged-on-disk",
      "083/record/default-question-keeps-its-old-form",
    );
    const options = [{ value: "dev" }, { value: "prod", description: "Real." }, { value: 3 }];
    expect([
      stored({ answerType: { type: "boolean" }, default: true }),
      stored({ answerType: { type: "text" } }),
      stored({ answerType: { type: "select", options }, default: "dev" }),
    ]).toEqual([
      '{"text":"Go on?","answer_type":{"type":"boolean"},"default":true}',
      '{"text":"Go on?","answer_type":{"type":"text"}}',
      '{"text":"Go on?","answer_type":{"type":"select","options":' +
        '[{"value":"dev"},{"value":"prod","description":"Real."},{"value":3}]},"default":"dev"}',
    ]);
  });

  test("has the answer type `secret` if it asks for a secret", () => {
    verifies("082/question/secret-stored-as-its-own-type");
    const { id: _id, ...question } = secretQuestion("key", "Which key?");
    const json = '{"text":"Which key?","answer_type":{"type":"secret"}}';
    expect([stored(question), read(JSON.parse(json) as JsonObject)]).toStrictEqual([
      json,
      question,
    ]);
  });

  test("has context, exclusive and persistence if they differ from the default", () => {
    verifies(
      "083/record/question-context",
      "083/record/question-exclusive",
      "083/record/question-persistence",
    );
    expect([
      stored({ context: "diff" }),
      stored({ exclusive: true }),
      stored({ persistence: "none" }),
      stored({ context: "diff", default: false, exclusive: true, persistence: "none" }),
      stored({ exclusive: false, persistence: "turn" }),
    ]).toEqual([
      '{"text":"Go on?","answer_type":{"type":"boolean"},"context":"diff"}',
      '{"text":"Go on?","answer_type":{"type":"boolean"},"exclusive":true}',
      '{"text":"Go on?","answer_type":{"type":"boolean"},"persistence":"none"}',
      '{"text":"Go on?","answer_type":{"type":"boolean"},"default":false,"context":"diff",' +
        '"exclusive":true,"persistence":"none"}',
      '{"text":"Go on?","answer_type":{"type":"boolean"}}',
    ]);
  });

  test("has fields for free text, multiple choice, previews and notes if they are used", () => {
    const options = [{ value: "dev", description: "Small.", preview: "a\nb" }, { value: "prod" }];
    const open = questionOf({
      answerType: { type: "select", options, allowsOther: true, isMultiple: true },
      allowsNote: true,
    });
    const json =
      '{"text":"Go on?","answer_type":{"type":"select","options":' +
      '[{"value":"dev","description":"Small.","preview":"a\\nb"},{"value":"prod"}],' +
      '"other":true,"multiple":true},"note":true}';
    expect([stored(open), read(JSON.parse(json) as JsonObject)]).toStrictEqual([json, open]);
  });

  test("gets the defaults of these fields if it has none of them", () => {
    verifies("083/record/legacy-question-gets-the-defaults");
    expect(read({ text: "Go on?", answer_type: { type: "boolean" } })).toStrictEqual(questionOf());
  });

  test("is read with the fields that it has", () => {
    verifies(
      "083/record/question-context",
      "083/record/question-exclusive",
      "083/record/question-persistence",
    );
    const question = read({
      text: "Go on?",
      context: "diff",
      answer_type: { type: "boolean" },
      default: false,
      exclusive: true,
      persistence: "none",
    });
    expect(question).toStrictEqual(
      questionOf({ context: "diff", default: false, exclusive: true, persistence: "none" }),
    );
  });
});

test.each<[Decider, string]>([
  [{ kind: "user", channel: "tty" }, '{"kind":"user","channel":"tty"}'],
  [{ kind: "assistant", model: "m-1" }, '{"kind":"assistant","model":"m-1"}'],
  [{ kind: "config", key: "a.b" }, '{"kind":"config","key":"a.b"}'],
  [{ kind: "remembered", from: "q.1" }, '{"kind":"remembered","from":"q.1"}'],
  [{ kind: "policy", key: "a.b" }, '{"kind":"policy","key":"a.b"}'],
  [{ kind: "default" }, '{"kind":"default"}'],
  [{ kind: "tool" }, '{"kind":"tool"}'],
  [{ kind: "answers_file", entry: "answers[3]" }, '{"kind":"answers_file","entry":"answers[3]"}'],
  [{ kind: "unknown", raw: { kind: "vote", of: [1, 2] } }, '{"kind":"vote","of":[1,2]}'],
  [{ kind: "unknown", raw: { of: 1 } }, '{"of":1}'],
])("the decider %j survives a round trip", (decider, json) => {
  expect(JSON.stringify(deciderToJson(decider))).toBe(json);
  expect(parseDecider(JSON.parse(json))).toStrictEqual(decider);
});

test("a decider of a known kind without its field is kept unchanged", () => {
  const raw = { kind: "user", at: "noon" };
  expect(parseDecider(raw)).toStrictEqual({ kind: "unknown", raw });
});

describe("what a person has granted", () => {
  const approved = {
    timestamp: "2026-01-02 03:04:05.0",
    type: "permission_decision",
    tool_call_id: "call_1",
    tool: "write",
    decision: "approved",
    decided_by: { kind: "user", channel: "terminal", auth: "os_user" },
  };
  const rule = { mode: "unattended", arg: "/path", prefix: "src" };

  test.each(["turn", "always", "2026-02-01 00:00:00.0"])(
    "is a rule, and until when: %s",
    (until) => {
      const event = parseEvent({ ...approved, grant: { rule, until } });
      expect(event).toMatchObject({ grant: { rule, until } });
      expect(eventToJson(event)).toMatchObject({ grant: { rule, until } });
    },
  );

  test.each<[string, unknown]>([
    ["a time that is none", { rule, until: "tomorrow" }],
    ["no rule", { until: "turn" }],
    ["a field that narrows it", { rule, until: "always", only: "fridays" }],
    ["a word", "everything"],
  ])("is kept, and not understood, in any other form: %s", (_, grant) => {
    const event = parseEvent({ ...approved, grant });
    expect(event).toMatchObject({ grant: { unknown: grant } });
    expect(eventToJson(event)).toMatchObject({ grant });
  });
});
