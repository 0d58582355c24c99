/** Runs a story: people and models react as it says. Their answers are kept, to compare with the record. */
import { setImmediate } from "node:timers/promises";
import {
  closeCall,
  type DecisionRequest,
  type FormRequest,
  type Prompter,
  type PromptRequest,
  type PromptResult,
  type ToolCycle,
  TurnState,
} from "../../src/core/agent/index.ts";
import {
  type ConversationEvent,
  type InquiryId,
  lastTurn,
  readTurnProgress,
  type ToolCallRequest,
} from "../../src/record/conversation/index.ts";
import type { AttemptRequest, AttemptResult } from "../../src/reach/executor/index.ts";
import type { InquiryAnswer, InquiryCall } from "../../src/core/answer-model/index.ts";
import type { InquiryQuestion } from "../../src/record/tool/index.ts";
import type { Json, JsonObject } from "../../src/util/index.ts";
import type {
  DeliveryReaction,
  ModelReaction,
  PermissionReaction,
  PersonReaction,
  Plan,
  Story,
} from "./any-story.ts";
import { turnsIn } from "../../src/record/conversation/record-rules.fixture.ts";
import type { ScriptedDelivery, ScriptedPermission } from "../../src/testing/index.ts";
import { ToolTurn } from "../../src/core/agent/tool-turn.fixture.ts";

interface StoryTool {
  readonly config: JsonObject;
  /** The question with a configured answer. */
  readonly configured?: string;
}

export const TOOLS: Readonly<Record<string, StoryTool>> = {
  plain: { config: { detached: { tool: "defaults" } } },
  careful: { config: { run: "ask", result: "ask", detached: { tool: "deny" } } },
  modest: {
    config: { questions: { sure: { target: "assistant" }, key: { target: "assistant" } } },
  },
  configured: {
    config: { run: "ask", detached: { run: "auto" }, questions: { key: { answer: "s3cret key" } } },
    configured: "key",
  },
};

/** Never settles. */
const NEVER = new Promise<never>(() => undefined);

export class StoryTurn {
  readonly #turn: ToolTurn;
  /** The answers of people and models, each with the id of its inquiry. */
  readonly #answers: Set<string>;
  readonly #plans: Plan[];

  private constructor(turn: ToolTurn, answers: Set<string>, plans: Plan[]) {
    this.#turn = turn;
    this.#answers = answers;
    this.#plans = plans;
  }

  static async start(story: Story): Promise<StoryTurn> {
    const plans: Plan[] = [];
    const answers = new Set<string>();
    const attempts = new Map<number, number>();
    const turn = await ToolTurn.start({
      tools: Object.keys(TOOLS).map((name) => ({
        name,
        executor: { attempt: (request) => followPlan(name, { plans, attempts }, request) },
      })),
      config: Object.fromEntries(Object.entries(TOOLS).map(([name, { config }]) => [name, config])),
      answers: inTurn(story.inquiries, (reaction, call) => inquire(reaction, call, answers)),
      script: {
        permissions: inTurn(story.permissions, permit),
        deliveries: inTurn(story.deliveries, deliver),
      },
    });
    const { prompter } = turn;
    const react = inTurn(
      story.answers,
      (reaction: PersonReaction, request: DecisionRequest | FormRequest) =>
        request.kind === "form"
          ? fillIn(reaction, request, answers)
          : answer(reaction, request, answers),
    );
    // The scripted prompter always answers the right question. This one may not.
    const person: Prompter = {
      channel: "story",
      showsForms: story.hasForms,
      canAsk: () => prompter.canAsk(),
      ask: async (request: DecisionRequest | FormRequest) => {
        if (request.kind === "permission" || request.kind === "delivery") {
          return prompter.ask(request);
        }
        prompter.questions.push(...(request.kind === "form" ? request.fields : [request]));
        return Promise.race([whenAborted(request), react(request)]);
      },
    };
    turn.parts = { ...turn.parts, prompter: person };
    return new StoryTurn(turn, answers, plans);
  }

  get events(): readonly ConversationEvent[] {
    return this.#turn.events;
  }

  get state(): TurnState {
    return this.#turn.parts.state;
  }

  /** Adds a plan, and returns the key with which a call finds it. */
  plan(plan: Plan): number {
    return this.#plans.push(plan) - 1;
  }

  begin(...requests: readonly ToolCallRequest[]): Promise<ToolCycle> {
    return this.#turn.begin(...requests);
  }

  /** Closes the calls that wait for an answer, as a new turn would. Returns their ids. */
  async closeWaiting(): Promise<readonly string[]> {
    const { journal, clock } = this.#turn.parts;
    const { calls } = readTurnProgress(lastTurn(journal));
    const events = calls.flatMap((call) => closeCall(call, clock, "interrupted"));
    if (events.length > 0) await journal.record(...events);
    return calls.map(({ request }) => request.id);
  }

  nextTurn(): Promise<void> {
    return this.#turn.nextTurn();
  }

  /** Resumes the turn from the record, as another process would. */
  resume(): void {
    const state = TurnState.fromEvents(turnsIn(this.events).at(-1) ?? []);
    this.#turn.parts = { ...this.#turn.parts, state };
  }

  closePrompt(): boolean {
    return this.#turn.parts.prompts.cancelOpen();
  }

  setPresence(isThere: boolean): void {
    this.#turn.prompter.isAvailable = isThere;
  }

