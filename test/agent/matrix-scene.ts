/** One decision of each kind that waits, with everything that can be said to it, and what the record has of it afterwards. */
import {
  type AnswerEvent,
  type ConversationEvent,
  type Decider,
  deciderOf,
  type DecisionVote,
  eventsOf,
  isAnswer,
  type KnownPerson,
  type Reply,
  type ReplyOrCancel,
} from "../../src/record/conversation/index.ts";
import {
  answerInquiry,
  listPending,
  type PendingDecision,
  resumeTurn,
  runTurn,
} from "../../src/assemble/index.ts";
import { KnownPeople } from "../../src/assemble/people.fixture.ts";
import type { ConversationStore } from "../../src/stores/index.ts";
import { FakeClock, MemoryConversationStore, ScriptedModel } from "../../src/testing/index.ts";
import {
  booleanQuestion,
  defineTool,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import type { Json, JsonObject } from "../../src/util/index.ts";

/** Every kind of decision, and every type of answer. */
export const KINDS = [
  "boolean",
  /** Exclusive, and never for the whole turn. */
  "acting",
  /** Takes an answer in the person's own words. */
  "select",
  /** Several options, never for the whole turn. */
  "several",
  "text",
  "secret",
  "permission",
  "delivery",
  "in_doubt",
] as const;

export type Kind = (typeof KINDS)[number];

/** Everything that a person may say, rightly or wrongly. */
export const REPLIES = [
  "yes",
  "no",
  "no_with_note",
  "yes_with_note",
  "remembered",
  "other",
  "edited",
  "wrong_digest",
  "wrong_person",
  /** The first of two that are needed. */
  "vote",
  /** The same again, by the same person. */
  "second_vote",
  /** After someone else has said the same. */
  "last_vote",
  "unsigned",
  /** After the deadline. */
  "late",
  /** After someone else has decided. */
  "taken",
  "cancelled",
] as const;

export type ReplyName = (typeof REPLIES)[number];

export const NOTE = "Too much.";
export const OWN_WORDS = "elsewhere";
export const EDITED_ARGUMENTS = { amount: 400 };
export const EDITED_RESULT = "paid 400";
/** Of something else than is shown. */
export const OTHER_DIGEST = "0".repeat(64);
/** Longer than anything waits. */
export const TOO_LONG_MS = 2 * 3600_000;

const ADA: KnownPerson = { name: "ada", roles: ["finance"] };
const BO: KnownPerson = { name: "bo", roles: ["finance"] };
const SAM: KnownPerson = { name: "sam", roles: ["operations"] };
export const PEOPLE: readonly KnownPerson[] = [ADA, BO, SAM];

const QUESTIONS: Readonly<Partial<Record<Kind, Question>>> = {
  boolean: booleanQuestion("q", "Sure?"),
  acting: booleanQuestion("q", "Delete it?", { exclusive: true, persistence: "none" }),
  select: selectQuestion("q", "Where?", { options: ["live", "test"], allowsOther: true }),
  several: selectQuestion("q", "Where?", {
    options: ["live", "test"],
    isMultiple: true,
    persistence: "none",
  }),
  text: textQuestion("q", "When?"),
  secret: secretQuestion("q", "Password?"),
};

const YES: Readonly<Record<Kind, Json>> = {
  boolean: true,
  acting: true,
  select: "live",
  several: ["live"],
  text: "soon",
  secret: "s3cret",
  permission: true,
  delivery: true,
  in_doubt: "run",
};

/** What is said. Who says it, and when, is a matter of the scene. */
function replyOf(kind: Kind, reply: ReplyName): ReplyOrCancel {
  const yes: Reply = { answer: YES[kind] };
  const no: Reply = { answer: kind === "in_doubt" ? "skip" : false };
  switch (reply) {
    case "no":
      return no;
    case "no_with_note":
      return { ...no, note: NOTE };
    case "yes_with_note":
      return { ...yes, note: NOTE };
    case "remembered":
      return { ...yes, isRemembered: true };
    case "other":
      return { answer: kind === "several" ? [OWN_WORDS] : OWN_WORDS };
    case "edited":
      return kind === "permission"
        ? { ...yes, arguments: EDITED_ARGUMENTS }
        : { ...yes, content: EDITED_RESULT };
    case "cancelled":
      return { isCancelled: true };
    default:
      return yes;
  }
}

/** A decision that waits. Ada replies to it. */
export interface Scene {
  readonly kind: Kind;
  readonly reply: ReplyName;
  readonly said: ReplyOrCancel;
  readonly item: PendingDecision;
  readonly store: ConversationStore;
  readonly clock: FakeClock;
  readonly directory: KnownPeople;
  /** What another process continues the turn with. */
  readonly parts: ReturnType<typeof partsOf>;
  /** The record, as it was when the decision waited. */
  readonly before: readonly ConversationEvent[];
}

/** Whom it is for, and for how long, by what will be said. */
function settingsOf(kind: Kind, reply: ReplyName): JsonObject {
  const target = targetOf(kind, reply);
  const aimed = target === undefined ? {} : { target };
  switch (kind) {
    case "permission":
      return { run: "ask", ...aimed };
    case "delivery":
      return { run: "unattended", result: "ask", ...aimed };
    case "in_doubt":
      return { run: "unattended", ...aimed };
    default: {
      const deadline = reply === "late" ? { deadline: "1h" } : {};
      return { run: "unattended", questions: { q: { ...aimed, ...deadline } } };
    }
  }
}

function targetOf(kind: Kind, reply: ReplyName): JsonObject | undefined {
  const finance = { role: "finance" };
  switch (reply) {
    case "wrong_person":
      return { role: "operations" };
    case "vote":
    case "second_vote":
    case "last_vote":
      return { ...finance, quorum: 2 };
    case "unsigned":
      return { ...finance, proof: "signed" };
    case "late":
      // Questions have a deadline of their own.
      return QUESTIONS[kind] === undefined ? { ...finance, within: "1h" } : undefined;
    default:
      return undefined;
  }
}

/** Whether what is said is said as someone of the role. */
export function isForRole(reply: ReplyName): boolean {
  return targetOf("permission", reply) !== undefined;
}

/** What another process continues the turn with. */
export function partsOf(kind: Kind, reply: ReplyName, clock: FakeClock) {
  const question = QUESTIONS[kind];
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    parameters: { type: "object", properties: { amount: { type: "number" } } },
    run: async ({ amount }, { ask }) =>
      question === undefined
        ? `paid ${JSON.stringify(amount)}`
        : JSON.stringify(await ask(question)),
  });
  const directory = new KnownPeople("ada", PEOPLE);
  const toolConfig: { readonly pay: JsonObject } = { pay: settingsOf(kind, reply) };
  return { tools: [pay], toolConfig, directory, clock };
}

