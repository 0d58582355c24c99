import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import {
  anyEvent,
  at,
  attemptStart,
  cancelled,
  CAUSES,
  chatRequest,
  closed,
  decisionVoid,
  inquiry,
  message,
  permission,
  permissionRequest,
  reasoning,
  replyFile,
  replySources,
  subjectOf,
  toolCall,
  toolResult,
  toolStep,
  turnEnd,
  turnStart,
} from "./events.fixture.ts";
import type { ToolOrigin } from "../tool/index.ts";
import { type Json, type JsonObject, ShapeError } from "../../util/index.ts";
import {
  decodeStrings,
  decodeText,
  encodeAllStrings,
  encodeStrings,
  encodeText,
} from "./encoded-strings.ts";
import { eventToJson, eventToPlainJson, parseEvent } from "./event-codec.ts";
import type { ConversationEvent, InquiryId, PermissionDecision } from "./event.ts";

const SUBJECT = subjectOf("this", { arguments: "0123456789abcdef" });
const DIGEST = SUBJECT.digest;

/** The JSON of a denial in a file, without who denied it. */
const DECISION: JsonObject = {
  timestamp: at(0),
  type: "permission_decision",
  tool_call_id: "call_1",
  tool: "a_tool",
  decision: "denied",
};

const head = (type: string) => `"timestamp":"2026-01-02 03:04:05.0","type":"${type}"`;

