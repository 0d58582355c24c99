/**
 * Inquiries to and from the JSON of the record (RFD 005, 082, 083). Reads every older form, writes
 * the newest. When the Rust original saves a conversation, it keeps only the fields it knows and all
 * `metadata`, so fields that must survive are mirrored there.
 */
import {
  type Addressee,
  type AnswerType,
  type Confinement,
  type InquiryQuestion,
  type InquirySource,
  optionToJson,
  parseInquiryQuestion,
  reusePolicyToJson,
  selectToJson,
  type UndoForecast,
} from "../tool/index.ts";
import {
  arrayField,
  assertNever,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  objectField,
  oneOf,
  optionalString,
  type Shape,
  ShapeError,
  stringField,
} from "../../util/index.ts";
import type {
  AnsweredOutcome,
  CancellationReason,
  Decider,
  DecidingRule,
  DecisionSignature,
  DecisionSubject,
  Grant,
  InquiryEscalation,
  InquiryId,
  InquiryOutcome,
  InquiryRequest,
  InquiryResponse,
  KnownCancellationReason,
  RecordedGrant,
  RecordedSignature,
  Takes,
  TurnCover,
} from "./event.ts";
import { findTimestamp, parseTimestamp, type Timestamp } from "./timestamp.ts";
import { findTraceparent } from "./traceparent.ts";
import { parseTerms, whomToJson } from "./whom.ts";

const KNOWN_REASONS = {
  user: true,
  backend_error: true,
  no_prompt_backend: true,
  assistant_routing_denied: true,
  invalid_static_answer: true,
  interrupted: true,
  attempts_exhausted: true,
  timed_out: true,
  subject_unstable: true,
  declined_by_client: true,
} as const satisfies Record<KnownCancellationReason, true>;

/** Where the reason was lost, the record must not claim that the user cancelled. */
const UNRECORDED_REASON = "unrecorded";

/** The reason as text, on disk and on screen. */
export function cancellationTag(reason: CancellationReason): string {
  return typeof reason === "string" ? reason : reason.unknown;
}

export function parseInquiryRequest(shape: Shape): Omit<InquiryRequest, "timestamp"> {
  const toolCallId = optionalString(shape, "tool_call_id");
  const questionId = optionalString(shape, "question_id");
  const state = optionalString(shape, "state");
  return {
    type: "inquiry_request",
    id: stringField(shape, "id") as InquiryId, // Branded where it is read.
    source: parseSource(objectField(shape, "source")),
    question: parseInquiryQuestion(objectField(shape, "question")),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(questionId !== undefined && { questionId }),
    ...(state !== undefined && { state }),
    ...(shape.value["bound"] === true && { isBound: true }),
    ...parseSubject(shape),
  };
}

export function inquiryRequestToJson(event: InquiryRequest): JsonObject {
  const { binding } = event.question;
  return {
    id: event.id,
    source: { ...event.source },
    question: {
      ...inquiryQuestionToJson(event.question),
      ...(binding !== undefined && { binding }),
    },
    ...callToJson(event),
    ...subjectToJson(event),
  };
}

/** After a save by the original, a digest has neither version nor parts: then it can only be equal or not. */
export function parseSubject(shape: Shape): DecisionSubject {
  const { value } = shape;
  const digest = optionalString(shape, "digest");
  const folder = optionalString(shape, "folder");
  const replaces = optionalString(shape, "replaces");
  const { subject_version: version, subject_parts: parts, origin, outside } = value;
  const subject = digest !== undefined && {
    digest,
    version: typeof version === "number" ? version : 0,
    parts: isJsonObject(parts) ? toTexts(parts) : {},
  };
  return {
    ...(subject !== false && { subject }),
    ...(isJsonObject(origin) && parseOrigin(origin)),
    ...(folder !== undefined && { folder }),
    ...(isJsonArray(outside) && { outside: outside.filter((file) => typeof file === "string") }),
    ...(replaces !== undefined && { replaces: replaces as InquiryId }), // Branded where it is read.
    ...(value["person"] === true && { isForPerson: true }),
    ...parseWhom(shape),
    ...parseTakes(value["takes"]),
    ...parseRung(value["rung"]),
    ...parseDeadline(shape),
    ...parseTrace(value["traceparent"]),
  };
}

/** Anything else than a valid one is left out: records come from elsewhere too. */
function parseTrace(value: Json | undefined): Pick<DecisionSubject, "traceparent"> {
  const traceparent = findTraceparent(value);
  return traceparent === undefined ? {} : { traceparent };
}

function traceToJson({ traceparent }: DecisionSubject): JsonObject {
  return traceparent === undefined ? {} : { traceparent };
}

