/** Every change of what a tool asks is found by a replay that runs the tool for real. */
import { expect, test } from "vitest";
import type { Toolbox } from "../../core/agent/index.ts";
import { toolboxOf } from "../../core/agent/tool-turn.fixture.ts";
import type { ConversationStream } from "../../record/conversation/index.ts";
import type { AttemptRequest, AttemptResult } from "../../reach/executor/index.ts";
import {
  FakeClock,
  MemoryConversationStore,
  ScriptedModel,
  ScriptedPrompter,
} from "../../testing/index.ts";
import {
  booleanQuestion,
  type InquiryQuestion,
  type Question,
  type SelectOption,
  selectQuestion,
  textQuestion,
} from "../../record/tool/index.ts";
import type { Json } from "../../util/index.ts";
import { replayConversation } from "./replay.ts";
import { createTurn } from "../../assemble/index.ts";

/** The questions of a tool, attempt by attempt. */
type Plan = readonly (readonly Question[])[];

const SURE = booleanQuestion("sure", "Sure?", { context: "It is live.", default: true });
const WHERE = selectQuestion("where", "Where?", {
  options: [{ value: "here", description: "on this machine", preview: "./run" }, "there"],
  exclusive: true,
  allowsNote: true,
});
const NAME = textQuestion("name", "Name?", { persistence: "none" });

const PLAN: Plan = [[SURE, WHERE], [NAME]];

/** Everything else that a tool might ask instead, by what is different. */
function mutationsOf(plan: Plan): Readonly<Record<string, Plan>> {
  const places = plan.flatMap((form, attempt) => form.map((_, index) => ({ attempt, index })));
  const perQuestion = places.flatMap(({ attempt, index }) => {
    const form = plan[attempt] ?? [];
    const put = (...questions: readonly Question[]) =>
      plan.with(attempt, form.toSpliced(index, 1, ...questions));
    const [asked] = form.slice(index);
    if (asked === undefined) return [];
    const another = textQuestion("another", "Another?");
    return [
      ...Object.entries(changesOf(asked)).map(([how, changed]) => [how, put(changed)] as const),
      ["is no longer asked", put()] as const,
      ["comes after a new one", put(another, asked)] as const,
      ["is asked twice", put(asked, { ...asked, id: `${asked.id}_again` })] as const,
    ].map(([how, changed]) => [`${asked.id}: ${how}`, withoutEmpty(changed)] as const);
  });
  const perForm = plan.map((form, attempt) => {
    const more = [...form, textQuestion("more", "More?")];
    return [`attempt ${attempt + 1}: asks one more`, plan.with(attempt, more)] as const;
  });
  const questions = plan.flat();
  return Object.fromEntries([
    ...perQuestion,
    ...perForm,
    ["all: in reverse order", plan.map((form) => form.toReversed())],
    ["all: attempts in reverse order", plan.toReversed()],
    ["all: one by one", questions.map((question) => [question])],
    ["all: together", [questions]],
    ["all: never asked", []],
    ["all: in one more attempt", [...plan, [textQuestion("more", "More?")]]],
  ]);
}

function withoutEmpty(plan: Plan): Plan {
  return plan.filter((form) => form.length > 0);
}

/** Each field of a question on its own: changed, set if it was absent, and absent if it was set. */
function changesOf(question: Question): Readonly<Record<string, Question>> {
  const { context, default: suggested, ...plain } = question;
  const other = otherDefault(question);
  return {
    "has another id": { ...question, id: `${question.id}_2` },
    "has another text": { ...question, text: `${question.text} ` },
    "has another context": { ...question, context: `${context} Really.` },
    ...(context !== undefined && {
      "has no context": { ...plain, ...(suggested !== undefined && { default: suggested }) },
    }),
    "has another default": { ...question, default: other },
    ...(suggested !== undefined && {
      "has no default": { ...plain, ...(context !== undefined && { context }) },
    }),
    "has another rule about who may answer": { ...question, exclusive: !question.exclusive },
    "has another rule about reuse": {
      ...question,
      persistence: question.persistence === "turn" ? "none" : "turn",
    },
    "has another rule about notes": { ...question, allowsNote: question.allowsNote !== true },
    ...otherTypes(question),
    ...otherOptions(question),
  };
}

