/** A turn that is cut off anywhere, while its tools change, runs nothing on a decision about something else. */
import * as fc from "fast-check";
import { assert, expect, test } from "vitest";
import type { CallableTool, Toolbox } from "../../src/core/agent/index.ts";
import { settingsOf } from "../../src/core/agent/tool-turn.fixture.ts";
import {
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  isAnswer,
  type InquiryRequest,
  type PermissionRequestEvent,
} from "../../src/record/conversation/index.ts";
import { problemsOf } from "../../src/record/conversation/record-rules.fixture.ts";
import { answerInquiry, createTurn, listPending } from "../../src/assemble/index.ts";
import type { ConversationWriter } from "../../src/stores/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedInquiryBackend,
  ScriptedModel,
  ScriptedPrompter,
  type ScriptedReply,
} from "../../src/testing/index.ts";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import { canonicalJson, type Json, sha256 } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";

/** `JP_FUZZ_TIMES` multiplies it. */
const ROUNDS = 10 * Number(process.env["JP_FUZZ_TIMES"] ?? 1);

const QUESTIONS: readonly Question[] = [
  booleanQuestion("sure", "Sure?", { exclusive: true }),
  textQuestion("name", "Name?"),
  textQuestion("model", "What does the model say?"),
  secretQuestion("pin", "PIN?"),
];

const ANSWERS: Readonly<Record<string, Json>> = {
  sure: true,
  name: "Ada",
  model: "yes",
  pin: "s3cret",
};

/** A call asks the questions of each round together, does its work once, and ends. */
interface PlannedCall {
  readonly rounds: readonly (readonly Question[])[];
  readonly run: "ask" | "unattended";
  readonly isIdempotent: boolean;
}

/** A process, and what happens to the tools before it and meanwhile. */
interface PlannedProcess {
  /** Which tool is another one by now. None if there are not so many. */
  readonly changed: number;
  /** Which tool changes meanwhile: before which of the writes that ask about its call, and of the prompts for it. */
  readonly changing: number;
  readonly changesAt: number;
  /** Without a person, everything waits on the record. */
  readonly isInteractive: boolean;
  /** Whether someone has answered what waits before the process starts. */
  readonly isAnsweredBefore: boolean;
  /** Which of its writes is the last. */
  readonly cut: number;
}

interface Plan {
  readonly calls: readonly PlannedCall[];
  /** What a person says about a call in doubt. */
  readonly doubt: "run" | "skip";
  readonly first: PlannedProcess;
  readonly second: PlannedProcess;
}

const anyCall: fc.Arbitrary<PlannedCall> = fc.record({
  rounds: fc.array(fc.subarray([...QUESTIONS], { minLength: 1, maxLength: 2 }), { maxLength: 2 }),
  run: fc.constantFrom("ask", "unattended"),
  isIdempotent: fc.boolean(),
});

const anyProcess: fc.Arbitrary<PlannedProcess> = fc.record({
  changed: fc.nat(4),
  changing: fc.nat(4),
  changesAt: fc.nat(4),
  isInteractive: fc.boolean(),
  isAnsweredBefore: fc.boolean(),
  cut: fc.nat(),
});

const anyPlan: fc.Arbitrary<Plan> = fc.record({
  calls: fc.array(anyCall, { minLength: 1, maxLength: 2 }),
  doubt: fc.constantFrom("run", "skip"),
  first: anyProcess,
  second: anyProcess,
});

/** Nothing changes any more, and there is a person. */
const LAST: PlannedProcess = {
  changed: -1,
  changing: -1,
  changesAt: 0,
  isInteractive: true,
  isAnsweredBefore: false,
  cut: 0,
};

/** A call that may have run is permitted again, its secret is asked for again, and then it is another tool. */
const ASKED_AGAIN_IN_DOUBT: Plan = {
  calls: [{ rounds: [[secretQuestion("pin", "PIN?")]], run: "ask", isIdempotent: false }],
  doubt: "run",
  first: { ...LAST, changed: 0 },
  second: { ...LAST, changed: 0, changing: 0, isInteractive: false, isAnsweredBefore: true },
};

