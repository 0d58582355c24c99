/** The response to a server whose form is not filled in: `decline` for a person's no, `cancel` in all other cases. */
import { describe, expect, test } from "vitest";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";
import {
  type KnownCancellationReason,
  MemoryConversationStore,
  type QuestionConfig,
  runTurn,
  type TurnOptions,
} from "../../src/index.ts";
import { FakeClock, holdPrompt, ScriptedModel, ScriptedPrompter } from "../../src/testing/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { GENERATIONS, type Generation, inProcessServer, until } from "./support.ts";

const CONSENT = { message: "Delete it?", requestedSchema: { type: "object" } };
const VISIT = {
  mode: "url",
  message: "Sign in.",
  elicitationId: "e1",
  url: "https://moon.example/",
};

interface Landing extends Partial<TurnOptions> {
  readonly generation?: Generation;
  /** The server's question, by default for the name of a moon. */
  readonly form?: JsonObject;
}

/** Runs a turn whose model calls the server's tool `ask` once. */
async function land({ generation = "older", form, toolConfig, ...options }: Landing) {
  const { servers: mcpServers, log } = inProcessServer(generation);
  const args = form === undefined ? {} : { rounds: [{ moon: form }] };
  const replies = [
    [{ type: "tool_call", id: "call_1", name: "ask", arguments: args }],
    "Done.",
  ] as const;
  const { events } = await runTurn(
    {
      conversation: await new MemoryConversationStore(new FakeClock()).create({}),
      model: new ScriptedModel({ replies }),
      clock: new FakeClock(),
      mcpServers,
      toolConfig: { ask: { run: "unattended", ...toolConfig?.["ask"] } },
      ...options,
    },
    "Land.",
  );
  return { lines: transcript(events), log };
}

/** The first response that the server has got. */
async function answerIn(log: () => readonly string[]): Promise<string | undefined> {
  const find = () => log().find((line) => line.startsWith("answered"));
  await until(() => find() !== undefined);
  return find();
}

const CANCELLED = 'answered {"action":"cancel"}';

function asked(questions: Record<string, QuestionConfig>): Pick<TurnOptions, "toolConfig"> {
  return { toolConfig: { ask: { questions } } };
}

/** How a question ends without an answer, for each reason that a question of a 2025 server can have. */
const UNANSWERED: {
  readonly [Reason in Exclude<KnownCancellationReason, "subject_unstable">]: () => Landing;
} = {
  user: () => ({ prompter: new ScriptedPrompter({ answers: [{ isCancelled: true }] }) }),
  backend_error: () => ({
    prompter: new ScriptedPrompter({
      answers: () => {
        throw new Error("no screen");
      },
    }),
  }),
  no_prompt_backend: () => ({}),
  assistant_routing_denied: () => ({
    form: CONSENT,
    ...asked({ consent: { target: "assistant" } }),
  }),
  invalid_static_answer: () => asked({ name: { answer: 5 } }),
  interrupted: () => {
    const abort = new AbortController();
    const answers = () => {
      abort.abort();
      return new Promise<never>(() => {});
    };
    return { prompter: new ScriptedPrompter({ answers }), signal: abort.signal };
  },
  attempts_exhausted: () => ({
    ...asked({ name: { answer: "Io" } }),
    limits: { automaticAnswersPerCall: 0 },
  }),
  timed_out: () => {
    const clock = new FakeClock();
    const prompt = holdPrompt<never, never>();
    void prompt.opened.then(() => clock.advance(10_000));
    const prompter = new ScriptedPrompter({ answers: prompt.reply as never });
    return { clock, prompter, ...asked({ name: { deadline: "10s", on_timeout: "deny" } }) };
  },
  declined_by_client: () => ({
    prompter: new ScriptedPrompter({ answers: [{ isUnanswered: "declined_by_client" }] }),
  }),
};

describe("a form that stays empty", () => {
  test.each(Object.entries(UNANSWERED))(
    "is cancelled, not declined: %s",
    async (reason, landing) => {
      const { lines, log } = await land(landing());
      expect(await answerIn(log)).toBe(CANCELLED);
      const ends = lines.filter((line) => line.includes(" cancelled: "));
      // A question that was interrupted stays open.
      expect(ends.map((line) => line.split(" ").at(-1))).toEqual(
        reason === "interrupted" ? [] : [`"${reason}"`],
      );
    },
  );

  test("is cancelled if it is left for later", async () => {
    const prompter = new ScriptedPrompter({ answers: [{ isLater: true }] });
    const { log } = await land({ prompter });
    expect(await answerIn(log)).toBe(CANCELLED);
  });

  test("is cancelled if the server may not ask for it", async () => {
    const properties = { password: { type: "string" } };
    const { log } = await land({
      form: { message: "Sign in.", requestedSchema: { type: "object", properties } },
      prompter: new ScriptedPrompter(),
    });
    expect(await answerIn(log)).toBe(CANCELLED);
  });
});

describe.each(GENERATIONS)("a server that asks for consent (%s protocol)", (generation) => {
  const questions = [
    ["consent", CONSENT],
    ["open_url", VISIT],
  ] as const;

  test.each(questions)("is told that a person declined: %s", async (_id, form) => {
    const prompter = new ScriptedPrompter({ answers: [{ answer: false }] });
    const { lines } = await land({ generation, form, prompter });
    expect(lines).toContain('call_1 gives: [{"moon":{"action":"decline"}}]');
  });

  test.each(questions)(
    "is not told that a person declined if a setting says no: %s",
    async (id, form) => {
      const { lines } = await land({ generation, form, ...asked({ [id]: { answer: false } }) });
      expect(lines).toContain('call_1 gives: [{"moon":{"action":"cancel"}}]');
    },
  );
});

test("a boolean field with a person's no is accepted, with false as its value", async () => {
  const properties = { sure: { type: "boolean" } };
  const form = {
    message: "Delete it?",
    requestedSchema: { type: "object", properties, required: ["sure"] },
  };
  const prompter = new ScriptedPrompter({ answers: [{ answer: false }] });
  const { lines } = await land({ form, prompter });
  expect(lines).toContain('call_1 gives: [{"moon":{"action":"accept","content":{"sure":false}}}]');
});