function otherDefault({ answerType, default: suggested }: InquiryQuestion): Json {
  if (answerType.type === "boolean") return suggested !== true;
  return answerType.type === "select" ? "there" : `${JSON.stringify(suggested)} else`;
}

function otherTypes(question: Question): Readonly<Record<string, Question>> {
  const { default: _default, ...plain } = question;
  const types = [
    { type: "boolean" },
    { type: "text" },
    { type: "secret" },
    { type: "select", options: [{ value: "x" }] },
  ] as const;
  return Object.fromEntries(
    types
      .filter(({ type }) => type !== question.answerType.type)
      .map((answerType) => [`is of type ${answerType.type}`, { ...plain, answerType }]),
  );
}

function otherOptions(question: Question): Readonly<Record<string, Question>> {
  const { answerType } = question;
  if (answerType.type !== "select") return {};
  const { options } = answerType;
  const put = (changed: readonly SelectOption[]): Question => {
    return { ...question, answerType: { ...answerType, options: changed } };
  };
  const perOption = options.flatMap((option, index) => {
    const named = `its option ${JSON.stringify(option.value)}`;
    return [
      [`lacks ${named}`, put(options.toSpliced(index, 1))],
      [`renames ${named}`, put(options.with(index, { ...option, value: "elsewhere" }))],
      [`describes ${named} otherwise`, put(options.with(index, { ...option, description: "?" }))],
      [`previews ${named} otherwise`, put(options.with(index, { ...option, preview: "?" }))],
    ] as const;
  });
  return {
    ...Object.fromEntries(perOption),
    "has one more option": put([...options, { value: "elsewhere" }]),
    "has its options in another order": put(options.toReversed()),
    "allows other answers": { ...question, answerType: { ...answerType, allowsOther: true } },
    "allows several answers": { ...question, answerType: { ...answerType, isMultiple: true } },
  };
}

const clock = new FakeClock();

function toolboxThatAsks(plan: Plan): Toolbox {
  const attempt = async ({ answers }: AttemptRequest): Promise<AttemptResult> => {
    const form = plan.find((questions) => questions.some(({ id }) => answers[id] === undefined));
    const [question, ...more] = form ?? [];
    if (question === undefined) return { type: "success", content: "deployed" };
    return { type: "needs_input", question, more, source: { source: "tool", name: "deploy" } };
  };
  return toolboxOf({
    tools: [{ name: "deploy", executor: { attempt } }],
    config: { deploy: { run: "unattended" } },
  });
}

async function record(plan: Plan): Promise<ConversationStream> {
  const conversation = await new MemoryConversationStore(clock).create({});
  await createTurn({
    conversation,
    model: new ScriptedModel({
      replies: [[{ type: "tool_call", id: "call_1", name: "deploy" }], "Done."],
    }),
    toolbox: toolboxThatAsks(plan),
    prompter: new ScriptedPrompter({
      answers: [true, "here", "Wether"].map((answer) => ({ answer })),
    }),
    clock,
  }).run({ content: "Deploy it." });
  return conversation.stream;
}

test("unless it asks what it asked then", async () => {
  const stream = await record(PLAN);
  const toolbox = toolboxThatAsks(PLAN);
  expect(await replayConversation({ stream, toolbox, runsTools: true })).toEqual({ turns: 1 });
});

const MUTATIONS = mutationsOf(PLAN);

test("in more ways than fifty", () => {
  const plans = new Set([PLAN, ...Object.values(MUTATIONS)].map((plan) => JSON.stringify(plan)));
  expect(plans.size).toBe(Object.keys(MUTATIONS).length + 1);
  expect(plans.size).toBeGreaterThan(50);
});

test.each(Object.entries(MUTATIONS))("%s", async (_how, changed) => {
  const stream = await record(PLAN);
  const toolbox = toolboxThatAsks(changed);
  const { divergence } = await replayConversation({ stream, toolbox, runsTools: true });
  expect(divergence).toMatchObject({ turn: 1, toolCallId: "call_1" });
  expect([divergence?.recorded?.["type"], divergence?.now?.["type"]]).toContain("inquiry_request");
});
