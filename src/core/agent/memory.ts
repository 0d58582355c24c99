/** The memory of a turn. All of it can be rebuilt from the events of the turn, except pending answers. */
import {
  type AnswerEvent,
  type ConversationEvent,
  type ConversationId,
  type Decider,
  deciderOf,
  grantOf,
  type InquiryId,
  type InquiryRequest,
  isAnswer,
  isMadeIn,
  lastTurnIndex,
  type PermissionAction,
  permissionId,
  type PermissionRequestEvent,
  redirectionOf,
  toolIdentity,
} from "../../record/conversation/index.ts";
import { type Capabilities, capabilitiesOf, coversCapabilities } from "../../record/tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import type { Journal } from "./ports.ts";
import { abortBy } from "./stop-cause.ts";
import { AnswerClaims } from "./answer-claims.ts";

/** An answer that a person gave for the whole turn: to a question, or whether a tool may run. */
export interface RememberedAnswer {
  readonly answer: Json;
  /** The inquiry in which the person gave it. */
  readonly from: string;
  /** Who gave it. */
  readonly by?: UserDecider;
}

/** A rule that a person has granted for the whole turn. */
export interface TurnGrant {
  readonly rule: JsonObject;
  /** The inquiry in which the person granted it. */
  readonly from: InquiryId;
  readonly tool: string;
  /** The tool's `toolIdentity` at that time. */
  readonly identity: string;
  /** The capabilities that the person was shown: the rule covers no more. */
  readonly shown: Capabilities;
  /** The arguments of that call. Absent if a question of the tool itself was answered. */
  readonly arguments?: JsonObject;
}

/** Something that was denied only because no person could be asked. */
export interface DetachedDenial {
  readonly tool: string;
  readonly what: "permission" | "question" | "delivery";
}

/** A person's message in place of a yes. */
export interface Redirection {
  readonly message: string;
  readonly by: UserDecider;
}

type UserDecider = Extract<Decider, { readonly kind: "user" }>;

type Requested = InquiryRequest | PermissionRequestEvent;

/** The part of a request that determines what an answer to it may cover. */
type Covered =
  | Pick<InquiryRequest, "type" | "question" | "questionId" | ShownPart>
  | Pick<PermissionRequestEvent, "type" | "action" | ShownPart>;

type ShownPart = "subject" | "origin" | "folder" | "outside";

/** An answer for the whole turn, with the capabilities that the person was shown. */
interface Kept {
  readonly shown: Capabilities;
  readonly remembered: RememberedAnswer;
}

/** The inquiry ids of a turn, and the answers and permissions that a person gave for all of it. */
export class TurnState {
  readonly #inquiryIds = new Set<InquiryId>();
  /** Newest first: a later call that can do more has its own answer. */
  readonly #answers = new Map<string, readonly Kept[]>();
  readonly #grants: TurnGrant[] = [];
  #grantCount = 0;
  readonly #denials = new Map<string, DetachedDenial>();
  /** Tools already reported for asking questions that config does not name. */
  readonly hasNoticedUnnamed = new Set<string>();
  readonly waiting = new AnswerClaims();
  readonly #redirections: Redirection[] = [];
  readonly #redirected = new AbortController();
  #automaticAnswers = 0;
  #turnIndex: number | undefined;

  /** `before`: the state of the turn before, if this one continues its work. */
  constructor(before?: TurnState) {
    for (const denial of before?.denials ?? []) this.addDenial(denial);
  }

  /** Reads the events of one turn, in order. Skips answers given in the conversation that this one was copied from. */
  static fromEvents(events: Iterable<ConversationEvent>, conversation?: ConversationId): TurnState {
    const state = new TurnState();
    const toolOf = new Map<string, string>();
    const requests = new Map<string, Requested>();
    for (const event of events) {
      if (event.type === "tool_call_request") toolOf.set(event.id, event.name);
      if (event.type === "inquiry_request" || event.type === "permission_request") {
        state.#inquiryIds.add(event.id);
        requests.set(event.id, event);
      }
      if (!isAnswer(event)) continue;
      // A doubt may be decided without asking anyone.
      if (event.id !== undefined) state.#inquiryIds.add(event.id);
      if (isAutomatic(event)) state.#automaticAnswers += 1;
      const request = event.id === undefined ? undefined : requests.get(event.id);
      if (request === undefined) continue;
      const tool = toolIn(request) ?? toolOf.get(request.toolCallId ?? "");
      if (tool === undefined || isCopied(request, tool, conversation)) continue;
      state.remember(tool, request, event);
    }
    return state;
  }

  /** Call and question ids may contain dots, so a count per question could produce the same id twice. */
  nextInquiryId(toolCallId: string, questionId: string): InquiryId {
    // Branded here, and opaque everywhere else.
    return this.#nextId((count) => `${toolCallId}.${questionId}.${count}` as InquiryId);
  }

  /** For a request about the call itself. Questions have ids of another form, so both are counted from 1. */
  nextPermissionId(toolCallId: string, action: PermissionAction): InquiryId {
    return this.#nextId((count) => permissionId(toolCallId, action, count));
  }

  #nextId(mint: (count: number) => InquiryId): InquiryId {
    for (let count = 1; ; count += 1) {
      const id = mint(count);
      if (this.#inquiryIds.has(id)) continue;
      this.#inquiryIds.add(id);
      return id;
    }
  }

  /** Whether a person has answered anything for the whole turn. */
  get remembersAny(): boolean {
    return this.#answers.size > 0;
  }

