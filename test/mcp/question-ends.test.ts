/** Questions without an answer, and their calls. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { UnscopedQuestion } from "../../src/reach/mcp/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { AttemptedCall, answersOf, createTool, questionsOf } from "./attempted-call.ts";
import {
  call,
  GENERATIONS,
  inProcessServer,
  isRunning,
  never,
  type TestServer,
  testServer,
  until,
  untilLogged,
  untilRestarted,
} from "./support.ts";

const ACCEPTED = [{ moon: { action: "accept", content: { name: "Io" } } }];

describe("a call without an answer (older protocol)", () => {
  test("is cancelled, and so is the question", async () => {
    const { servers, log } = inProcessServer("older");
    const asked = await (await begin(servers, "ask_and_wait")).ask();
    asked.onUnanswered?.();
    const lines = ['answered {"action":"cancel"}', "cancelled"];
    await untilLogged(log, ...lines);
    expect(log()).toEqual(expect.arrayContaining(lines));
  });

  test("is cancelled on abort, and a later answer is not used", async () => {
    const { servers, get, log } = inProcessServer("older");
    const controller = new AbortController();
    const attempted = await begin(servers, "ask_and_wait");
    await attempted.ask({}, controller.signal);
    controller.abort();
    await untilLogged(log, 'answered {"action":"cancel"}', "cancelled");
    expect(await attempted.enter({ name: "Io" }, controller.signal)).toEqual({ type: "cancelled" });
    expect((await call(await get(), "generation")).content).toBe("older");
  });

  test("is cancelled if its answer comes with an aborted signal", async () => {
    const { servers, log } = inProcessServer("older");
    const attempted = await begin(servers, "ask_and_wait");
    await attempted.ask();
    expect(await attempted.enter({ name: "Io" }, AbortSignal.abort())).toEqual({
      type: "cancelled",
    });
    await until(() => log().includes("cancelled"));
  });
});

test("a call without an answer is not repeated (newer protocol)", async () => {
  const { servers, get, log } = inProcessServer("newer");
  const asked = await (await begin(servers, "ask")).ask();
  asked.onUnanswered?.();
  expect((await call(await get(), "generation")).content).toBe("newer");
  expect(log().filter((line) => line.startsWith("answered"))).toEqual([]);
});

describe("a question is closed", () => {
  test("when its server withdraws it, and the call continues", async () => {
    const { servers } = inProcessServer("older");
    const attempted = await begin(servers, "ask_and_withdraw");
    const { closed = never } = await attempted.ask();
    expect(closed.aborted).toBe(false);
    await until(() => closed.aborted);
    expect(await attempted.enter()).toEqual({ type: "success", content: "never mind" });
  });

  test("when the call has ended without waiting for the answer", async () => {
    const { servers, log } = inProcessServer("older");
    const attempted = await begin(servers, "ask_and_return");
    const { closed = never } = await attempted.ask();
    await until(() => closed.aborted);
    expect(await attempted.enter()).toEqual({ type: "success", content: "returned" });
    await until(() => log().includes('answered {"action":"cancel"}'));
  });

  test("when its server crashes, and the model gets the error", async () => {
    const { servers, pids } = testServer(["--mode=older"]);
    const attempted = await begin(servers, "ask_and_crash");
    const { closed = never } = await attempted.ask();
    await until(() => closed.aborted);
    expect(await attempted.enter()).toEqual({
      type: "error",
      content:
        'The MCP server "test" exited while it ran "ask_and_crash": it exited with status 7. ' +
        "The next call restarts it.",
    });
    expect(pids().map(isRunning)).toEqual([false]);
  });
});

test("if a server crashes during a question, the answer goes to its replacement (newer protocol)", async () => {
  const { servers, get, pids } = testServer(["--mode=newer"]);
  const attempted = await begin(servers, "ask");
  await attempted.ask();
  process.kill(pids()[0] ?? 0, "SIGKILL");
  await untilRestarted(await get());
  expect(answersOf(await attempted.enter({ name: "Io" }))).toEqual(ACCEPTED);
  expect(pids()).toHaveLength(2);
});

describe.each(GENERATIONS)("the time limit of a call (%s protocol)", (generation) => {
  test("pauses while a question is open", async () => {
    const clock = new FakeClock();
    const { servers } = inProcessServer(generation, { context: { clock } });
    const attempted = await begin(servers, "ask", 10);
    await attempted.ask();
    expect(clock.sleepers).toBe(0);
    clock.advance(3_600_000);
    expect(answersOf(await attempted.enter({ name: "Io" }))).toEqual(ACCEPTED);
  });

  test("includes the time before the question", async () => {
    const clock = new FakeClock();
    const { servers, log } = inProcessServer(generation, { context: { clock } });
    const attempted = await begin(servers, "wait_ask_wait", 10);
    const asking = attempted.ask();
    await until(() => log().includes("waiting"));
    clock.advance(6000);
    await asking;
    clock.advance(6000);
    const result = attempted.enter({ name: "Io" });
    await until(() => log().includes("waiting again"));
    clock.advance(4000);
    expect(await result).toEqual({
      type: "error",
      content:
        'The MCP server "test" did not run "wait_ask_wait" within 10 s. It was cancelled. The limit is conversation.tools.my_tool.timeout_secs.',
    });
  });
});

describe("a question outside of a call", () => {
  test("is cancelled and reported", async () => {
    const { server, unscoped } = withUnscoped();
    expect((await call(await server.get(), "ask_later")).content).toBe("later");
    await until(() => server.log().includes('answered {"action":"cancel"}'));
    expect(unscoped).toMatchObject([{ server: "test", message: "Which moon?" }]);
  });

  test("waits until other calls have ended if it may belong to any of them", async () => {
    const { server, unscoped } = withUnscoped();
    const other = new AbortController();
    const waiting = call(await server.get(), "wait", { signal: other.signal });
    await until(() => server.log().includes("waiting"));
    const attempted = await begin(server.servers, "ask");
    const asking = attempted.ask();
    await until(() => server.log().includes("asked moon"));
    other.abort(new Error("never mind"));
    await expect(waiting).rejects.toThrow("never mind");
    expect((await asking).question.id).toBe("name");
    expect(answersOf(await attempted.enter({ name: "Io" }))).toEqual(ACCEPTED);
    expect(unscoped).toEqual([]);
  });

  test("is cancelled if each of several calls may have asked it", async () => {
    const { server, unscoped } = withUnscoped();
    const two = [await begin(server.servers, "ask"), await begin(server.servers, "ask")];
    const ends = await Promise.all(two.map((attempted) => attempted.enter()));
    const cancelled = [{ moon: { action: "cancel" } }];
    expect(ends.map(answersOf)).toEqual([cancelled, cancelled]);
    expect(unscoped.map(({ tool }) => tool)).toEqual([undefined, undefined]);
  });

  test("is avoided: a server that has asked before gets one call at a time", async () => {
    const { server, unscoped } = withUnscoped();
    const first = await begin(server.servers, "ask");
    await first.ask();
    const second = await begin(server.servers, "ask");
    const asking = second.ask();
    expect(answersOf(await first.enter({ name: "Io" }))).toEqual(ACCEPTED);
    expect((await asking).question.id).toBe("name");
    expect(answersOf(await second.enter({ name: "Io" }))).toEqual(ACCEPTED);
    expect(unscoped).toEqual([]);
    const steps = server.log().filter((line) => /^(asked|answered) /.test(line));
    expect(steps.map((line) => line.split(" ")[0])).toEqual([
      "asked",
      "answered",
      "asked",
      "answered",
    ]);
  });

  test("may be a second question of a cancelled call", async () => {
    const { server, unscoped } = withUnscoped();
    const { executor } = await createTool(server.servers, { source: "mcp.test.ask" });
    const form = { message: "Well?", requestedSchema: { type: "object" } };
    const asked = await new AttemptedCall(executor, { rounds: [{ a: form, b: form }] }).ask();
    await untilLogged(server.log, "asked a", "asked b");
    asked.onUnanswered?.();
    await until(() => server.log().filter((line) => line.startsWith("answered")).length === 2);
    expect(unscoped.map(({ tool, message }) => [tool, message])).toEqual([["my_tool", "Well?"]]);
  });

  test("does not delay a call that is aborted while it waits", async () => {
    const { server } = withUnscoped();
    const first = await begin(server.servers, "ask");
    await first.ask();
    const controller = new AbortController();
    const second = (await begin(server.servers, "ask")).enter({}, controller.signal);
    controller.abort();
    expect(await second).toEqual({ type: "cancelled" });
    expect(answersOf(await first.enter({ name: "Io" }))).toEqual(ACCEPTED);
    expect(server.log().filter((line) => line === "asked moon")).toHaveLength(1);
  });
});

describe("a secret", () => {
  const rounds = [
    {
      login: {
        message: "Sign in.",
        requestedSchema: {
          type: "object",
          properties: {
            user: { type: "string" },
            apiKey: { type: "string", minLength: 3, default: "abc" },
          },
        },
      },
    },
  ];

  test.each(GENERATIONS)(
    "stays secret if the server may ask for it (%s protocol)",
    async (generation) => {
      verifies("082/secret/mcp-tool-cannot-declare-it");
      const { servers } = inProcessServer(generation, { settings: { allowsSecrets: true } });
      const { executor } = await createTool(servers, { source: "mcp.test.ask" });
      const attempted = new AttemptedCall(executor, { rounds });
      const [, secret] = questionsOf(await attempted.ask());
      expect(secret).toEqual({
        id: "apiKey",
        text: "apiKey",
        context: "Expected: text, at least 3 characters. You may leave it empty.",
        answerType: { type: "secret" },
        exclusive: false,
        persistence: "turn",
      });
      const again = await attempted.ask({ user: "me", apiKey: "x7" });
      expect(JSON.stringify(again)).not.toContain("x7");
      expect(answersOf(await attempted.enter({ apiKey: "x7y" }))).toEqual([
        { login: { action: "accept", content: { user: "me", apiKey: "x7y" } } },
      ]);
    },
  );

  test("is refused if the server may not ask for it, and the call is cancelled", async () => {
    verifies("082/secret/mcp-tool-cannot-declare-it");
    const { servers, log } = inProcessServer("older");
    const { executor } = await createTool(servers, { source: "mcp.test.ask" });
    const asked = await new AttemptedCall(executor, { rounds }).ask();
    expect(asked.refusal?.content).toContain('for a secret ("apiKey") in a form');
    asked.onUnanswered?.();
    await until(() => log().includes('answered {"action":"cancel"}'));
  });
});

test("a server may request a retry without a question (newer protocol)", async () => {
  const { servers } = inProcessServer("newer");
  const attempted = await begin(servers, "ask_again");
  expect(await attempted.enter()).toEqual({ type: "success", content: "enough" });
});

test("an abandoned call is cancelled", async () => {
  const { servers, log } = testServer(["--mode=older"]);
  await (await begin(servers, "ask_and_wait")).ask();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // The flag defines it.
  await until(() => {
    collect();
    return log().includes("cancelled");
  });
  expect(log()).toContain("cancelled");
});

async function begin(
  servers: TestServer["servers"],
  tool: string,
  timeoutSeconds?: number,
): Promise<AttemptedCall> {
  const { executor } = await createTool(servers, {
    source: `mcp.test.${tool}`,
    ...(timeoutSeconds !== undefined && { timeout_secs: timeoutSeconds }),
  });
  return new AttemptedCall(executor);
}

/** A server of the older protocol, and its questions outside of calls. */
function withUnscoped() {
  const unscoped: UnscopedQuestion[] = [];
  const context = { onUnscopedQuestion: (question: UnscopedQuestion) => unscoped.push(question) };
  return { server: inProcessServer("older", { context }), unscoped };
}