function parseRung(rung: Json | undefined): Pick<DecisionSubject, "rung"> {
  const isPlace = typeof rung === "number" && Number.isSafeInteger(rung) && rung > 0;
  return isPlace ? { rung } : {};
}

function rungToJson({ rung = 0, deadline }: DecisionSubject): JsonObject {
  return { ...(rung > 0 && { rung }), ...(deadline !== undefined && { deadline }) };
}

/** Whom this version does not know is left out: then fewer may decide, or no one. */
export function parseWhom(
  shape: Shape,
): Pick<DecisionSubject, "for" | "forAny" | "terms" | "personIds"> {
  const { terms, person_ids: ids } = shape.value;
  return {
    ...parsePeople(shape),
    ...(terms != null && { terms: parseTerms(terms) }),
    ...(isJsonObject(ids) && { personIds: toTexts(ids) }),
  };
}

/** What this version does not know is not offered. */
function parseTakes(takes: Json | undefined): Pick<DecisionSubject, "takes"> {
  if (!isJsonObject(takes)) return {};
  const { turn, note } = takes;
  return { takes: { ...parseTurnCover(turn), ...(note === "any" && { note }) } };
}

function parseTurnCover(turn: Json | undefined): Pick<Takes, "turn"> {
  if (!isJsonObject(turn)) return {};
  const { code, label } = turn;
  const known = TURN_COVERS.find((each) => each === code);
  if (known === undefined) return {};
  return { turn: { code: known, ...(typeof label === "string" && { label }) } };
}

const TURN_COVERS = ["calls", "label", "question"] as const satisfies readonly TurnCover["code"][];

function takesToJson({ takes }: DecisionSubject): JsonObject {
  if (takes === undefined) return {};
  const { turn, note } = takes;
  return {
    takes: {
      ...(turn !== undefined && { turn: { ...turn } }),
      ...(note !== undefined && { note }),
    },
  };
}

function parsePeople(shape: Shape): Pick<DecisionSubject, "for" | "forAny"> {
  const person = optionalString(shape, "for");
  if (person !== undefined) return { for: person };
  if (shape.value["for_any"] == null) return {};
  const forAny = arrayField(shape, "for_any").flatMap((each): readonly Addressee[] => {
    if (!isJsonObject(each)) return [];
    const { user, role } = each;
    if (typeof user === "string") return role === undefined ? [{ user }] : [];
    return typeof role === "string" ? [{ role }] : [];
  });
  return { forAny };
}

function toTexts(object: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(object).flatMap(([key, value]) =>
      typeof value === "string" ? [[key, value] as const] : [],
    ),
  );
}

/** A kind of a newer version is left out: it could not be shown. */
function parseOrigin(raw: JsonObject): Pick<DecisionSubject, "origin"> {
  const { type, command, server, tool } = raw;
  if (type === "builtin") return { origin: { type, ...parseConfinement(raw) } };
  if (type === "program") return { origin: { type } };
  if (typeof command !== "string") return {};
  if (type === "local") return { origin: { type, command } };
  return type === "mcp" && typeof server === "string" && typeof tool === "string"
    ? { origin: { type, server, tool, command } }
    : {};
}

export const UNDO_FORECASTS = [
  "git",
  "not_git",
  "git_failed",
  "too_large",
  "off",
] as const satisfies readonly UndoForecast[];

/** An unknown kind counts as none. */
function parseConfinement(raw: JsonObject): Confinement {
  const { confinement, network, git, workspace, undo: kept } = raw;
  if (typeof confinement !== "string") return {};
  const undo = UNDO_FORECASTS.find((forecast) => forecast === kept);
  const more = undo !== undefined && { undo };
  if (confinement !== "sandbox") return { confinement: "none", ...more };
  const opened = { ...(network === true && { network }), ...(git === true && { git }) };
  return { confinement, ...opened, ...(workspace === "read_only" && { workspace }), ...more };
}

export function subjectToJson(event: DecisionSubject): JsonObject {
  const { subject, origin, folder, outside, replaces, isForPerson } = event;
  return {
    ...rungToJson(event),
    ...whomToJson(event),
    ...takesToJson(event),
    ...(replaces !== undefined && { replaces }),
    ...(isForPerson === true && { person: true }),
    ...(origin !== undefined && { origin: { ...origin } }),
    ...(folder !== undefined && { folder }),
    ...(outside !== undefined && { outside }),
    ...(subject !== undefined && {
      digest: subject.digest,
      subject_version: subject.version,
      subject_parts: subject.parts,
    }),
    ...traceToJson(event),
  };
}