  /** Undefined unless a person has answered this for the whole turn, about a call that could do as much. */
  find(tool: string, request: Covered): RememberedAnswer | undefined {
    const key = memoryKey(tool, request);
    const kept = key === undefined ? [] : (this.#answers.get(key) ?? []);
    const asked = capabilitiesOf(request);
    return kept.find(({ shown }) => coversCapabilities(shown, asked))?.remembered;
  }

  /** The rules that a person has granted for calls of this tool in this turn. */
  grantsFor(tool: string): readonly TurnGrant[] {
    return this.#grants.filter((grant) => grant.tool === tool);
  }

  /**
   * How many grants a person has given, for the turn or for longer. After a new one, pending decisions are judged
   * again.
   */
  get grantCount(): number {
    return this.#grantCount;
  }

  /** Aborted once the person has said what to do instead: nothing else is asked or started in this turn. */
  get redirected(): AbortSignal {
    return this.#redirected.signal;
  }

  /** The person's next message. Undefined if they have given none. */
  get redirection(): Redirection | undefined {
    const [first, ...others] = this.#redirections;
    if (first === undefined) return undefined;
    return { ...first, message: [first, ...others].map(({ message }) => message).join("\n\n") };
  }

  /**
   * Takes any recorded answer, and keeps it if a person gave it for the whole turn, with a grant, or with a message
   * instead of a yes.
   */
  remember(tool: string, request: Requested, event: AnswerEvent): void {
    const by = deciderOf(event);
    const message = redirectionOf(event);
    if (message !== undefined && by?.kind === "user") {
      this.#redirections.push({ message, by });
      abortBy("user", this.#redirected);
    }
    this.#rememberGrant(tool, request, event);
    const key = memoryKey(tool, request);
    if (by?.kind !== "user" || by.scope !== "turn" || key === undefined) return;
    const { id: from } = request;
    const keep = (answer: Json) => {
      const kept = { shown: capabilitiesOf(request), remembered: { answer, from, by } };
      this.#answers.set(key, [kept, ...(this.#answers.get(key) ?? [])]);
    };
    if (event.type === "permission_decision") keep(event.decision !== "denied");
    else if (event.outcome === "answered") keep(event.answer);
  }

  #rememberGrant(tool: string, request: Requested, event: AnswerEvent): void {
    const grant = grantOf(event);
    const { subject, origin, id: from } = request;
    if (grant === undefined || subject === undefined) return;
    this.#grantCount += 1;
    const { rule, until } = grant;
    // Longer grants are saved elsewhere, where they can be revoked.
    if (until !== "turn") return;
    const args = request.type === "permission_request" ? request.arguments : undefined;
    this.#grants.push({
      rule,
      from,
      tool,
      identity: toolIdentity(subject, origin),
      shown: capabilitiesOf(request),
      ...(args !== undefined && { arguments: args }),
    });
  }

  /** Reads `turnIndex` without blocking others, unless it is quick. Throws `read_failed`, `record_damaged`. */
  async findTurnIndex(journal: Pick<Journal, "stream">): Promise<void> {
    if (this.#turnIndex !== undefined || journal.stream.end === undefined) return;
    const outline = await journal.stream.outline?.();
    if (outline === undefined) await journal.stream.load?.();
    else this.#turnIndex = outline.lastTurn;
  }

  /** The position of the turn in the record. Read once: it takes longer the longer the record is. */
  turnIndex({ stream }: Pick<Journal, "stream">): number {
    this.#turnIndex ??= lastTurnIndex(stream.entries);
    return this.#turnIndex;
  }

  /** Counts an answer without a person, before it is given. Returns false if `max` is reached. */
  countAutomaticAnswer(max: number): boolean {
    if (this.#automaticAnswers >= max) return false;
    this.#automaticAnswers += 1;
    return true;
  }

  /** Each kind once per tool. */
  get denials(): readonly DetachedDenial[] {
    return [...this.#denials.values()];
  }

  addDenial(denial: DetachedDenial): void {
    this.#denials.set(JSON.stringify([denial.tool, denial.what]), denial);
  }
}

function isCopied(
  { subject, toolCallId = "" }: Requested,
  tool: string,
  conversation: ConversationId | undefined,
): boolean {
  if (subject === undefined || conversation === undefined) return false;
  return !isMadeIn(subject, { conversation, toolCallId, tool });
}

/** Two calls may share an id, so the request's own tool name is more reliable. */
function toolIn(request: Requested): string | undefined {
  if (request.type === "permission_request") return request.tool;
  return request.source.source === "tool" ? request.source.name : undefined;
}

/**
 * The scope of an answer for the whole turn, apart from capabilities: the same tool from the same source, and the
 * questions that the prompt named or that have the same text. Undefined if nothing else is covered.
 */
function memoryKey(tool: string, request: Covered): string | undefined {
  const { subject, origin } = request;
  if (subject === undefined) return undefined;
  const source = toolIdentity(subject, origin);
  if (request.type === "permission_request") {
    return request.action === "run" ? JSON.stringify(["run", tool, source]) : undefined;
  }
  const { questionId, question } = request;
  const { rememberAs, text } = question;
  if (rememberAs === undefined) return JSON.stringify(["text", tool, source, questionId, text]);
  // The tools that ship with jp share the scope of a yes.
  return origin?.type === "builtin"
    ? JSON.stringify(["shared", rememberAs])
    : JSON.stringify(["label", tool, source, questionId, rememberAs]);
}

/** Whether a question was answered without a person. */
export function isAutomatic(event: AnswerEvent): boolean {
  if (event.type !== "inquiry_response" || event.outcome === "cancelled") return false;
  return event.answeredBy?.kind !== "user";
}