describe("each kind of event has one JSON form with a fixed order of keys", () => {
  test.each<[string, ConversationEvent, string]>([
    ["the start of a turn", turnStart(), `{${head("turn_start")}}`],
    [
      "a plain request",
      chatRequest('Hi "you" é'),
      `{${head("chat_request")},"content":"Hi \\"you\\" é"}`,
    ],
    [
      "a request with a schema and an author",
      { author: "Ada", ...chatRequest("List them", { type: "object" }) },
      `{${head("chat_request")},"content":"List them","schema":{"type":"object"},"author":"Ada"}`,
    ],
    [
      "a request whose answer is checked",
      { ...chatRequest("List them", { type: "object" }), isChecked: true },
      `{${head("chat_request")},"content":"List them","schema":{"type":"object"},"checked":true,` +
        '"metadata":{"jp_ts":"{\\"checked\\":true}"}}',
    ],
    [
      "a correction",
      { ...chatRequest("Again"), author: "jp", correction: "not JSON" },
      `{${head("chat_request")},"content":"Again","author":"jp","correction":"not JSON",` +
        '"metadata":{"jp_ts":"{\\"correction\\":\\"not JSON\\"}"}}',
    ],
    [
      "a request that replaces the turn before",
      { ...chatRequest("Again"), replacesTurn: true },
      `{${head("chat_request")},"content":"Again","replaces":true,` +
        '"metadata":{"jp_ts":"{\\"replaces\\":true}"}}',
    ],
    [
      "a message for a running turn",
      { ...chatRequest("Rather in Rust"), isSteering: true },
      `{${head("chat_request")},"content":"Rather in Rust","steering":true,` +
        '"metadata":{"jp_ts":"{\\"steering\\":true}"}}',
    ],
    ["a message", message("Hello"), `{${head("chat_response")},"message":"Hello"}`],
    ["reasoning", reasoning("Hm"), `{${head("chat_response")},"reasoning":"Hm"}`],
    [
      "structured output",
      { ...message(""), content: { type: "structured", data: { ok: [1, null] } } },
      `{${head("chat_response")},"data":{"ok":[1,null]}}`,
    ],
    [
      "a tool call",
      toolCall("call_1", "fs_read", { path: "src/main.rs", lines: [1, "all"], raw: true }),
      `{${head("tool_call_request")},"id":"call_1","name":"fs_read",` +
        '"arguments":{"path":"src/main.rs","lines":[1,"all"],"raw":true}}',
    ],
    [
      "a tool call without arguments",
      toolCall("call_1", "fs_list"),
      `{${head("tool_call_request")},"id":"call_1","name":"fs_list","arguments":{}}`,
    ],
    [
      "the result of a tool",
      toolResult("call_1", "fn main() {}"),
      `{${head("tool_call_response")},"id":"call_1","content":"fn main() {}","is_error":false}`,
    ],
    [
      "the failure of a tool",
      toolResult("call_1", "", true),
      `{${head("tool_call_response")},"id":"call_1","content":"","is_error":true}`,
    ],
    [
      "a permission",
      permission("call_1"),
      `{${head("permission_decision")},"tool_call_id":"call_1","tool":"a_tool",` +
        '"decision":"approved","decided_by":{"kind":"user","channel":"tty"}}',
    ],
    [
      "a permission that was denied for a reason",
      { reason: "not today", ...permission("call_1"), decision: "denied" },
      `{${head("permission_decision")},"tool_call_id":"call_1","tool":"a_tool",` +
        '"decision":"denied","decided_by":{"kind":"user","channel":"tty"},"reason":"not today"}',
    ],
    [
      "a permission that was denied because its prompt failed",
      {
        digest: DIGEST,
        problem: "the terminal is gone",
        cause: "prompt_failed",
        ...permission("call_1"),
        id: "call_1:run:1" as InquiryId,
        decision: "denied",
        decidedBy: { kind: "policy", key: "tools.a_tool.run" },
      },
      `{${head("permission_decision")},"id":"call_1:run:1","tool_call_id":"call_1","tool":"a_tool",` +
        '"decision":"denied","decided_by":{"kind":"policy","key":"tools.a_tool.run"},' +
        `"cause":"prompt_failed","problem":"the terminal is gone","digest":"${DIGEST}"}`,
    ],
    [
      "the delivery of an edited result, remembered for the turn",
      {
        ...permission("call_1"),
        action: "deliver",
        decision: "edited",
        arguments: { path: "a" },
        decidedBy: { kind: "user", channel: "tty", scope: "turn" },
      },
      `{${head("permission_decision")},"tool_call_id":"call_1","tool":"a_tool","action":"deliver",` +
        '"decision":"edited","arguments":{"path":"a"},' +
        '"decided_by":{"kind":"user","channel":"tty","scope":"turn"}}',
    ],
    [
      "a permission that is asked for",
      { ...permissionRequest("call_1"), arguments: { path: "a" } },
      `{${head("permission_request")},"id":"call_1:run:1","tool_call_id":"call_1","tool":"a_tool",` +
        '"action":"run","arguments":{"path":"a"}}',
    ],
    [
      "a permission that is asked for again, with what is decided",
      {
        ...permissionRequest("call_1"),
        id: "call_1:run:2" as InquiryId,
        replaces: "call_1:run:1" as InquiryId,
        isForPerson: true,
        arguments: { path: "a" },
        origin: { type: "local", command: "rm {{tool.arguments.path}}" },
        folder: "docs",
        outside: ["/etc/hosts"],
        subject: SUBJECT,
      },
      `{${head("permission_request")},"id":"call_1:run:2","tool_call_id":"call_1","tool":"a_tool",` +
        '"action":"run","arguments":{"path":"a"},"replaces":"call_1:run:1","person":true,' +
        '"origin":{"type":"local","command":"rm {{tool.arguments.path}}"},"folder":"docs","outside":["/etc/hosts"],' +
        `"digest":"${DIGEST}","subject_version":1,"subject_parts":{"arguments":"0123456789abcdef"}}`,
    ],
    [
      "a decision that no longer counts",
      decisionVoid("call_1:run:1", "arguments", "file"),
      `{${head("decision_void")},"id":"call_1:run:1","changed":["arguments","file"]}`,
    ],
    [
      "a result with text that jp has added",
      { ...toolResult("call_1", "(edited) done"), added: { before: 9, after: 0 } },
      `{${head("tool_call_response")},"id":"call_1","content":"(edited) done","is_error":false,` +
        '"added":{"before":9,"after":0},' +
        String.raw`"metadata":{"jp_ts":"{\"added\":{\"before\":9,\"after\":0}}"}}`,
    ],
    [
      "a result that is an object",
      { ...toolResult("call_1", "{}"), isJson: true },
      `{${head("tool_call_response")},"id":"call_1","content":"{}","is_error":false,"is_json":true,` +
        String.raw`"metadata":{"jp_ts":"{\"is_json\":true}"}}`,
    ],
    [
      "the sources of a reply",
      replySources({ url: "https://moon.example/" }, { title: "Log", mediaType: "text/plain" }),
      `{${head("reply_sources")},"sources":[{"url":"https://moon.example/"},{"title":"Log","media_type":"text/plain"}]}`,
    ],
    [
      "a file of a reply",
      replyFile(7),
      `{${head("reply_file")},"media_type":"image/png","digest":"${"5".repeat(64)}","size":7}`,
    ],
    [
      "a question that no one could be asked, and why",
      closed("call_1.ok.1", { outcome: "cancelled", reason: "backend_error", problem: "503" }),
      `{${head("inquiry_response")},"outcome":"cancelled","id":"call_1.ok.1","answer":null,` +
        '"reason":"backend_error","problem":"503",' +
        String.raw`"metadata":{"jp_ts":"{\"outcome\":\"cancelled\",\"reason\":\"backend_error\",\"problem\":\"503\"}"}}`,
    ],
    [
      "a result that waits for its delivery",
      {
        ...permissionRequest("call_1", "deliver"),
        result: { content: "fn main() {}", isError: false },
      },
      `{${head("permission_request")},"id":"call_1:deliver:1","tool_call_id":"call_1",` +
        '"tool":"a_tool","action":"deliver",' +
        '"result":{"content":"fn main() {}","is_error":false}}',
    ],
    [
      "the result that a person gave for a call in doubt",
      {
        ...permission("call_1"),
        action: "rerun",
        decision: "edited",
        result: { content: "done", isError: false },
        decidedBy: { kind: "user", channel: "cli", auth: "os_user", name: "Ada" },
      },
      `{${head("permission_decision")},"tool_call_id":"call_1","tool":"a_tool","action":"rerun",` +
        '"decision":"edited","result":{"content":"done","is_error":false},' +
        '"decided_by":{"kind":"user","channel":"cli","name":"Ada","auth":"os_user"}}',
    ],
    [
      "the result that a tool found for a call in doubt",
      {
        ...permission("call_1"),
        action: "rerun",
        decision: "edited",
        result: { content: "done", isError: false },
        check: "done",
        decidedBy: { kind: "tool" },
      },
      `{${head("permission_decision")},"tool_call_id":"call_1","tool":"a_tool","action":"rerun",` +
        '"decision":"edited","result":{"content":"done","is_error":false},"check":"done",' +
        '"decided_by":{"kind":"tool"}}',
    ],
    [
      "a question about a call in doubt that its tool has left open",
      { ...permissionRequest("call_1", "rerun"), check: "timed_out" },
      `{${head("permission_request")},"id":"call_1:rerun:1","tool_call_id":"call_1",` +
        '"tool":"a_tool","action":"rerun","check":"timed_out"}',
    ],
    [
      "the start of an attempt",
      attemptStart("call_1"),
      `{${head("attempt_start")},"tool_call_id":"call_1"}`,
    ],
    [
      "the start of an attempt that is safe to repeat",
      { ...attemptStart("call_1"), isIdempotent: true },
      `{${head("attempt_start")},"tool_call_id":"call_1","is_idempotent":true}`,
    ],
    [
      "a finished step, and its result as it is",
      toolStep("call_1", "pay", { receipt: "aGFwcHk=" }),
      `{${head("tool_step")},"tool_call_id":"call_1","name":"pay","result":{"receipt":"aGFwcHk="}}`,
    ],
    [
      "a finished step whose result is null",
      toolStep("call_1", "pay", null),
      `{${head("tool_step")},"tool_call_id":"call_1","name":"pay","result":null}`,
    ],
    [
      "a finished step without a result, of the second call with this id",
      { type: "tool_step", timestamp: at(0), toolCallId: "call_1", callIndex: 1, name: "pay" },
      `{${head("tool_step")},"tool_call_id":"call_1","call_index":1,"name":"pay"}`,
    ],
    [
      "a step whose result is lost",
      {
        type: "tool_step",
        timestamp: at(0),
        toolCallId: "call_1",
        name: "pay",
        failure: "not_json",
      },
      `{${head("tool_step")},"tool_call_id":"call_1","name":"pay","failure":"not_json"}`,
    ],
    ["the end of a turn", turnEnd("stopped"), `{${head("turn_end")},"reason":"stopped"}`],
    [
      "metadata last",
      { metadata: { signature: "c2ln", cached: true }, extra: { later: "x" }, ...reasoning("") },
      `{${head("chat_response")},"reasoning":"","later":"x",` +
        '"metadata":{"signature":"YzJsbg==","cached":true}}',
    ],
  ])("an event is written in its own form: %s", (_, event, json) => {
    expect(JSON.stringify(eventToJson(event))).toBe(json);
    expect(parseEvent(JSON.parse(json))).toStrictEqual(event);
  });
});