function callToJson(event: InquiryRequest): JsonObject {
  const { toolCallId, questionId, state, isBound } = event;
  return {
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(questionId !== undefined && { question_id: questionId }),
    ...(state !== undefined && { state }),
    ...(isBound === true && { bound: true }),
  };
}

function parseDeadline({ value }: Shape): { readonly deadline?: Timestamp } {
  const { deadline } = value;
  return deadline == null ? {} : { deadline: parseTimestamp(deadline, "deadline") };
}

export function parseInquiryEscalation(shape: Shape): Omit<InquiryEscalation, "timestamp"> {
  return {
    type: "inquiry_escalation",
    id: stringField(shape, "id") as InquiryId, // Branded where it is read.
    ...parseDeadline(shape),
    ...parseOutcome(shape),
  };
}

export function inquiryEscalationToJson(event: InquiryEscalation): JsonObject {
  const { deadline } = event;
  return {
    ...outcomeToJson(event),
    ...(deadline !== undefined && { deadline }),
  };
}

export function parseInquiryResponse(shape: Shape): Omit<InquiryResponse, "timestamp"> {
  return {
    type: "inquiry_response",
    id: stringField(shape, "id") as InquiryId, // Branded where it is read.
    ...parseDigest(shape),
    ...parseRedirects(shape),
    ...parseGrant(shape),
    ...parseSignature(shape),
    ...parseOutcome(shape),
  };
}

/** Whether the words of a no are also the next message. */
export function parseRedirects({ value }: Shape): { readonly redirects?: boolean } {
  return value["redirects"] === true ? { redirects: true } : {};
}

export function redirectsToJson({ redirects }: { readonly redirects?: boolean }): JsonObject {
  return redirects === true ? { redirects } : {};
}

/** Whatever is not exactly known is kept as it is: it may narrow what was granted. */
export function parseGrant({ value }: Shape): { readonly grant?: RecordedGrant } {
  const { grant } = value;
  if (grant === undefined) return {};
  return { grant: findGrant(grant) ?? { unknown: grant } };
}

function findGrant(raw: Json): Grant | undefined {
  if (!isJsonObject(raw)) return undefined;
  const { rule, until, ...others } = raw;
  if (!isJsonObject(rule) || Object.keys(others).length > 0) return undefined;
  if (until === "turn" || until === "always") return { rule, until };
  const time = findTimestamp(until);
  return time === undefined ? undefined : { rule, until: time };
}

export function grantToJson({ grant }: { readonly grant?: RecordedGrant }): JsonObject {
  if (grant === undefined) return {};
  return { grant: "unknown" in grant ? grant.unknown : { rule: grant.rule, until: grant.until } };
}

/** Whatever is not exactly known is kept as it is. */
export function parseSignature({ value }: Shape): { readonly signature?: RecordedSignature } {
  const { signature } = value;
  if (signature === undefined) return {};
  return { signature: findSignature(signature) ?? { unknown: signature } };
}

/** Undefined if it is not exactly one that this version knows. */
export function findSignature(raw: Json): DecisionSignature | undefined {
  if (!isJsonObject(raw)) return undefined;
  const { type, key, nonce, sig, authenticator_data, client_data, ...others } = raw;
  if (typeof key !== "string" || typeof nonce !== "string" || typeof sig !== "string") {
    return undefined;
  }
  if (Object.keys(others).length > 0) return undefined;
  const signed = { key, nonce, sig };
  if (type === "webauthn") {
    return typeof authenticator_data === "string" && typeof client_data === "string"
      ? { type, ...signed, authenticatorData: authenticator_data, clientData: client_data }
      : undefined;
  }
  const isPlain = authenticator_data === undefined && client_data === undefined;
  return type === "ed25519" && isPlain ? { type, ...signed } : undefined;
}

export function signatureToJson({
  signature,
}: {
  readonly signature?: RecordedSignature;
}): JsonObject {
  if (signature === undefined) return {};
  if ("unknown" in signature) return { signature: signature.unknown };
  const { type, key, nonce, sig } = signature;
  const signed = { type, key, nonce, sig };
  if (signature.type === "ed25519") return { signature: signed };
  const { authenticatorData, clientData } = signature;
  return {
    signature: { ...signed, authenticator_data: authenticatorData, client_data: clientData },
  };
}

/** The digest of what was decided. */
export function parseDigest(shape: Shape): { readonly digest?: string } {
  const digest = optionalString(shape, "digest");
  return digest === undefined ? {} : { digest };
}

