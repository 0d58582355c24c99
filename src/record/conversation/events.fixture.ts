/** Events for tests: builders in which only what matters is said, and generators of any event. */
import * as fc from "fast-check";
import type { Addressee, InquiryQuestion } from "../tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import {
  type AttemptStart,
  type CancellationReason,
  type ChatRequest,
  type ChatResponse,
  type ConversationEvent,
  type ConversationStream,
  type Decider,
  type DecisionSubject,
  type DecisionVoid,
  type DenialCause,
  type InquiryId,
  type InquiryOutcome,
  type InquiryRequest,
  type InquiryResponse,
  type KnownCancellationReason,
  type PermissionAction,
  type RecordedGrant,
  type RecordedSignature,
  type PermissionDecision,
  type PermissionRequestEvent,
  type Compaction,
  type ReplyFailure,
  type ReplyFile,
  type ReplySources,
  StreamEntry,
  type SubjectDigest,
  type Timestamp,
  type Traceparent,
  type TokenUsage,
  type ToolCallRequest,
  type ToolCallResponse,
  type ToolStep,
  type TurnEndEvent,
  type TurnStart,
  type TurnUndo,
  type Usage,
} from "./index.ts";

/** A moment, so many seconds after the one that all builders use. */
export function at(second: number): Timestamp {
  const time = new Date(Date.UTC(2026, 0, 2, 3, 4, 5 + second)).toISOString();
  return `${time.slice(0, 10)} ${time.slice(11, 19)}.0` as Timestamp;
}

export function turnStart(): TurnStart {
  return { type: "turn_start", timestamp: at(0) };
}

export function chatRequest(content: string, schema?: JsonObject): ChatRequest {
  return { type: "chat_request", timestamp: at(0), content, ...(schema && { schema }) };
}

export function message(text: string): ChatResponse {
  return { type: "chat_response", timestamp: at(0), content: { type: "message", text } };
}

export function reasoning(text: string): ChatResponse {
  return { type: "chat_response", timestamp: at(0), content: { type: "reasoning", text } };
}

export function toolCall(id: string, name = "a_tool", args: JsonObject = {}): ToolCallRequest {
  return { type: "tool_call_request", timestamp: at(0), id, name, arguments: args };
}

export function toolResult(id: string, content = "done", isError = false): ToolCallResponse {
  return { type: "tool_call_response", timestamp: at(0), id, content, isError };
}

/** A question as the record holds it; what is not said has its default. */
export function questionOf(fields: Partial<InquiryQuestion> = {}): InquiryQuestion {
  const answerType = { type: "boolean" } as const;
  return { text: "Go on?", answerType, exclusive: false, persistence: "turn", ...fields };
}

export function inquiry(id: string, question: Partial<InquiryQuestion> = {}): InquiryRequest {
  return {
    type: "inquiry_request",
    timestamp: at(0),
    id: id as InquiryId,
    source: { source: "tool", name: "a_tool" },
    question: questionOf(question),
  };
}

export function closed(id: string, outcome: InquiryOutcome): InquiryResponse {
  return { type: "inquiry_response", timestamp: at(0), id: id as InquiryId, ...outcome };
}

export function answered(id: string, answer: Json = true): InquiryResponse {
  return closed(id, { outcome: "answered", answer });
}

export function cancelled(id: string, reason: CancellationReason): InquiryResponse {
  return closed(id, { outcome: "cancelled", reason });
}

export function permission(toolCallId: string): PermissionDecision {
  return {
    type: "permission_decision",
    timestamp: at(0),
    toolCallId,
    tool: "a_tool",
    action: "run",
    decision: "approved",
    decidedBy: { kind: "user", channel: "tty" },
  };
}

export function permissionRequest(
  toolCallId: string,
  action: PermissionAction = "run",
): PermissionRequestEvent {
  const id = `${toolCallId}:${action}:1` as InquiryId;
  return { type: "permission_request", timestamp: at(0), id, toolCallId, tool: "a_tool", action };
}

export function decisionVoid(id: string, ...changed: readonly string[]): DecisionVoid {
  return { type: "decision_void", timestamp: at(0), id: id as InquiryId, changed };
}