test("every event survives a round trip", () => {
  verifies("005/event/both-kinds-stored-with-the-stream");
  fc.assert(
    fc.property(anyEvent, (event) => {
      expect(parseEvent(JSON.parse(JSON.stringify(eventToJson(event))))).toStrictEqual(event);
    }),
    { numRuns: 500 },
  );
});

test("decoding and encoding a record keeps every byte", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 8 }), (events) => {
      const text = recordOf(events);
      expect(recordOf((JSON.parse(text) as unknown[]).map(parseEvent))).toBe(text);
    }),
  );
});

describe("reading is lenient where records differ", () => {
  test("unknown fields are kept and not decoded", () => {
    const json = {
      timestamp: at(0),
      type: "chat_request",
      content: "Hi",
      mood: "aGFwcHk=",
      metadata: { key: "a2V5" },
    };
    const event = parseEvent(json);
    expect([event, eventToJson(event)]).toStrictEqual([
      { ...chatRequest("Hi"), metadata: { key: "key" }, extra: { mood: "aGFwcHk=" } },
      json,
    ]);
  });

  test("a field called __proto__ is an ordinary field", () => {
    const text = `{"timestamp":"${at(0)}","type":"turn_start","__proto__":{"a":1},"constructor":2}`;
    expect(JSON.stringify(eventToJson(parseEvent(JSON.parse(text))))).toBe(text);
  });

  test("the answers in old tool calls are kept beside the arguments without decoding them", () => {
    verifies("028/tool-answers/old-field-ignored", "028/tool-answers/not-mixed-into-arguments");
    verifies("028/tool-answers/strings-not-recoded");
    const call = {
      timestamp: at(0),
      type: "tool_call_request",
      id: "call_1",
      name: "a_tool",
      arguments: { path: "a" },
    };
    const events = [{}, { overwrite: "eWVz" }].map((answers) =>
      parseEvent({ ...call, tool_answers: answers }),
    );
    expect(events).toStrictEqual([
      { ...toolCall("call_1", "a_tool", { path: "a" }), extra: { tool_answers: {} } },
      {
        ...toolCall("call_1", "a_tool", { path: "a" }),
        extra: { tool_answers: { overwrite: "eWVz" } },
      },
    ]);
  });

  test("the answers in old tool calls are written back unchanged", () => {
    verifies("028/tool-answers/old-field-ignored", "028/tool-answers/strings-not-recoded");
    const json = {
      ...eventToJson(toolCall("call_1")),
      tool_answers: { overwrite: "eWVz" },
    };
    expect(eventToJson(parseEvent(json))).toStrictEqual(json);
  });

  test("an argument with the name of the old answers is an ordinary argument", () => {
    verifies("028/tool-answers/arguments-written-as-they-are");
    const call = { timestamp: at(0), type: "tool_call_request", id: "call_1", name: "a_tool" };
    const args = [{ path: "a", tool_answers: { overwrite: "yes" } }, { path: "a" }, {}];
    expect(args.map((each) => eventToJson(toolCall("call_1", "a_tool", each)))).toStrictEqual([
      { ...call, arguments: { path: "a", tool_answers: { overwrite: "yes" } } },
      { ...call, arguments: { path: "a" } },
      { ...call, arguments: {} },
    ]);
  });

  test("a tool call without answers is written without any", () => {
    verifies("028/tool-answers/not-mixed-into-arguments");
    const json = eventToJson(toolCall("call_1", "a_tool", { path: "a" }));
    expect(parseEvent(json)).toStrictEqual(toolCall("call_1", "a_tool", { path: "a" }));
  });

  test.each<[string, JsonObject, ConversationEvent]>([
    [
      "a call without arguments",
      { type: "tool_call_request", id: "c", name: "n" },
      toolCall("c", "n"),
    ],
    [
      "an argument that was never encoded is read unchanged",
      { type: "tool_call_request", id: "c", name: "n", arguments: { path: "src/main.rs" } },
      toolCall("c", "n", { path: "src/main.rs" }),
    ],
    [
      "a result that was never encoded is read unchanged",
      { type: "tool_call_response", id: "c", content: "not found", is_error: true },
      toolResult("c", "not found", true),
    ],
    [
      "a result in the URL-safe alphabet is decoded",
      { type: "tool_call_response", id: "c", content: "Pz4_Pg==", is_error: false },
      toolResult("c", "?>?>"),
    ],
    [
      "a result that was encoded twice loses one layer",
      { type: "tool_call_response", id: "c", content: "WVE9PQ==", is_error: false },
      toolResult("c", "YQ=="),
    ],
    [
      "a request whose schema and author are null has neither",
      { type: "chat_request", content: "Hi", schema: null, author: null },
      chatRequest("Hi"),
    ],
    [
      "a response with a message and reasoning is a message",
      { type: "chat_response", reasoning: "Hm", message: "Hello" },
      message("Hello"),
    ],
    [
      "structured output may be null",
      { type: "chat_response", data: null },
      { ...message(""), content: { type: "structured", data: null } },
    ],
    ["metadata that is no object is none", { type: "turn_start", metadata: "x" }, turnStart()],
  ])("a record of another version is read: %s", (_, json, event) => {
    expect(parseEvent({ timestamp: at(0), ...json })).toStrictEqual(event);
  });

  test.each<[string, string, string, Partial<PermissionDecision>]>([
    ["the config skips the tool", "conversation.tools.a_tool.run", "denied", { cause: "skipped" }],
    [
      "the config skips the result",
      "conversation.tools.a_tool.result",
      "denied",
      { cause: "skipped" },
    ],
    [
      "no one could be asked for permission",
      "conversation.tools.a_tool.detached.run",
      "denied",
      { cause: "unavailable" },
    ],
    [
      "no one could be asked about the result",
      "conversation.tools.a_tool.detached.deliver",
      "denied",
      { cause: "unavailable" },
    ],
    ["the config lets it run", "conversation.tools.a_tool.run", "approved", {}],
    ["no one has to be asked", "conversation.tools.a_tool.detached.run", "approved", {}],
  ])("a decision by policy without a cause gets one if it denies: %s", (_, key, made, caused) => {
    const json = { ...DECISION, decision: made, decided_by: { kind: "policy", key } };
    expect(parseEvent(json)).toStrictEqual({
      ...permission("call_1"),
      decision: made,
      decidedBy: { kind: "policy", key },
      ...caused,
    });
  });

  test("a cause says the same, whatever the sentence beside it", () => {
    const decidedBy = { kind: "policy", key: "conversation.tools.a_tool.run" } as const;
    const reason = "No one answered in time.";
    const read = CAUSES.map((cause) =>
      parseEvent({ ...DECISION, decided_by: decidedBy, reason, cause }),
    );
    const denied = { ...permission("call_1"), decision: "denied", decidedBy } as const;
    expect(read).toStrictEqual(CAUSES.map((cause) => ({ ...denied, reason, cause })));
  });

  test("a cause of a newer version is read as none", () => {
    const decidedBy = { kind: "policy", key: "conversation.tools.a_tool.run" } as const;
    const json = { ...DECISION, decided_by: decidedBy, cause: "full_moon", problem: "Moon." };
    expect(parseEvent(json)).toStrictEqual({
      ...permission("call_1"),
      decision: "denied",
      decidedBy,
      cause: "skipped",
      extra: { cause: "full_moon", problem: "Moon." },
    });
  });

  test.each<[ToolOrigin, Json]>([
    [{ type: "builtin", confinement: "sandbox", network: true }, { network: true }],
    [{ type: "builtin", confinement: "sandbox", git: true }, { git: true }],
    [
      { type: "builtin", confinement: "sandbox" },
      { network: "yes", git: 1 },
    ],
    [{ type: "builtin", confinement: "none" }, { confinement: "later" }],
    [{ type: "builtin", confinement: "none", undo: "not_git" }, { undo: "not_git" }],
    [{ type: "builtin", confinement: "sandbox" }, { undo: "perhaps" }],
    [{ type: "builtin" }, { confinement: 1 }],
  ])("an origin says how a command was confined, in doubt not at all: %j", (origin, changed) => {
    const event = { ...permissionRequest("call_1"), origin };
    expect(parseEvent(eventToJson(event))).toStrictEqual(event);
    const json = { ...eventToJson(event), origin: { ...origin, ...(changed as JsonObject) } };
    const { extra: _extra, ...known } = parseEvent(json);
    expect(known).toStrictEqual(event);
  });

  test.each<[string, Json]>([
    ["a type of a newer version", { type: "wasm", module: "a.wasm" }],
    ["a local tool without its command", { type: "local" }],
    ["a server without its tool", { type: "mcp", server: "s", command: "c" }],
    ["no object", "builtin"],
    ["nothing", null],
  ])("an origin that cannot be shown is left out, and the rest is read: %s", (_, origin) => {
    const json = { ...eventToJson(permissionRequest("call_1")), origin, digest: DIGEST };
    expect(parseEvent(json)).toStrictEqual({
      ...permissionRequest("call_1"),
      subject: { digest: DIGEST, version: 0, parts: {} },
      ...(origin !== null && { extra: { origin } }),
    });
  });

  test.each<Json>(["2", null, { before: "1", after: 1 }, { before: 1 }, 3])(
    "a result is read without what was added, if that is not two numbers: %j",
    (added) => {
      const json = { ...eventToJson(toolResult("call_1")), added };
      expect(parseEvent(json)).toStrictEqual({
        ...toolResult("call_1"),
        ...(added !== null && { extra: { added } }),
      });
    },
  );

  test("codes of what has changed that are no text are left out", () => {
    const json = { ...eventToJson(decisionVoid("a")), changed: ["file", 3, null, "program"] };
    expect(parseEvent(json)).toStrictEqual(decisionVoid("a", "file", "program"));
  });

  test("empty metadata is not written", () => {
    expect(eventToJson({ ...turnStart(), metadata: {} })).toStrictEqual({
      timestamp: at(0),
      type: "turn_start",
    });
  });
});