const CALL = { type: "tool_call", id: "call_1", name: "pay", arguments: { amount: 500 } } as const;

export async function openScene(kind: Kind, reply: ReplyName): Promise<Scene> {
  const clock = new FakeClock();
  const parts = partsOf(kind, reply, clock);
  const { store } = await leave(kind, parts);
  const scene = await sceneIn(store, { kind, reply, parts });
  const { item, directory } = scene;
  const first = firstReply(kind, reply);
  if (first === undefined) return scene;
  await answerInquiry(store, item, { ...first, clock, directory });
  return { ...scene, before: await eventsIn(scene) };
}

/** The only decision that waits in the store. */
export async function sceneIn(
  store: ConversationStore,
  { kind, reply, parts }: Pick<Scene, "kind" | "reply" | "parts">,
): Promise<Scene> {
  const [item] = await listPending(store);
  if (item === undefined) throw new Error(`nothing waits: ${kind}, ${reply}`);
  const { clock, directory } = parts;
  const before = await eventsIn({ store, item });
  return { kind, reply, said: replyOf(kind, reply), item, store, clock, directory, parts, before };
}

/** A turn whose process is gone. */
async function leave(kind: Kind, parts: ReturnType<typeof partsOf>) {
  const { clock } = parts;
  const store = new MemoryConversationStore(clock);
  await using conversation = await store.create({});
  const model = new ScriptedModel({ replies: [[CALL], "Done."] });
  await runTurn({ ...parts, conversation, model, defer: true }, "Pay.");
  if (kind !== "in_doubt") return { store, id: conversation.id };
  const ran = [...eventsOf(conversation.stream.entries)];
  const started = ran.findIndex(({ type }) => type === "attempt_start");
  const copied = new MemoryConversationStore(clock);
  await using copy = await copied.create({}); // It has the same id.
  await copy.append(...ran.slice(0, started + 1));
  await resumeTurn(copy, { ...parts, model: new ScriptedModel({ replies: [] }), defer: true });
  return { store: copied, id: copy.id };
}