  wasAsked(id: string): boolean {
    return this.#turn.prompter.questions.some(({ inquiryId }) => inquiryId === id);
  }

  /** Ids restart in each turn, so one id may have several answers. */
  hasAnswered(id: string, value: Json): boolean {
    return this.#answers.has(answerKey(id, value));
  }

  wasInquired(id: string, value: Json): boolean {
    const isAsked = this.#turn.inquiries.calls.some(({ inquiryId }) => inquiryId === id);
    return isAsked && this.hasAnswered(id, value);
  }
}

function answerKey(id: string, value: Json): string {
  return JSON.stringify([id, value]);
}

interface Plans {
  readonly plans: readonly Plan[];
  /** The number of attempts per plan. */
  readonly attempts: Map<number, number>;
}

/** Asks the questions planned for this attempt of the call. */
async function followPlan(
  name: string,
  { plans, attempts }: Plans,
  request: AttemptRequest,
): Promise<AttemptResult> {
  const key = Number(request.arguments["key"]);
  const attempt = attempts.get(key) ?? 0;
  attempts.set(key, attempt + 1);
  await setImmediate();
  if (request.signal.aborted) return { type: "cancelled" };
  const [question, ...more] = plans[key]?.[attempt] ?? [];
  if (question !== undefined) {
    return { type: "needs_input", question, more, source: { source: "tool", name } };
  }
  return { type: key % 2 === 0 ? "success" : "error", content: "ended" };
}

function whenAborted({ inquiryId, signal }: PromptRequest): Promise<PromptResult> {
  const { promise, resolve } = Promise.withResolvers<PromptResult>();
  const onAbort = () => resolve({ type: "cancelled", inquiryId });
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  return promise;
}

/** Uses the reactions in order, then from the start again. Waits a few iterations before some. */
function inTurn<Reaction, Request, Result>(
  reactions: readonly Reaction[],
  react: (reaction: Reaction, request: Request) => Result | Promise<Result>,
): (request: Request) => Promise<Result> {
  let used = 0;
  return async (request) => {
    const reaction = reactions[used % reactions.length];
    used += 1;
    for (let wait = used % 3; wait > 0; wait -= 1) await setImmediate();
    if (reaction === undefined) throw new Error("There are no reactions.");
    return react(reaction, request);
  };
}

/** Answers a form. Only the last field gets the reaction. */
async function fillIn(
  reaction: PersonReaction,
  { fields, inquiryId }: FormRequest,
  answers: Set<string>,
): Promise<PromptResult> {
  if (reaction === "cancel") return { type: "cancelled", inquiryId };
  const results = fields.map(async (field, index) => {
    const isLast = index === fields.length - 1;
    return answer(isLast ? reaction : "answer", field, answers);
  });
  return { type: "form", inquiryId, results: await Promise.all(results) };
}

function answer(
  reaction: PersonReaction,
  { inquiryId, question }: DecisionRequest,
  answers: Set<string>,
): PromptResult | Promise<PromptResult> {
  if (reaction === "never") return NEVER;
  if (reaction === "fail") throw new Error("The terminal is gone.");
  if (reaction === "cancel") return { type: "cancelled", inquiryId };
  const value = reaction === "misfit" ? { s3cret: 5 } : fitting(question, inquiryId);
  const isMine = reaction === "answer" || reaction === "remember";
  if (isMine) answers.add(answerKey(inquiryId, value));
  return {
    type: "answered",
    inquiryId: reaction === "another question" ? ("another.one.1" as InquiryId) : inquiryId,
    answer: value,
    isRemembered: reaction === "remember",
  };
}

function inquire(
  reaction: ModelReaction,
  { inquiryId, question }: InquiryCall,
  answers: Set<string>,
): InquiryAnswer | Promise<InquiryAnswer> {
  if (reaction === "never") return NEVER;
  if (reaction === "cancel") return { type: "cancelled" };
  if (reaction === "fail") return { type: "failed", kind: "provider", message: "503" };
  const value = reaction === "misfit" ? 5 : fitting(question, inquiryId);
  answers.add(answerKey(inquiryId, value));
  return { type: "answered", answer: value, model: "test/model" };
}

/** A fitting answer. Texts contain the id of their inquiry. */
function fitting({ answerType }: InquiryQuestion, inquiryId: string): Json {
  if (answerType.type === "boolean") return inquiryId.length % 2 === 0;
  if (answerType.type === "select") return answerType.allowsOther === true ? "c" : "b";
  return answerType.type === "secret" ? `s3cret for ${inquiryId}` : `for ${inquiryId}`;
}

function permit(reaction: PermissionReaction): ScriptedPermission | Promise<ScriptedPermission> {
  if (reaction === "never") return NEVER;
  if (reaction === "cancel") return { type: "cancelled" };
  if (reaction === "skip") return { type: "skip", isRemembered: false, reason: "not now" };
  return { type: "run", isRemembered: reaction === "remember" };
}

function deliver(reaction: DeliveryReaction): ScriptedDelivery | Promise<ScriptedDelivery> {
  if (reaction === "never") return NEVER;
  if (reaction === "cancel") return { type: "cancelled" };
  if (reaction === "withhold") return { type: "withhold" };
  return reaction === "edit" ? { type: "deliver", content: "edited" } : { type: "deliver" };
}
