/** Any sequence of calls, questions, answers and interruptions leaves a consistent record. */
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { TurnState } from "../../src/core/agent/index.ts";
import type { ConversationEvent, InquiryRequest } from "../../src/record/conversation/index.ts";
import type { Json } from "../../src/util/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { toolCall } from "../../src/record/conversation/events.fixture.ts";
import { anyStory, type Cycle, type Disturbance, type Story } from "../support/any-story.ts";
import { problemsOf, turnsIn } from "../../src/record/conversation/record-rules.fixture.ts";
import { StoryTurn, TOOLS } from "../support/story-turn.ts";

test("each question ends once, in its turn, by an allowed decider, and each call has one response", async () => {
  verifies(
    "082/record/pair-for-every-question",
    "082/record/non-answer-is-cancelled",
    "082/id/unique-within-the-turn",
    "082/secret/value-nowhere-in-the-record",
    "082/secret/every-answered-path-redacts",
    "082/secret/never-asked-of-the-model",
    "083/exclusive/means-a-person-only",
    "005/goal/complete-audit-trail",
    "005/record/inside-the-tool-call",
    "028/inquiry/one-response-per-call",
  );
  await fc.assert(
    fc.asyncProperty(anyStory, async (story) => {
      const outcome = await play(story);
      const { events } = outcome.turn;
      expect({
        problems: problemsOf(events),
        wrongDeciders: turnsIn(events).flatMap((turn) => wrongDeciders(turn, outcome)),
        wrongOrder: outcome.wrongOrder,
        forgotten: differences(outcome.turn),
        hasSecret: JSON.stringify(events).includes("s3cret"),
      }).toEqual({
        problems: [],
        wrongDeciders: [],
        wrongOrder: [],
        forgotten: [],
        hasSecret: false,
      });
    }),
    { numRuns: 200 },
  );
});

interface Outcome {
  readonly turn: StoryTurn;
  readonly wrongOrder: readonly string[];
}

async function play(story: Story): Promise<Outcome> {
  const turn = await StoryTurn.start(story);
  const wrongOrder: string[] = [];
  for (const [index, cycles] of story.turns.entries()) {
    if (index > 0) await turn.nextTurn();
    for (const cycle of cycles) wrongOrder.push(...(await tellCycle(turn, cycle)));
  }
  return { turn, wrongOrder };
}

async function tellCycle(turn: StoryTurn, { calls, disturbances, isResumed }: Cycle) {
  if (isResumed) turn.resume();
  const requests = calls.map(({ id, tool, plan }) => toolCall(id, tool, { key: turn.plan(plan) }));
  const cycle = await turn.begin(...requests);
  const running = cycle.run();
  const disturb: Readonly<Record<Disturbance["what"], () => void>> = {
    stop: () => cycle.stop("user"),
    "stop with a word": () => cycle.stop("user", "Enough."),
    restart: () => cycle.restart(),
    "close the prompt": () => void turn.closePrompt(),
    leave: () => turn.setPresence(false),
    come: () => turn.setPresence(true),
  };
  for (const { after, what } of disturbances) {
    await pass(after);
    disturb[what]();
  }
  // A person or a model may never answer: stop in that case.
  await Promise.race([running, pass(40)]);
  cycle.stop("user");
  const ids = (await running).map(({ id }) => id);
  const waiting = await turn.closeWaiting();
  const expected = calls.map(({ id }) => id).filter((id) => !waiting.includes(id));
  return ids.join() === expected.join() ? [] : [ids.join()];
}

async function pass(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await setImmediate();
}

/** The responses whose recorded decider does not match what people and models were asked. */
function wrongDeciders(events: readonly ConversationEvent[], { turn }: Outcome): readonly string[] {
  const toolOf = new Map<string, string>();
  const asked = new Map<string, { readonly tool: string; readonly request: InquiryRequest }>();
  /** Answers that people gave for the rest of the turn. */
  const remembered = new Map<string, Json>();
  const wrong: string[] = [];
  for (const event of events) {
    if (event.type === "tool_call_request") toolOf.set(event.id, event.name);
    if (event.type === "inquiry_request") {
      asked.set(event.id, { tool: toolOf.get(event.toolCallId ?? "") ?? "", request: event });
    }
    if (event.type !== "inquiry_response" || event.outcome === "cancelled") continue;
    const { tool = "", request } = asked.get(event.id) ?? {};
    if (request === undefined) continue; // `problemsOf` reports it.
    const { question, questionId = "" } = request;
    const isSecret = question.answerType.type === "secret";
    const isForPeople = isSecret || question.exclusive;
    const answer = event.outcome === "answered" ? event.answer : null;
    const by = event.answeredBy ?? { kind: "unknown", raw: {} };
    const place = (from: string) => `${tool} ${questionId} ${from}`;
    const isRight = {
      user: () => turn.wasAsked(event.id) && (isSecret || turn.hasAnswered(event.id, answer)),
      assistant: () => !isForPeople && turn.wasInquired(event.id, answer),
      config: () => TOOLS[tool]?.configured === questionId,
      default: () => !isForPeople && answer === question.default,
      remembered: () =>
        !isSecret &&
        question.persistence === "turn" &&
        by.kind === "remembered" &&
        remembered.get(place(by.from)) === answer,
      policy: () => false,
      answers_file: () => false,
      tool: () => false,
      unknown: () => false,
    }[by.kind]();
    if (by.kind === "user" && by.scope === "turn") remembered.set(place(event.id), answer);
    if (!isRight || isSecret !== (event.outcome === "redacted")) wrong.push(JSON.stringify(event));
  }
  return wrong;
}

/** Differences between the state of the last turn and the state rebuilt from its events. */
function differences(turn: StoryTurn): readonly string[] {
  const live = turn.state;
  const events = turnsIn(turn.events).at(-1) ?? [];
  const rebuilt = TurnState.fromEvents(events);
  const requests = events.filter(
    (event) => event.type === "inquiry_request" || event.type === "permission_request",
  );
  return requests.flatMap((request) =>
    Object.keys(TOOLS).flatMap((tool) => {
      const [known, read] = [live.find(tool, request), rebuilt.find(tool, request)];
      return isDeepStrictEqual(known, read) ? [] : [`${tool}: ${JSON.stringify([known, read])}`];
    }),
  );
}