describe("reading is strict about required fields", () => {
  const A_TIME = 'expected a time like "2026-01-02 03:04:05.678", got';

  test.each<[string, unknown, string, string]>([
    ["a text", "turn_start", "", "expected an object, got a string"],
    [
      "an element without a type",
      { type: undefined },
      "type",
      "expected a known event type, got nothing",
    ],
    ["an unknown kind", { type: "chat" }, "type", "expected a known event type, got a string"],
    [
      "a name every object has",
      { type: "toString" },
      "type",
      "expected a known event type, got a string",
    ],
    [
      "an event without a time",
      { type: "turn_start", timestamp: null },
      "timestamp",
      `${A_TIME} null`,
    ],
    [
      "a request without content",
      { type: "chat_request" },
      "content",
      "expected a string, got nothing",
    ],
    [
      "a request whose schema is a text",
      { type: "chat_request", content: "", schema: "{}" },
      "schema",
      "expected an object, got a string",
    ],
    [
      "a response of no kind",
      { type: "chat_response", message: null },
      "",
      'a chat_response needs "message", "reasoning" or "data"',
    ],
    ["a call without an id", { type: "tool_call_request" }, "id", "expected a string, got nothing"],
    [
      "a call whose arguments are a list",
      { type: "tool_call_request", id: "c", name: "n", arguments: [] },
      "arguments",
      "expected an object, got array",
    ],
    [
      "a result that does not say whether it failed",
      { type: "tool_call_response", id: "c", content: "" },
      "is_error",
      "expected true or false, got nothing",
    ],
    [
      "a permission of another kind",
      { type: "permission_decision", tool_call_id: "c", tool: "t", decision: "maybe" },
      "decision",
      'expected "approved" or "denied" or "edited", got another string',
    ],
    [
      "a void decision without its id",
      { type: "decision_void", changed: [] },
      "id",
      "expected a string, got nothing",
    ],
    [
      "a void decision that does not say what has changed",
      { type: "decision_void", id: "a" },
      "changed",
      "expected an array, got nothing",
    ],
    [
      "a request whose digest is no text",
      { ...eventToJson(permissionRequest("c")), digest: 3 },
      "digest",
      "expected a string, got number",
    ],
    [
      "a permission without a decider",
      { type: "permission_decision", tool_call_id: "c", tool: "t", decision: "approved" },
      "decided_by",
      "expected an object, got nothing",
    ],
  ])(
    "an event without a required field is rejected, and the error names the field: %s",
    (_, json, path, problem) => {
      const value = typeof json === "object" ? { timestamp: at(0), ...json } : json;
      expect(() => parseEvent(value)).toThrow(new ShapeError(path, problem));
    },
  );
});

