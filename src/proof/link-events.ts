/**
 * Reads links back as the events that the judge takes. A link has no texts: its `choice` stands in for an answer or a result,
 * which is enough to tell whether two said the same.
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

/** What was asked, as the judge takes it. */
export interface LinkedDecision extends JudgedDecision {
  readonly action?: PermissionAction | undefined;
  /** `boolean`, `select` and so on. Undefined for a call, and in links of version 1. */
  readonly answerType?: string | undefined;
  readonly allowsNote: boolean;
}

/** Undefined if its link is not one that jp makes. */
export function findDecision({ json, version }: LinkedRequest): LinkedDecision | undefined {
  const action = findAction(json);
  if (json["action"] !== undefined && action === undefined) return undefined;
  try {
    const { subject: _subject, takes, deadline, ...asked } = parseSubject(shapeOf(json));
    return {
      ...asked,
      kind: action === undefined ? "question" : kindOf(action),
      id: (findText(json, "id") ?? "") as InquiryId, // Branded where it is read.
      askedAt: findTimestamp(json["at"]),
      digest: findText(json, "shown"),
      // Links of version 1 do not say it.
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

/** Who decided. Of version 1, how jp knew is a guess or has given way to the kind of signature, unless the owner stood in. */
export function byOf({ json, version }: LinkedEvent): Decider | undefined {
  const by = findObject(json, "by");
  if (by === undefined) return undefined;
  const decider = parseDecider({ ...by, channel: by["surface"] ?? "" });
  if (decider.kind !== "user" || version > 1) return decider;
  return { ...decider, auth: decider.auth === "owner" ? "owner" : "token" };
}

/** What a link does not say by itself. */
export interface Reading {
  readonly by: UserDecider;
  readonly signature?: RecordedSignature | undefined;
  /** Undefined for what `choice` says. */
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

/** Undefined if its link is not one that jp makes. */
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

/** Undefined if its link is not one that jp makes. */
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

/** One that should say it and does not is like no other. */
export function choiceOf({ json, seq }: LinkedEvent): string {
  return findText(json, "choice") ?? `${seq}`;
}

/** Links of version 1 say neither what was chosen nor that there is a result: as if they agreed with the answer that is judged. */
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

/** As much of the people as their answers say, the latest first: of two with one name, only the later was known at the end. */
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

/** Whether something other than the name says who it was. A bare name is for whoever has it, while no people are known. */
function isKnown(whom: ForWhom, { auth, personId, name }: UserDecider): boolean {
  if (auth === undefined || auth === "owner" || auth === "client") return false;
  return personId !== undefined || (isForKnown(whom) && name !== undefined);
}

/** The person, with the role in which they have decided, or in which whoever they stand in for would have. */
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