/** What someone has said before. */
function firstReply(kind: Kind, reply: ReplyName) {
  if (reply === "taken") return { isCancelled: true, userName: "bo" } as const;
  // Several people cannot give a secret.
  if (kind === "secret") return undefined;
  if (reply === "second_vote") return { answer: YES[kind], userName: "ada" };
  return reply === "last_vote" ? { answer: YES[kind], userName: "bo" } : undefined;
}

/** The event that records what was said, as far as it must not depend on where that was. */
export interface Recorded {
  readonly answer?: Json;
  readonly outcome?: string;
  readonly decision?: string;
  readonly cause?: string;
  readonly arguments?: JsonObject;
  readonly result?: string;
  readonly note?: string;
  readonly isOther?: true;
  readonly redirects?: true;
  readonly scope?: string;
  readonly digest?: "as_shown" | "of_the_edit";
  readonly by?: JsonObject;
}

export async function eventsIn({ store, item }: Pick<Scene, "store" | "item">) {
  const { stream } = await store.load(item.conversation);
  return [...eventsOf(stream.entries)];
}

type Said = AnswerEvent | DecisionVote;

/** What was said about the decision since it waited, and how it has ended. */
export function saidIn(
  { item, before }: Pick<Scene, "item" | "before">,
  events: readonly ConversationEvent[],
): readonly Said[] {
  return events
    .slice(before.length)
    .filter((event): event is Said => isAnswer(event) || event.type === "decision_vote")
    .filter(({ id }) => id === item.id);
}

/** The same as far as a person or a file has said it, not jp itself. */
export function recordedIn(
  scene: Scene,
  events: readonly ConversationEvent[],
): readonly Recorded[] {
  return saidIn(scene, events)
    .filter((event) => {
      if ("outcome" in event && event.outcome === "cancelled") return event.reason === "user";
      const { kind } = (event.type === "decision_vote" ? event.by : deciderOf(event)) ?? {};
      return kind === "user" || kind === "answers_file";
    })
    .map((event) => toRecorded(event, scene.item.digest));
}

function toRecorded(event: Said, shown: string | undefined): Recorded {
  const decider = event.type === "decision_vote" ? event.by : deciderOf(event);
  const { digest, redirects } = { redirects: undefined, digest: undefined, ...event };
  const isCancelled = "outcome" in event && event.outcome === "cancelled";
  return {
    ...wordsOf(event),
    ...(redirects === true && { redirects }),
    ...scopeOf(decider),
    // By cancelling a question nothing is decided, whatever was shown.
    ...(digest !== undefined &&
      !isCancelled && { digest: digest === shown ? "as_shown" : "of_the_edit" }),
    ...(decider !== undefined && { by: whoOf(decider) }),
  };
}

function wordsOf(event: Said): Recorded {
  if (event.type === "permission_decision") {
    const { decision, cause, reason, arguments: args, result } = event;
    return {
      decision,
      ...(cause !== undefined && { cause }),
      ...(reason !== undefined && { note: reason }),
      ...(args !== undefined && { arguments: args }),
      ...(result !== undefined && { result: result.content }),
    };
  }
  if (event.type === "decision_vote") {
    const { decision, answer, note, result } = event;
    return {
      ...(decision !== undefined && { decision }),
      ...(answer !== undefined && { answer }),
      ...(note !== undefined && { note }),
      ...(result !== undefined && { result: result.content }),
    };
  }
  if (event.outcome !== "answered") return { outcome: event.outcome };
  const { answer, note, isOther } = event;
  return {
    answer,
    ...(note !== undefined && { note }),
    ...(isOther === true && { isOther }),
  };
}

function scopeOf(by: Decider | undefined): Pick<Recorded, "scope"> {
  return by?.kind === "user" && by.scope !== undefined ? { scope: by.scope } : {};
}

function whoOf(by: Decider): JsonObject {
  if (by.kind === "answers_file") return { ...by };
  if (by.kind !== "user") throw new Error(`neither a person nor a file has decided: ${by.kind}`);
  // Only some surfaces know people by ids.
  const { scope: _scope, personId: _id, ...who } = by;
  return who;
}