/** The original requires an `answer`; null where there is none, and `outcome` says why. */
export function inquiryResponseToJson(event: InquiryResponse): JsonObject {
  const { digest } = event;
  return {
    ...outcomeToJson(event),
    ...redirectsToJson(event),
    ...grantToJson(event),
    ...signatureToJson(event),
    ...(digest !== undefined && { digest }),
  };
}

function outcomeToJson(event: { readonly id: InquiryId } & InquiryOutcome): JsonObject {
  const { id, outcome } = event;
  const answer = outcome === "answered" ? event.answer : null;
  return { outcome, id, answer, ...outcomeDetails(event) };
}

/** The fields of a request that the original would drop. `context` may be long and is not mirrored. */
export function inquiryRequestMirror(event: InquiryRequest): JsonObject {
  const { answerType } = event.question;
  const select = answerType.type === "select" ? selectToJson(answerType) : {};
  const question = {
    ...reusePolicyToJson(event.question),
    ...(Object.keys(select).length > 0 && { answer_type: select }),
  };
  const { subject, isForPerson } = event;
  return {
    ...callToJson(event),
    ...rungToJson(event),
    ...whomToJson(event),
    ...takesToJson(event),
    ...(Object.keys(question).length > 0 && { question }),
    ...(isForPerson === true && { person: true }),
    ...(subject !== undefined && { digest: subject.digest }),
    ...traceToJson(event),
  };
}

/** The fields of a response that the original would drop. A plain answer needs no outcome. */
export function inquiryResponseMirror(event: InquiryResponse): JsonObject {
  const { outcome } = event;
  const isPlain = outcome === "answered" && event.answer !== null;
  const { digest } = event;
  return {
    ...(!isPlain && { outcome }),
    ...outcomeDetails(event),
    ...redirectsToJson(event),
    ...grantToJson(event),
    ...signatureToJson(event),
    ...(digest !== undefined && { digest }),
  };
}

function outcomeDetails(event: InquiryOutcome): JsonObject {
  if (event.outcome === "cancelled") {
    const { reason, problem } = event;
    return { reason: cancellationTag(reason), ...(problem !== undefined && { problem }) };
  }
  return {
    ...(event.outcome === "answered" && answerDetails(event)),
    ...(event.answeredBy !== undefined && { answered_by: deciderToJson(event.answeredBy) }),
  };
}

function answerDetails({ isOther, note, answerReason }: AnsweredOutcome): JsonObject {
  return {
    ...(isOther === true && { other: true }),
    ...(note !== undefined && { note }),
    ...(answerReason !== undefined && { answer_reason: answerReason }),
  };
}

/**
 * Before RFD 082 a response was always an answer: `{id, answer}`. The original leaves null without an
 * outcome for a question that has no answer.
 */
function parseOutcome(shape: Shape): InquiryOutcome {
  const { value } = shape;
  if (value["outcome"] === undefined && value["answer"] === null) {
    return { outcome: "cancelled", reason: { unknown: UNRECORDED_REASON } };
  }
  const isFlat = value["outcome"] === undefined && value["answer"] !== undefined;
  const outcome = isFlat ? "answered" : parseOutcomeTag(shape);
  if (outcome === "cancelled") {
    const problem = optionalString(shape, "problem");
    return { outcome, reason: parseReason(shape), ...(problem !== undefined && { problem }) };
  }
  const answeredBy =
    value["answered_by"] == null
      ? {}
      : { answeredBy: parseDecider(objectField(shape, "answered_by").value) };
  // Drop the answer of a redacted response even if the file has one.
  if (outcome === "redacted") return { outcome, ...answeredBy };
  if (value["answer"] === undefined) {
    throw new ShapeError("answer", "an answered inquiry needs an answer");
  }
  const note = optionalString(shape, "note");
  const answerReason = optionalString(shape, "answer_reason");
  return {
    outcome,
    answer: value["answer"],
    ...(value["other"] === true && { isOther: true }),
    ...(note !== undefined && { note }),
    ...(answerReason !== undefined && { answerReason }),
    ...answeredBy,
  };
}

function parseOutcomeTag(shape: Shape) {
  if (shape.value["outcome"] === undefined) {
    throw new ShapeError("outcome", 'an inquiry_response needs "outcome" or "answer"');
  }
  return oneOf(shape, "outcome", ["answered", "cancelled", "redacted"]);
}

/** A missing reason means the user cancelled; programs always write theirs. */
function parseReason(shape: Shape): CancellationReason {
  const tag = optionalString(shape, "reason") ?? "user";
  return Object.hasOwn(KNOWN_REASONS, tag)
    ? (tag as KnownCancellationReason) // The table holds exactly the known ones.
    : { unknown: tag };
}