test("a stored inquiry has the source, the question and the answer type", () => {
  verifies("005/event/request-names-source-and-question", "082/question/request-form");
  const event = { ...inquiry("call_1.ok.1"), toolCallId: "call_1", questionId: "ok" };
  const json =
    `{${head("inquiry_request")},"id":"call_1.ok.1",` +
    '"source":{"source":"tool","name":"a_tool"},' +
    '"question":{"text":"Go on?","answer_type":{"type":"boolean"}},' +
    '"tool_call_id":"call_1","question_id":"ok",' +
    String.raw`"metadata":{"jp_ts":"{\"tool_call_id\":\"call_1\",\"question_id\":\"ok\"}"}}`;
  expect(JSON.stringify(eventToJson(event))).toBe(json);
  expect(parseEvent(JSON.parse(json))).toStrictEqual(event);
});

test("plain JSON is the same as in the record, but without base64", () => {
  const call = { ...toolCall("call_1", "a_tool", { path: "a" }), metadata: { key: "b" } };
  const events = [call, toolResult("call_1", "c"), chatRequest("d"), cancelled("e", "user")];
  expect(events.map((event) => JSON.stringify(eventToPlainJson(event)))).toEqual([
    `{${head("tool_call_request")},"id":"call_1","name":"a_tool","arguments":{"path":"a"},` +
      '"metadata":{"key":"b"}}',
    `{${head("tool_call_response")},"id":"call_1","content":"c","is_error":false}`,
    `{${head("chat_request")},"content":"d"}`,
    `{${head("inquiry_response")},"outcome":"cancelled","id":"e","answer":null,"reason":"user"}`,
  ]);
});