/** The digest of a decision's subject. Another text makes another subject. */
export function subjectOf(text: string, parts: SubjectDigest["parts"] = {}): SubjectDigest {
  return { digest: Buffer.from(text).toString("hex").padEnd(64, "0"), version: 1, parts };
}

export function attemptStart(toolCallId: string): AttemptStart {
  return { type: "attempt_start", timestamp: at(0), toolCallId };
}

export function toolStep(toolCallId: string, step: string, result: Json = null): ToolStep {
  return { type: "tool_step", timestamp: at(0), toolCallId, name: step, result };
}

export function replyFailure(code = "provider_overloaded"): ReplyFailure {
  return { type: "reply_failure", timestamp: at(0), code };
}

export function turnEnd(reason: TurnEndEvent["reason"] = "done"): TurnEndEvent {
  return { type: "turn_end", timestamp: at(0), reason };
}

/** Of the turn that starts at this moment, with its message. */
export function turnUndo(moment: number): TurnUndo {
  return { type: "turn_undo", timestamp: at(0), turn: at(moment), files: [], hidesTurn: true };
}

export function tokenUsage(usage: Usage, purpose = "reply", model = "test/model"): TokenUsage {
  return { type: "token_usage", timestamp: at(0), model, purpose, usage };
}

export function replySources(...sources: ReplySources["sources"]): ReplySources {
  return { type: "reply_sources", timestamp: at(0), sources };
}

export function replyFile(size = 3, digest = "5".repeat(64)): ReplyFile {
  return { type: "reply_file", timestamp: at(0), mediaType: "image/png", digest, size };
}

export function entriesOf(...items: readonly (ConversationEvent | StreamEntry)[]): StreamEntry[] {
  return items.map((item) => (item instanceof StreamEntry ? item : StreamEntry.fromEvent(item)));
}

export function streamOf(
  ...items: readonly (ConversationEvent | StreamEntry)[]
): ConversationStream {
  return { createdAt: at(0), baseConfig: {}, entries: entriesOf(...items) };
}

/** The JSON in the record. Entries keep it in private fields, so they all compare as equal. */
export function rawOf(stream: Pick<ConversationStream, "entries">): readonly JsonObject[] {
  return stream.entries.map(({ raw }) => raw);
}

export const REASONS: readonly KnownCancellationReason[] = [
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
];

export const CAUSES: readonly DenialCause[] = [
  "skipped",
  "unavailable",
  "timed_out",
  "closed",
  "prompt_failed",
  "subject_unstable",
  "redirected",
  "declined_by_client",
];

/** Text of the characters that encodings stumble over. */
export const anyText = fc.string({
  unit: fc.constantFrom(...Array.from('aZ09+/=_- \\"\n\0\uFEFFé日🦀')),
  maxLength: 12,
});

const name = fc.stringMatching(/^[a-z_.0-9]{1,8}$/);

/** Any JSON, as it is after it was read from a text: no `-0`, keys in the order of JavaScript. */
const anyJson = fc
  .jsonValue({ maxDepth: 2 })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);