/** An unknown kind of source becomes `other`. */
function parseSource(shape: Shape): InquirySource {
  const source = stringField(shape, "source");
  if (source === "assistant" || source === "user") return { source };
  if (source === "tool" || source === "other") return { source, name: stringField(shape, "name") };
  return { source: "other", name: source };
}

/** The JSON form in the record. */
export function inquiryQuestionToJson(question: InquiryQuestion): JsonObject {
  return {
    text: question.text,
    answer_type: answerTypeToJson(question.answerType),
    ...(question.default !== undefined && { default: question.default }),
    ...(question.context !== undefined && { context: question.context }),
    ...reusePolicyToJson(question),
  };
}

/** Unlike tools, the record writes every option as an object. */
function answerTypeToJson(answerType: AnswerType): JsonObject {
  if (answerType.type !== "select") return { type: answerType.type };
  const options = answerType.options.map((option) => ({
    value: option.value,
    ...optionToJson(option),
  }));
  return { type: "select", options, ...selectToJson(answerType) };
}

/** `answered_by` and `decided_by`. Unknown kinds survive a round trip. */
export function parseDecider(raw: JsonObject): Decider {
  const { kind, channel, scope, name, person_id: id, auth, role, on_behalf_of: absent } = raw;
  const { model, key, from, entry } = raw;
  if (kind === "user" && typeof channel === "string") {
    return {
      kind,
      channel,
      ...(scope === "turn" && { scope }),
      ...(typeof name === "string" && { name }),
      ...(typeof id === "string" && { personId: id }),
      ...(typeof auth === "string" && { auth }),
      ...(typeof role === "string" && { role }),
      ...(typeof absent === "string" && { onBehalfOf: absent }),
    };
  }
  if (kind === "assistant" && typeof model === "string") return { kind, model };
  if (kind === "config" && typeof key === "string") return { kind, key };
  if (kind === "policy" && typeof key === "string") {
    const rules = parseRules(raw["rules"]);
    return rules === undefined ? { kind, key } : { kind, key, rules };
  }
  if (kind === "remembered" && typeof from === "string") return { kind, from };
  if (kind === "default" || kind === "tool") return { kind };
  if (kind === "answers_file" && typeof entry === "string") return { kind, entry };
  return { kind: "unknown", raw };
}

/** Undefined if there are none. */
function parseRules(raw: Json | undefined): readonly DecidingRule[] | undefined {
  if (!isJsonArray(raw)) return undefined;
  return raw.flatMap((entry) => {
    if (!isJsonObject(entry)) return [];
    const { from, key, file, rule } = entry;
    const isRule = typeof from === "string" && typeof key === "string" && isJsonObject(rule);
    return isRule ? [{ from, key, rule, ...(typeof file === "string" && { file }) }] : [];
  });
}

/** The JSON form in the record. */
export function deciderToJson(decider: Decider): JsonObject {
  if (decider.kind === "unknown") return decider.raw;
  if (decider.kind === "user") {
    const { kind, channel, scope, name, personId, auth, role, onBehalfOf } = decider;
    return {
      kind,
      channel,
      ...(scope !== undefined && { scope }),
      ...(name !== undefined && { name }),
      ...(personId !== undefined && { person_id: personId }),
      ...(auth !== undefined && { auth }),
      ...(role !== undefined && { role }),
      ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }),
    };
  }
  if (decider.kind !== "policy") return { ...decider };
  const { rules, ...others } = decider;
  return { ...others, ...(rules !== undefined && { rules: rules.map((rule) => ({ ...rule })) }) };
}

/** Who decided, and how: `user (terminal)`, `assistant (ollama/qwen3)`, `default`. */
export function describeDecider(decider: Decider): string {
  switch (decider.kind) {
    case "user":
      return describePerson(decider);
    case "assistant":
      return `assistant (${decider.model})`;
    case "config":
    case "policy":
      return `${decider.kind} (${decider.key})`;
    case "remembered":
      return `remembered (${decider.from})`;
    case "answers_file":
      return `answers file (${decider.entry})`;
    case "default":
      return "default";
    case "tool":
      return "the tool's own check";
    case "unknown":
      return typeof decider.raw["kind"] === "string" ? decider.raw["kind"] : "unknown";
    default:
      return assertNever(decider);
  }
}

function describePerson({
  name,
  role,
  onBehalfOf,
  channel,
}: Extract<Decider, { kind: "user" }>): string {
  const absent = onBehalfOf === undefined ? "" : ` for ${onBehalfOf}`;
  const as = absent + (role === undefined ? "" : `, role ${role}`);
  return `${["user", name].join(" ").trim()} (${channel}${as})`;
}