test("a turn that is cut after any write, while its tools change, does what was decided and nothing else", async () => {
  counters("T-DECIDE-1");
  await fc.assert(
    fc.asyncProperty(anyPlan, async (plan) => {
      const first = await runProcess(plan, NOTHING, plan.first);
      for (const cut of first.cuts) {
        const second = await runProcess(plan, cutAt(first, cut), plan.second);
        const again = second.cuts[plan.second.cut % second.cuts.length] ?? second.events.length;
        const last = await runProcess(plan, cutAt(second, again), LAST);
        expect(problemsAfter(plan, last)).toEqual([]);
      }
    }),
    { numRuns: ROUNDS, examples: [[ASKED_AGAIN_IN_DOUBT]] },
  );
}, 600_000);

/** Work that a tool did outside, which no record takes back. */
interface Effect {
  readonly call: string;
  readonly version: number;
  /** How many events were on record by then. */
  readonly at: number;
}

/** What is left of a process that has died. */
interface Remains {
  readonly events: readonly ConversationEvent[];
  readonly effects: readonly Effect[];
  /** By tool, how often it has changed. */
  readonly versions: ReadonlyMap<string, number>;
}

const NOTHING: Remains = { events: [], effects: [], versions: new Map() };

interface ProcessEnd extends Remains {
  readonly type: string;
  /** The lengths that its record had between two writes. */
  readonly cuts: readonly number[];
}

/** Whatever was done before the next write may have been done. */
function cutAt({ events, effects, versions }: Remains, length: number): Remains {
  return {
    events: events.slice(0, length),
    effects: effects.filter(({ at }) => at <= length),
    versions,
  };
}

function nameOf(index: number): string {
  return `tool_${index}`;
}

async function runProcess(
  plan: Plan,
  remains: Remains,
  planned: PlannedProcess,
): Promise<ProcessEnd> {
  const world = new World(plan, remains);
  world.change(nameOf(planned.changed));
  if (planned.isAnsweredBefore) await world.answerElsewhere();
  return world.run(planned);
}

/** The tools and the record that processes share. */
class World {
  readonly #plan: Plan;
  readonly #store = new MemoryConversationStore(new FakeClock());
  readonly #versions: Map<string, number>;
  readonly #effects: Effect[];
  readonly #before: readonly ConversationEvent[];
  #id: ConversationId | undefined;

  constructor(plan: Plan, { events, effects, versions }: Remains) {
    this.#plan = plan;
    this.#before = events;
    this.#effects = [...effects];
    this.#versions = new Map(versions);
  }

  /** From here on it is another tool, if there is one of this name. */
  change(name: string): void {
    const names = this.#plan.calls.map((_, index) => nameOf(index));
    if (names.includes(name)) this.#versions.set(name, this.#versionOf(name) + 1);
  }

