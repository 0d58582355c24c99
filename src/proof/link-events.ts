/**
 * Converts links back to the judge's events. A link has no texts: its `choice` stands for an answer or a result, which
 * is enough to compare two.
 */
import {
  ACTIONS,
  type AnswerEvent,
  type CallDecisionKind,
  type Decider,
  type DecisionVote,
  findTimestamp,
  foldName,
  type ForWhom,
  type InquiryId,
  isForKnown,
  isSameName,
  type JudgedDecision,
  type KnownPeople,
  type KnownPerson,
  parseDecider,
  parseSubject,
  type PermissionAction,
  type PermissionDecision,
  type RecordedSignature,
  type UserDecider,
} from "../record/conversation/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import { ShapeError, shapeOf } from "../util/index.ts";
import type { LinkedEvent, LinkedRequest } from "./linked-decisions.ts";
import { findObject, findText } from "./statement.ts";

/** The request in the judge's format. */
export interface LinkedDecision extends JudgedDecision {
  readonly action?: PermissionAction | undefined;
  /** `boolean`, `select` and so on. Undefined for a call, and in version 1 links. */
  readonly answerType?: string | undefined;
  readonly allowsNote: boolean;
}

/** Undefined if its link was not made by jp. */
export function findDecision({ json, version }: LinkedRequest): LinkedDecision | undefined {
  const action = findAction(json);
  if (json["action"] !== undefined && action === undefined) return undefined;
  try {
    const { subject: _subject, takes, deadline, ...asked } = parseSubject(shapeOf(json));
    return {
      ...asked,
      kind: action === undefined ? "question" : kindOf(action),
      id: (findText(json, "id") ?? "") as InquiryId, // Branded on reading.
      askedAt: findTimestamp(json["at"]),
      digest: findText(json, "shown"),
      // Version 1 links do not record these.
      takes: version === 1 ? { turn: { code: "calls" }, note: "any" } : takes,
      deadline: version === 1 ? undefined : deadline,
      action,
      answerType: findText(json, "answer_type"),
      allowsNote: json["allows_note"] === true,
    };
  } catch (error) {
    if (error instanceof ShapeError) return undefined;
    throw error;
  }
}

const KINDS = Object.entries(ACTIONS) as readonly (readonly [CallDecisionKind, PermissionAction])[];

function findAction({ action }: JsonObject): PermissionAction | undefined {
  return KINDS.find(([, each]) => each === action)?.[1];
}

function kindOf(action: PermissionAction): CallDecisionKind {
  return KINDS.find(([, each]) => each === action)?.[0] ?? "permission";
}

/** The decider. In version 1, `auth` is a guess or was replaced by the kind of signature, unless the owner stood in. */
export function byOf({ json, version }: LinkedEvent): Decider | undefined {
  const by = findObject(json, "by");
  if (by === undefined) return undefined;
  const decider = parseDecider({ ...by, channel: by["surface"] ?? "" });
  if (decider.kind !== "user" || version > 1) return decider;
  return { ...decider, auth: decider.auth === "owner" ? "owner" : "token" };
}

/** Information that a link does not contain itself. */
export interface Reading {
  readonly by: UserDecider;
  readonly signature?: RecordedSignature | undefined;
  /** Undefined to use `choice`. */
  readonly answer?: Json | undefined;
}

type SaidBase = Pick<DecisionVote, "timestamp" | "id" | "digest" | "signature">;

function baseOf(
  { json }: LinkedEvent,
  { id }: LinkedDecision,
  { signature }: Reading,
): SaidBase | undefined {
  const timestamp = findTimestamp(json["at"]);
  const digest = findText(json, "decided");
  if (timestamp === undefined) return undefined;
  return {
    timestamp,
    id,
    ...(digest !== undefined && { digest }),
    ...(signature !== undefined && { signature }),
  };
}