function recordOf(events: readonly ConversationEvent[]): string {
  return JSON.stringify(events.map(eventToJson), null, 2);
}

const plain = {
  path: "src/main.rs",
  "key==": ["a", { deep: "é" }],
  line: 3,
  force: true,
  nothing: null,
};

const encoded = {
  path: "c3JjL21haW4ucnM=",
  "key==": ["YQ==", { deep: "w6k=" }],
  line: 3,
  force: true,
  nothing: null,
};

test("all strings of metadata are encoded at any depth, but not keys or other values", () => {
  expect(encodeAllStrings(plain)).toStrictEqual(encoded);
});

test("arguments and results are plain text, except where a reader would take that for base64", () => {
  const texts = ["src/main.rs", "all", "YQ==", "text", "abcd", "dGV4dA==", "8J-mgA==", "", "YR=="];
  const written = texts.map(encodeText);
  expect(written).toEqual([
    "src/main.rs",
    "all",
    "WVE9PQ==", // "YQ==" is the base64 of "a".
    "text",
    "abcd", // Four letters are base64, but of bytes that are not text.
    "ZEdWNGRBPT0=",
    "OEotbWdBPT0=", // The other alphabet, which an older version of the original has used.
    "",
    "YR==",
  ]);
  expect(written.map(decodeText)).toEqual(texts);
});