const anyObject = fc
  .dictionary(anyText, anyJson, { maxKeys: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);

/** `2026-01-02 03:04:05.123456789`, with any number of digits. */
const anyTimestamp = fc
  .tuple(
    fc.date({ min: new Date(0), max: new Date("2200-01-01"), noInvalidDate: true }),
    fc.stringMatching(/^[0-9]{1,9}$/),
  )
  .map(([date, digits]) => {
    const time = date.toISOString();
    return `${time.slice(0, 10)} ${time.slice(11, 19)}.${digits}` as Timestamp;
  });

const anyDecider: fc.Arbitrary<Decider> = fc.oneof(
  objects(
    { kind: fc.constant("user" as const), channel: anyText },
    { scope: fc.constant("turn" as const), name: anyText, auth: anyText, role: anyText },
  ),
  objects({ kind: fc.constant("assistant" as const), model: anyText }),
  objects({ kind: fc.constant("config" as const), key: anyText }),
  objects(
    { kind: fc.constant("policy" as const), key: anyText },
    {
      rules: fc.array(
        objects({ from: anyText, key: anyText, rule: anyObject }, { file: anyText }),
        { maxLength: 2 },
      ),
    },
  ),
  objects({ kind: fc.constant("remembered" as const), from: anyText }),
  objects({ kind: fc.constant("answers_file" as const), entry: anyText }),
  objects({ kind: fc.constantFrom("default" as const, "tool" as const) }),
  anyText.map((note) => ({ kind: "unknown" as const, raw: { kind: "committee", note } })),
);

const anyAnswerType: fc.Arbitrary<InquiryQuestion["answerType"]> = fc.oneof(
  objects({ type: fc.constantFrom("boolean" as const, "text" as const, "secret" as const) }),
  objects(
    {
      type: fc.constant("select" as const),
      options: fc.array(objects({ value: anyJson }, { description: anyText, preview: anyText }), {
        maxLength: 3,
      }),
    },
    { allowsOther: fc.constant(true), isMultiple: fc.constant(true) },
  ),
);

/** As the record may hold it; a tool has to ask with more sense. */
const anyAddressee: fc.Arbitrary<Addressee> = fc.oneof(
  objects({ user: anyText }),
  objects({ role: anyText }),
);

export const anyQuestion: fc.Arbitrary<InquiryQuestion> = objects(
  {
    text: anyText,
    answerType: anyAnswerType,
    exclusive: fc.boolean(),
    persistence: fc.constantFrom("none" as const, "turn" as const),
  },
  {
    context: anyText,
    default: anyJson.filter((value) => value !== null),
    allowsNote: fc.constant(true),
    acts: fc.constant(true),
    rememberAs: anyText,
    binding: anyText,
    for: fc.oneof(
      anyAddressee,
      fc.array(anyAddressee, { maxLength: 3 }).map((all) => all as readonly Addressee[]),
    ),
  },
);

const anyReason: fc.Arbitrary<CancellationReason> = fc.oneof(
  fc.constantFrom(...REASONS),
  name.filter((tag) => !REASONS.some((known) => known === tag)).map((unknown) => ({ unknown })),
);

const anyOutcome: fc.Arbitrary<InquiryOutcome> = fc.oneof(
  objects(
    { outcome: fc.constant("answered" as const), answer: anyJson },
    { answeredBy: anyDecider, isOther: fc.constant(true), note: anyText, answerReason: anyText },
  ),
  objects({ outcome: fc.constant("redacted" as const) }, { answeredBy: anyDecider }),
  objects({ outcome: fc.constant("cancelled" as const), reason: anyReason }, { problem: anyText }),
);

const anyChatContent: fc.Arbitrary<ChatResponse["content"]> = fc.oneof(
  objects({ type: fc.constantFrom("message" as const, "reasoning" as const), text: anyText }),
  objects({ type: fc.constant("structured" as const), data: anyJson }),
);

const anySource: fc.Arbitrary<InquiryRequest["source"]> = fc.oneof(
  objects({ source: fc.constantFrom("tool" as const, "other" as const), name: anyText }),
  objects({ source: fc.constantFrom("assistant" as const, "user" as const) }),
);

const anyAction = fc.constantFrom<PermissionAction>("run", "deliver", "rerun");
const anyResult = objects({ content: anyText, isError: fc.boolean() });

const anyOrigin: fc.Arbitrary<NonNullable<DecisionSubject["origin"]>> = fc.oneof(
  objects({ type: fc.constantFrom("builtin" as const, "program" as const) }),
  objects({ type: fc.constant("local" as const), command: anyText }),
  objects({ type: fc.constant("mcp" as const), server: anyText, tool: anyText, command: anyText }),
);

const anyDigest = fc.stringMatching(/^[0-9a-f]{64}$/);

const anySubject = {
  subject: objects({
    digest: anyDigest,
    version: fc.integer({ min: 0, max: 9 }),
    parts: fc.dictionary(name, fc.stringMatching(/^[0-9a-f]{16}$/), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  }),
  origin: anyOrigin,
  folder: anyText,
  outside: fc.array(anyText, { maxLength: 3 }),
  replaces: name,
  isForPerson: fc.constant(true),
  rung: fc.integer({ min: 1, max: 9 }),
  deadline: anyTimestamp,
  traceparent: fc
    .stringMatching(/^00-[0-9a-f]{31}1-[0-9a-f]{15}1-[0-9a-f]{2}$/)
    .map((text) => text as Traceparent),
  forAny: fc.array(anyAddressee, { maxLength: 3 }),
  terms: objects(
    {},
    {
      quorum: fc.integer({ min: 1, max: 9 }),
      countsRefusals: fc.constant(true as const),
      notBy: objects({}, { name: anyText }),
      isSigned: fc.constant(true as const),
    },
  ),
};

const anyGrant: fc.Arbitrary<RecordedGrant> = fc.oneof(
  objects({
    rule: anyObject,
    until: fc.oneof(fc.constantFrom("turn" as const, "always" as const), anyTimestamp),
  }),
  objects({ unknown: fc.constantFrom<Json>("all", 7, [], { rule: {}, until: "tomorrow" }) }),
);

const anySignature: fc.Arbitrary<RecordedSignature> = fc.oneof(
  objects({ type: fc.constant("ed25519" as const), key: name, nonce: name, sig: name }),
  objects({
    type: fc.constant("webauthn" as const),
    key: name,
    nonce: name,
    sig: name,
    authenticatorData: name,
    clientData: name,
  }),
  objects({ unknown: fc.constantFrom<Json>("all", 7, [], { type: "ed448", key: "k" }) }),
);

/** The policy says why it denies something. */
const anyDecided = fc
  .tuple(
    objects(
      { decision: fc.constantFrom("approved", "denied", "edited"), decidedBy: anyDecider },
      { reason: anyText },
    ),
    fc.boolean(),
    objects({ cause: fc.constantFrom(...CAUSES) }, { problem: anyText }),
  )
  .map(([decided, isCaused, caused]) => {
    const { decision, decidedBy } = decided;
    const isByPolicy = decision === "denied" && decidedBy.kind === "policy";
    return isCaused || isByPolicy ? { ...decided, ...caused } : decided;
  });

const anyUndone = fc.array(
  objects({ path: anyText, change: fc.constantFrom("restored", "removed") }),
  { maxLength: 2 },
);

const anyFiles = fc.array(
  objects(
    {
      mediaType: fc.constantFrom("image/png", "application/pdf"),
      // `fc.webUrl()` would build tables for a second in every program that imports this file.
      data: fc.oneof(
        fc.base64String(),
        fc.stringMatching(/^https:\/\/[a-z]{1,8}\.example\/[a-z]{0,6}$/),
      ),
    },
    { filename: anyText },
  ),
  { minLength: 1, maxLength: 2 },
);

/** Any event of any kind that the record can hold. */
export const anyEvent: fc.Arbitrary<ConversationEvent> = fc.oneof(
  eventOf("turn_start", objects({})),
  eventOf(
    "chat_request",
    objects(
      { content: anyText },
      {
        schema: anyObject,
        author: anyText,
        startedBy: anyText,
        files: anyFiles,
        isChecked: fc.constant(true),
        correction: anyText,
        replacesTurn: fc.constant(true),
        undone: anyUndone,
        isSteering: fc.constant(true),
      },
    ),
  ),
  eventOf("chat_response", objects({ content: anyChatContent })),
  eventOf("tool_call_request", objects({ id: name, name: anyText, arguments: anyObject })),
  eventOf(
    "tool_call_response",
    objects(
      { id: name, content: anyText, isError: fc.boolean() },
      { added: objects({ before: fc.nat(), after: fc.nat() }), isJson: fc.constant(true) },
    ),
  ),
  eventOf(
    "inquiry_request",
    objects(
      { id: name, source: anySource, question: anyQuestion },
      {
        toolCallId: anyText,
        questionId: anyText,
        state: anyText,
        isBound: fc.constant(true),
        ...anySubject,
      },
    ),
  ),
  eventOf(
    "inquiry_escalation",
    fc
      .tuple(objects({ id: name }, { deadline: anyTimestamp }), anyOutcome)
      .map(([fields, outcome]) => ({ ...fields, ...outcome })),
  ),
  eventOf(
    "inquiry_response",
    fc
      .tuple(
        objects({ id: name }, { digest: anyDigest, grant: anyGrant, signature: anySignature }),
        anyOutcome,
      )
      .map(([fields, outcome]) => ({ ...fields, ...outcome })),
  ),
  eventOf(
    "permission_request",
    objects(
      { id: name, toolCallId: name, tool: anyText, action: anyAction },
      { arguments: anyObject, result: anyResult, check: anyText, ...anySubject },
    ),
  ),
  eventOf(
    "permission_decision",
    fc
      .tuple(
        objects(
          { toolCallId: name, tool: anyText, action: anyAction },
          {
            id: name,
            arguments: anyObject,
            result: anyResult,
            check: anyText,
            digest: anyDigest,
            grant: anyGrant,
            signature: anySignature,
          },
        ),
        anyDecided,
      )
      .map(([about, decided]) => ({ ...about, ...decided })),
  ),
  eventOf(
    "decision_vote",
    objects(
      { id: name, by: anyDecider },
      {
        toolCallId: name,
        decision: fc.constantFrom("approved" as const, "denied" as const, "edited" as const),
        result: anyResult,
        answer: anyJson,
        note: anyText,
        digest: anyDigest,
        signature: anySignature,
      },
    ),
  ),
  eventOf("decision_void", objects({ id: name, changed: fc.array(name, { maxLength: 3 }) })),
  eventOf(
    "attempt_start",
    objects({ toolCallId: name }, { isIdempotent: fc.constant(true), forAny: anySubject.forAny }),
  ),
  eventOf(
    "tool_step",
    objects(
      { toolCallId: name, name: anyText },
      { callIndex: fc.integer({ min: 1, max: 9 }), result: anyJson, failure: name },
    ),
  ),
  eventOf("reply_failure", objects({ code: name })),
  eventOf("turn_resume", objects({})),
  eventOf(
    "turn_end",
    objects(
      { reason: fc.constantFrom("done", "stopped", "discarded") },
      { cause: fc.constantFrom("length", "refused", "invalid_data"), problem: anyText },
    ),
  ),
  eventOf(
    "token_usage",
    objects(
      { model: name, purpose: name, usage: objects({}, { input: fc.integer({ min: 1 }) }) },
      { requests: fc.integer({ min: 2, max: 9 }) },
    ),
  ),
  eventOf(
    "reply_sources",
    objects({
      sources: fc.array(
        objects({}, { url: anyText, title: anyText, filename: anyText, mediaType: name }),
      ),
    }),
  ),
  eventOf(
    "reply_file",
    objects({
      mediaType: fc.constantFrom("image/png", "application/x.of-another+type"),
      digest: fc.string({
        unit: fc.constantFrom("0", "7", "a", "f"),
        minLength: 64,
        maxLength: 64,
      }),
      size: fc.nat(),
    }),
  ),
  eventOf(
    "turn_undo",
    objects(
      { turn: fc.constant(at(0)), files: anyUndone },
      { hidesTurn: fc.constant(true), isForced: fc.constant(true) },
    ),
  ),
);

/**
 * Streams that lack much of what a complete one has: few ids, so that they collide, responses
 * without requests, empty turns, and entries that are no event. Every event has its own moment.
 */
export const anyDamagedStream: fc.Arbitrary<ConversationStream> = fc
  .array(
    fc.tuple(
      fc.constantFrom<((id: string) => ConversationEvent) | JsonObject>(
        turnStart,
        chatRequest,
        message,
        (id) => toolCall(id),
        (id) => toolCall(id),
        (id) => toolResult(id),
        (id) => inquiry(id),
        (id) => inquiry(id),
        (id) => answered(id),
        permission,
        permissionRequest,
        (id) => decisionVoid(id, "arguments"),
        attemptStart,
        (id) => toolStep(id, "pay"),
        () => turnEnd(),
        { type: "config_delta", delta: {} },
        { type: "from_the_future" },
      ),
      fc.constantFrom("a", "b"),
    ),
    { maxLength: 24 },
  )
  .map((items) =>
    streamOf(
      ...items.map(([item, id], index) =>
        typeof item === "function"
          ? { ...item(id), timestamp: at(index) }
          : StreamEntry.fromJson(item),
      ),
    ),
  );

/**
 * Records of several turns, most of which start with a request: with calls whose ids occur again, turns that replace the one
 * before, compactions of any turns, and entries that cannot be read.
 */
export const anyLongRecord: fc.Arbitrary<readonly StreamEntry[]> = fc
  .array(
    fc.array(
      fc.tuple(
        fc.constantFrom<((id: string) => ConversationEvent) | JsonObject>(
          chatRequest,
          (id) => chatRequest(id, { type: "object" }),
          message,
          message,
          reasoning,
          (id) => toolCall(id),
          (id) => toolCall(id),
          (id) => toolResult(id),
          (id) => toolResult(id),
          (id) => inquiry(id),
          () => tokenUsage({ input: 1 }),
          () => turnEnd(),
          { type: "config_delta", delta: {} },
          { type: "chat_request", content: 1 },
        ),
        fc.constantFrom("a", "b", "an id that no API takes"),
      ),
      { maxLength: 6 },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .chain((turns) =>
    fc.tuple(fc.constant(turns), fc.array(anyTurnChange, { maxLength: 6 })).map(joinTurns),
  );

/** What a turn starts with, and a compaction or an undone turn at its end. */
interface TurnChange {
  /** The position of the turn that is undone with its message. */
  readonly undone: number | undefined;
  readonly start: "request" | "replacement" | "none";
  readonly compacted: Omit<Compaction, "timestamp"> | undefined;
}

const anyTurnChange: fc.Arbitrary<TurnChange> = fc.record({
  undone: fc.option(fc.nat(5), { nil: undefined, freq: 1 }),
  start: fc.constantFrom("request", "request", "request", "replacement", "none"),
  compacted: fc.option(
    fc.oneof(
      objects({ fromTurn: fc.nat(2), toTurn: fc.nat(8), summary: fc.constant("summary") }),
      objects({ fromTurn: fc.nat(2), toTurn: fc.nat(8), reasoning: fc.constant("strip" as const) }),
    ),
    { nil: undefined, freq: 3 },
  ),
});

function joinTurns([turns, changes]: readonly [
  readonly (readonly (readonly [((id: string) => ConversationEvent) | JsonObject, string])[])[],
  readonly TurnChange[],
]): readonly StreamEntry[] {
  const entries = turns.flatMap((items, index) => {
    const { start = "request", compacted, undone } = changes[index] ?? {};
    const request = chatRequest(`request ${index}`);
    const opening = { ...request, ...(start === "replacement" && { replacesTurn: true }) };
    return entriesOf(
      { ...turnStart(), timestamp: at(index) },
      ...(start === "none" ? [] : [opening]),
      ...items.map(([item, id]) =>
        typeof item === "function" ? item(id) : StreamEntry.fromJson(item),
      ),
      ...(compacted === undefined
        ? []
        : [StreamEntry.fromCompaction({ timestamp: at(index), ...compacted })]),
      ...(undone === undefined ? [] : [turnUndo(undone)]),
    );
  });
  return entries;
}

function eventOf(
  type: ConversationEvent["type"],
  own: fc.Arbitrary<object>,
): fc.Arbitrary<ConversationEvent> {
  const extra = fc.dictionary(
    name.map((key) => `x_${key}`),
    anyJson,
    { minKeys: 1, maxKeys: 2, noNullPrototype: true },
  );
  const metadata = anyObject.filter((value) => Object.keys(value).length > 0);
  const common = objects({ type: fc.constant(type), timestamp: anyTimestamp }, { metadata, extra });
  return fc
    .tuple(common, own)
    .map(([shared, rest]) => ({ ...shared, ...rest }) as ConversationEvent);
}

/** Objects that have all of the first fields and any of the others. */
function objects<Required extends object, Optional extends object = object>(
  required: { readonly [Key in keyof Required]: fc.Arbitrary<Required[Key]> },
  optional = {} as { readonly [Key in keyof Optional]: fc.Arbitrary<Optional[Key]> },
): fc.Arbitrary<Required & Partial<Optional>> {
  return fc
    .tuple(fc.record(required), fc.record(optional, { requiredKeys: [] }))
    .map(([always, sometimes]) => ({ ...always, ...sometimes }) as Required & Partial<Optional>);
}