  /** Says yes to everything that waits, but secrets, which no record keeps. */
  async answerElsewhere(): Promise<void> {
    await (await this.#open()).release();
    for (const item of await listPending(this.#store)) {
      if (item.question.answerType.type === "secret") continue;
      const { request } = item;
      const id = request?.type === "inquiry_request" ? (request.questionId ?? "") : "";
      const answer = item.kind === "in_doubt" ? this.#plan.doubt : (ANSWERS[id] ?? true);
      const { type } = await answerInquiry(this.#store, item, { answer });
      assert.equal(type, "recorded");
    }
  }

  async run(planned: PlannedProcess): Promise<ProcessEnd> {
    const conversation = await this.#open();
    const cuts: number[] = [];
    let moments = 0;
    // Not between its start and its first instruction, when any tool can be replaced.
    const pass = (name: string) => {
      if (name !== nameOf(planned.changing)) return;
      if (moments === planned.changesAt) this.change(name);
      moments += 1;
    };
    const beforeWrite = (events: readonly ConversationEvent[]) => {
      cuts.push(conversation.stream.entries.length);
      for (const event of events) if (isRequest(event)) pass(event.toolCallId ?? "");
    };
    const isNew = this.#before.length === 0;
    const prompter = new ScriptedPrompter({
      permissions: ({ tool }) => {
        pass(tool);
        return { type: "run" };
      },
      answers: (asked) => {
        pass(asked.tool);
        const { doubt } = this.#plan;
        return { answer: asked.kind === "question" ? (ANSWERS[asked.questionId] ?? "") : doubt };
      },
    });
    const turn = createTurn({
      conversation: watched(conversation, beforeWrite),
      model: new ScriptedModel({ replies: ({ parts }) => this.#nextReply(parts.events) }),
      toolbox: this.#toolbox(conversation),
      inquiries: new ScriptedInquiryBackend(() => {
        return { type: "answered", answer: "yes", model: "test/model" };
      }),
      ...(planned.isInteractive ? { prompter } : { defer: true }),
      clock: new FakeClock(),
    });
    const { type } = await (isNew ? turn.run({ content: "Do it." }) : turn.resume());
    const events = [...eventsOf(conversation.stream.entries)];
    return {
      type,
      events,
      effects: this.#effects,
      versions: this.#versions,
      // Nothing can be continued before the request is on record.
      cuts: [...new Set([...cuts, events.length])].filter((cut) => cut > this.#before.length),
    };
  }

  /** Always under the same id, which every decision depends on. */
  async #open(): Promise<ConversationWriter> {
    if (this.#id !== undefined) return this.#store.open(this.#id);
    const conversation = await this.#store.create({});
    this.#id = conversation.id;
    if (this.#before.length > 0) await conversation.append(...this.#before);
    return conversation;
  }

  #versionOf(name: string): number {
    return this.#versions.get(name) ?? 0;
  }

  /** Makes the calls that are not on record. */
  #nextReply(events: readonly ConversationEvent[]): ScriptedReply {
    const made = new Set(events.flatMap((event) => ("name" in event ? [event.name] : [])));
    const names = this.#plan.calls.map((_, index) => nameOf(index));
    const missing = names.filter((name) => !made.has(name));
    if (missing.length === 0) return "Done.";
    return missing.map((name) => ({ type: "tool_call", id: name, name }) as const);
  }

  #toolbox(conversation: ConversationWriter): Toolbox {
    return {
      schemas: async () => [],
      find: async (name) => {
        const call = this.#plan.calls.find((_, index) => nameOf(index) === name);
        return call && this.#tool(name, call, conversation);
      },
    };
  }

  #tool(
    name: string,
    { rounds, run, isIdempotent }: PlannedCall,
    conversation: ConversationWriter,
  ) {
    const tool: CallableTool = {
      settings: settingsOf(name, {
        source: "builtin",
        run,
        questions: { model: { target: "assistant" } },
      }),
      description: { name, summary: "", parameters: { type: "object" } },
      describeSource: async () => sourceOf(this.#versionOf(name)),
      isIdempotent,
      executor: {
        attempt: async ({ answers, signal }) => {
          if (signal.aborted) return { type: "cancelled" };
          const isOpen = ({ id }: Question) => answers[id] !== ANSWERS[id];
          const [question, ...more] =
            rounds.find((round) => round.some(isOpen))?.filter(isOpen) ?? [];
          if (question !== undefined) {
            return { type: "needs_input", question, more, source: { source: "tool", name } };
          }
          const { length: at } = conversation.stream.entries;
          this.#effects.push({ call: name, version: this.#versionOf(name), at });
          await Promise.resolve();
          return { type: "success", content: `${name} did it` };
        },
      },
    };
    return tool;
  }
}

function sourceOf(version: number) {
  return { origin: { type: "builtin" }, identity: `version ${version}` } as const;
}

function isRequest(event: ConversationEvent): event is InquiryRequest | PermissionRequestEvent {
  return event.type === "inquiry_request" || event.type === "permission_request";
}

function watched(
  conversation: ConversationWriter,
  beforeWrite: (events: readonly ConversationEvent[]) => void,
): ConversationWriter {
  return new Proxy(conversation, {
    get(target, key) {
      if (key === "append") {
        return async (...events: readonly ConversationEvent[]) => {
          beforeWrite(events);
          await target.append(...events);
        };
      }
      const value = Reflect.get(target, key) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

function problemsAfter(plan: Plan, end: ProcessEnd): readonly string[] {
  const { events, type } = end;
  const answered = events.flatMap((event) => (isAnswer(event) && event.id ? [event.id] : []));
  const voids = events.flatMap((event) => (event.type === "decision_void" ? [event.id] : []));
  return [
    ...problemsOf(events),
    ...(type === "done" ? [] : [`the turn ended as ${type}`]),
    ...(JSON.stringify(events).includes("s3cret") ? ["a secret is on record"] : []),
    ...twice(answered).map((id) => `${id} was answered twice`),
    ...twice(voids).map((id) => `${id} was made void twice`),
    ...plan.calls.flatMap((call, index) => problemsOfCall(nameOf(index), call, { plan, end })),
  ];
}

function twice(values: readonly string[]): readonly string[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

interface Ended {
  readonly plan: Plan;
  readonly end: ProcessEnd;
}

/** Decisions that no longer count, after which a call fails. */
const MAX_VOIDS = 3;

function problemsOfCall(name: string, call: PlannedCall, { plan, end }: Ended): readonly string[] {
  const { events, versions } = end;
  const problems: string[] = [];
  const effects = end.effects.filter((effect) => effect.call === name);
  const changes = versions.get(name) ?? 0;
  const voids = events.filter((event) => event.type === "decision_void" && isOf(name, event.id));
  if (changes === 0 && voids.length > 0) problems.push(`${name} is the same, but was asked again`);
  const reruns = events.filter(
    (event) =>
      event.type === "permission_decision" &&
      event.toolCallId === name &&
      event.action === "rerun" &&
      event.decision === "approved" &&
      !voids.some((each) => each.type === "decision_void" && each.id === event.id),
  ).length;
  if (!call.isIdempotent && effects.length > 1 + reruns) problems.push(`${name} ran again unasked`);
  const response = events.find((event) => event.type === "tool_call_response" && event.id === name);
  const isDone = response?.type === "tool_call_response" && response.content === `${name} did it`;
  const wasInDoubt = events.some(
    (event) =>
      event.type === "permission_decision" && event.toolCallId === name && event.action === "rerun",
  );
  const mayFail = voids.length >= MAX_VOIDS || (wasInDoubt && plan.doubt === "skip");
  if (!isDone && !mayFail) problems.push(`${name} ended with ${JSON.stringify(response)}`);
  if (!wasInDoubt && !call.isIdempotent && effects.length !== (isDone ? 1 : 0)) {
    problems.push(`${name} ran ${effects.length} times`);
  }
  for (const effect of effects) problems.push(...undecided(effect, call, events));
  return [...problems, ...askedTooOften(name, changes, events)];
}

function isOf(name: string, id: string): boolean {
  return id.startsWith(`${name}.`) || id.startsWith(`${name}:`);
}

/** What the call relied on when it ran, although it was about another version of its tool. */
function undecided(
  { call: name, version, at }: Effect,
  { run, rounds }: PlannedCall,
  events: readonly ConversationEvent[],
): readonly string[] {
  const past = events.slice(0, at);
  const decided = past.filter(
    (event): event is InquiryRequest | PermissionRequestEvent =>
      isRequest(event) &&
      event.toolCallId === name &&
      isCurrent(event, version) &&
      past.some((other) => isAnswer(other) && other.id === event.id) &&
      !past.some((other) => other.type === "decision_void" && other.id === event.id),
  );
  const asked = new Set(rounds.flat().map(({ id }) => id));
  const missing = [...asked].filter(
    (id) => !decided.some((event) => event.type === "inquiry_request" && event.questionId === id),
  );
  const problems = missing.map((id) => `${name} ran with an answer to another ${id}`);
  // What config permits needs no one.
  if (run === "unattended" || decided.length > 0) return problems;
  return isDecidedUnasked(name, version, past) ? problems : [`${name} ran without permission`];
}

/** A doubt that no process had found has no request: its decision repeats the digest of what was permitted. */
function isDecidedUnasked(
  name: string,
  version: number,
  past: readonly ConversationEvent[],
): boolean {
  const digests = new Set(
    past.flatMap((event) =>
      event.type === "permission_request" && event.toolCallId === name && isCurrent(event, version)
        ? [event.subject?.digest]
        : [],
    ),
  );
  return past.some(
    (event) =>
      event.type === "permission_decision" &&
      event.toolCallId === name &&
      digests.has(event.digest),
  );
}

/** Whether a request is about this version of its tool. */
function isCurrent({ subject }: InquiryRequest | PermissionRequestEvent, version: number): boolean {
  return subject?.parts["source"] === sha256(canonicalJson(sourceOf(version))).slice(0, 16);
}

/** Only a secret is asked again although nothing has changed. */
function askedTooOften(
  name: string,
  changes: number,
  events: readonly ConversationEvent[],
): readonly string[] {
  const asked = events.flatMap((event) =>
    event.type === "inquiry_request" && event.toolCallId === name ? [event.questionId ?? ""] : [],
  );
  return [...new Set(asked)].flatMap((id) => {
    const count = asked.filter((each) => each === id).length;
    return id === "pin" || count <= 1 + changes ? [] : [`${name} asked ${id} ${count} times`];
  });
}