/** Undefined if its link was not made by jp. */
export function toAnswer(
  said: LinkedEvent,
  decision: LinkedDecision,
  reading: Reading,
): AnswerEvent | undefined {
  const base = baseOf(said, decision, reading);
  const { by } = reading;
  const { decision: outcome, note, grant, tool } = said.json;
  if (base === undefined) return undefined;
  const granted = grant === true ? { grant: { unknown: true } } : {};
  const { action } = decision;
  if (action !== undefined) {
    if (!isDecision(outcome)) return undefined;
    return {
      type: "permission_decision",
      ...base,
      ...granted,
      toolCallId: findText(said.json, "call") ?? "",
      tool: typeof tool === "string" ? tool : "",
      action,
      decision: outcome,
      decidedBy: by,
      ...resultOf(said),
      ...(note === true && { reason: "" }),
    };
  }
  const inquiry = { type: "inquiry_response", ...base, ...granted, answeredBy: by } as const;
  if (outcome === "redacted") return { ...inquiry, outcome };
  if (outcome !== "answered") return undefined;
  const answer = reading.answer ?? choiceOf(said);
  return { ...inquiry, outcome, answer, ...(note === true && { note: "" }) };
}

/** Undefined if its link was not made by jp. */
export function toVote(
  said: LinkedEvent,
  decision: LinkedDecision,
  reading: Reading,
): DecisionVote | undefined {
  const event = toAnswer(said, decision, reading);
  const common = baseOf(said, decision, reading);
  if (event === undefined || common === undefined) return undefined;
  const base = { type: "decision_vote", ...common, by: reading.by } as const;
  if (event.type === "inquiry_response") {
    return event.outcome === "answered" ? { ...base, answer: event.answer } : base;
  }
  return { ...base, decision: event.decision, ...resultOf(said) };
}

const DECISIONS = ["approved", "denied", "edited"] as const satisfies readonly string[];

function isDecision(text: Json | undefined): text is PermissionDecision["decision"] {
  return DECISIONS.some((each) => each === text);
}

function resultOf(said: LinkedEvent): Pick<DecisionVote, "result"> {
  if (said.json["result"] !== true) return {};
  return { result: { content: choiceOf(said), isError: false } };
}

/** A missing choice differs from all others. */
export function choiceOf({ json, seq }: LinkedEvent): string {
  return findText(json, "choice") ?? `${seq}`;
}

/**
 * Version 1 links record neither the choice nor whether there is a result, so assume they agree with the judged answer.
 */
export function agreeing(
  link: LinkedEvent,
  { json: said }: LinkedEvent,
  { action = "run" }: LinkedDecision,
): LinkedEvent {
  if (link.version > 1) return link;
  const hasResult = action !== "run" && link.json["decision"] === "edited";
  const choice = findText(said, "choice") ?? "";
  return { ...link, json: { ...link.json, choice, ...(hasResult && { result: true }) } };
}

/**
 * The people as known from their answers, latest first: of two with the same name, only the later was known at the end.
 */
export function peopleIn(whom: ForWhom, deciders: readonly Decider[]): KnownPeople {
  const [first] = deciders;
  if (first?.kind === "user" && first.auth === "owner") return { list: [], ownerAlone: true };
  const people = new Map<string, KnownPerson>();
  for (const by of deciders) {
    if (by.kind !== "user" || !isKnown(whom, by)) continue;
    const { personId, name = personId ?? "" } = by;
    const id = personId ?? foldName(name);
    const namesake = [...people].find(([, each]) => isSameName(each.name, name));
    if (namesake !== undefined && namesake[0] !== id) continue;
    const before = people.get(id) ?? { ...(personId !== undefined && { id }), name, roles: [] };
    people.set(id, withSeat(before, by, whom));
  }
  return { list: [...people.values()], ownerAlone: false };
}

/** Whether more than a name identifies the person. While no people are known, anyone with the name may decide. */
function isKnown(whom: ForWhom, { auth, personId, name }: UserDecider): boolean {
  if (auth === undefined || auth === "owner" || auth === "client") return false;
  return personId !== undefined || (isForKnown(whom) && name !== undefined);
}

/** Adds the role in which the person decided, either their own or that of the person they stand in for. */
function withSeat(
  person: KnownPerson,
  { role, onBehalfOf }: UserDecider,
  { personIds = {} }: ForWhom,
): KnownPerson {
  const roles = role === undefined ? [] : [role];
  if (onBehalfOf === undefined) return { ...person, roles: [...person.roles, ...roles] };
  const { standsInFor = [] } = person;
  const [, id] = Object.entries(personIds).find(([name]) => isSameName(name, onBehalfOf)) ?? [];
  const others = standsInFor.filter(({ name }) => !isSameName(name, onBehalfOf));
  const before = standsInFor.find(({ name }) => isSameName(name, onBehalfOf))?.roles ?? [];
  const absent = { id, name: onBehalfOf, roles: [...before, ...roles] };
  return { ...person, standsInFor: [...others, absent] };
}