test("strings are decoded at any depth, but not keys or other values", () => {
  expect(decodeStrings(encoded)).toStrictEqual(plain);
});

test("one layer of base64 is removed, and other text is unchanged", () => {
  const texts = ["WVE9PQ==", "YQ==", "a", "YR==", "YQ==\n", "Pz4_Pg==", ""].map(decodeText);
  expect(texts).toEqual(["YQ==", "a", "a", "YR==", "YQ==\n", "?>?>", ""]);
});

test("objects nested too deeply for the stack are rejected, both ways", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`) as JsonObject;
  const refused = new ShapeError("", "nested deeper than 1000 levels");
  expect(() => decodeStrings(deep)).toThrow(refused);
  expect(() => encodeStrings(deep)).toThrow(refused);
});

test.each([{ path: "a" }, "of another version"])(
  "a vote keeps arguments of a newer version as an unknown field: %j",
  (args) => {
    const by = { kind: "user", channel: "terminal" } as const;
    const vote = { timestamp: at(0), type: "decision_vote", id: "a", by } as const;
    const event = parseEvent({ ...vote, arguments: args });
    expect(event).toStrictEqual({ ...vote, extra: { arguments: args } });
    expect(eventToJson(event)).toStrictEqual({ ...vote, arguments: args });
  },
);
