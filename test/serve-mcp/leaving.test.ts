/** Clients that disconnect, servers that close, and answers that do not match an open question. */
import { Agent } from "node:http";
import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { AWAY_MS, PAUSE_TIMEOUT_MS } from "../../src/surfaces/serve-mcp/client-questions.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { until } from "../mcp/support.ts";
import { counters } from "../security/threats.ts";
import { ask, ERAS, LEGACY, MODERN, Served } from "./support.ts";

const SURE = { question: "Sure?", answer_type: "boolean" };
const CALLED = ["turn", "call_1 calls ask_user"];
const ASKING = ["call_1 approved (run)", "call_1 starts", "call_1.answer.1 asks: Sure?"];
const OPEN = [...CALLED, ...ASKING];
const CLOSED = [
  ...OPEN,
  'call_1.answer.1 cancelled: "interrupted"',
  "call_1 fails: The call was interrupted before its question was answered. The user did not reject it.",
];

/** A client's user. `opened` resolves when the form is shown; it is answered when `answer` is called. */
function waitingUser() {
  const opened = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const elicit = async () => {
    opened.resolve();
    await answered.promise;
    return { action: "accept" as const, content: { answer: true } };
  };
  return { elicit, opened: opened.promise, answer: answered.resolve };
}

async function lines(served: Served): Promise<readonly string[]> {
  return Object.values(await served.record())[0] ?? [];
}

async function untilClosed(served: Served): Promise<void> {
  let seen: readonly string[] = [];
  const look = async () => {
    seen = await lines(served);
  };
  await until(() => {
    void look();
    return seen.length >= CLOSED.length;
  });
}

describe("an open question", () => {
  test.each(ERAS)("is closed when the server closes (a client %s)", async (_, era) => {
    counters("T-PROV-8");
    const served = await Served.start();
    const user = waitingUser();
    const client = await served.connect({ era, elicit: user.elicit });
    const asked = ask(client, SURE).catch(() => undefined);
    await user.opened;
    await served.service.close();
    expect(await lines(served)).toEqual(CLOSED);
    user.answer();
    await asked;
    expect(await lines(served)).toEqual(CLOSED);
  });

  test("is closed when the client cancels its call", async () => {
    const served = await Served.start();
    const user = waitingUser();
    const client = await served.connect({ era: LEGACY, elicit: user.elicit });
    const abort = new AbortController();
    const call = { name: "ask_user", arguments: SURE };
    const asked = client.callTool(call, { signal: abort.signal }).catch(() => undefined);
    await user.opened;
    abort.abort();
    await asked;
    await untilClosed(served);
    expect(await lines(served)).toEqual(CLOSED);
  });

  test("is closed when the client disconnects", async () => {
    const served = await Served.start();
    const user = waitingUser();
    const client = await served.connect({ era: LEGACY, elicit: user.elicit });
    const asked = ask(client, SURE).catch(() => undefined);
    await user.opened;
    await client.close();
    await asked;
    await untilClosed(served);
    expect(await lines(served)).toEqual(CLOSED);
  });

  test("is closed if the request with its answer does not arrive in time", async () => {
    const served = await Served.start();
    const client = await served.connect({ era: MODERN, elicit: () => ({ action: "cancel" }) });
    const { requestState } = await begin(client);
    served.clock.advance(PAUSE_TIMEOUT_MS - 1);
    expect(await lines(served)).toEqual(OPEN);
    served.clock.advance(1);
    await untilClosed(served);
    expect(await lines(served)).toEqual(CLOSED);
    await expect(resume(client, requestState)).rejects.toThrow("Invalid or expired requestState");
    expect(served.clock.sleepers).toBe(0);
  });
});

/** A client with an open question that has closed its connection, like a process that ended. */
async function leaveOpen(served: Served) {
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const client = await served.connect({ era: MODERN, elicit: () => ({ action: "cancel" }), agent });
  const { requestState } = await begin(client);
  expect(served.clock.sleepers).toBe(1);
  agent.destroy();
  await until(() => served.clock.sleepers === 2);
  return { client, requestState };
}

describe("the open question of a client that disconnects between two requests", () => {
  test("is closed soon, and the conversation is free again", async () => {
    counters("T-PROV-8");
    const served = await Served.start();
    await leaveOpen(served);
    served.clock.advance(AWAY_MS - 1);
    expect(await lines(served)).toEqual(OPEN);
    served.clock.advance(1);
    await untilClosed(served);
    const [summary] = await served.store.list();
    if (summary === undefined) throw new Error("There is no conversation.");
    await (await served.store.open(summary.id)).release();
    expect([await lines(served), served.clock.sleepers]).toEqual([CLOSED, 0]);
  });

  test("stays open if the client is back in time", async () => {
    const served = await Served.start();
    const { client, requestState } = await leaveOpen(served);
    served.clock.advance(AWAY_MS - 1);
    const result = await resume(client, requestState);
    expect([result["isError"], (await lines(served)).slice(0, 6), served.clock.sleepers]).toEqual([
      undefined,
      [...OPEN, "call_1.answer.1 answered: true"],
      0,
    ]);
  });

  test("is asked anew if the client is back later, and its answer counts once", async () => {
    const served = await Served.start();
    const { client, requestState } = await leaveOpen(served);
    served.clock.advance(AWAY_MS);
    await untilClosed(served);
    const result = await resume(client, requestState);
    await expect(resume(client, requestState)).rejects.toThrow("Invalid or expired requestState");
    const text = '{"answer_type":"boolean","answer":true}';
    expect([result["content"], (await lines(served)).slice(CLOSED.length)]).toEqual([
      [{ type: "text", text }],
      [
        ...OPEN.map((line) => line.replace("call_1", "call_2")),
        "call_2.answer.1 answered: true",
        "call_2 starts",
        `call_2 gives: ${text}`,
      ],
    ]);
  });

  test("gets no answer that was given to another question", async () => {
    const served = await Served.start();
    const { client, requestState } = await leaveOpen(served);
    served.clock.advance(AWAY_MS);
    await untilClosed(served);
    const other = { name: "ask_user", arguments: { ...SURE, question: "Delete it?" } };
    const result = await send(client, { ...other, requestState, inputResponses: ANSWER });
    expect([typeof result["requestState"], (await lines(served)).at(-1)]).toEqual([
      "string",
      "call_2.answer.1 asks: Delete it?",
    ]);
  });
});

describe("an answer", () => {
  test("goes to the waiting call, and only once", async () => {
    const served = await Served.start();
    const client = await served.connect({ era: MODERN, elicit: () => ({ action: "cancel" }) });
    const { requestState } = await begin(client);
    const result = await resume(client, requestState);
    await expect(resume(client, requestState)).rejects.toThrow("Invalid or expired requestState");
    const text = '{"answer_type":"boolean","answer":true}';
    expect([result["content"], await lines(served), served.clock.sleepers]).toEqual([
      [{ type: "text", text }],
      [...OPEN, "call_1.answer.1 answered: true", "call_1 starts", `call_1 gives: ${text}`],
      0,
    ]);
  });

  test("is refused for an earlier question of the call while a later one is open", async () => {
    const served = await Served.start({}, { run: "ask" });
    const client = await served.connect({ era: MODERN, elicit: () => ({ action: "cancel" }) });
    const { requestState } = await begin(client);
    const yes = { question: { action: "accept", content: { answer: true } } };
    const next = await resume(client, requestState, yes);
    await expect(resume(client, requestState)).rejects.toThrow("Invalid or expired requestState");
    const waited = "call_1 waits for permission (run)";
    expect(await lines(served)).toEqual([...CALLED, waited, ...ASKING]);
    const result = await resume(client, next["requestState"] as string);
    expect(result["isError"]).toBeUndefined();
  });

  test("is ignored if it arrives before the question", async () => {
    const served = await Served.start();
    const client = await served.connect({ era: MODERN, elicit: () => ({ action: "cancel" }) });
    const params = { name: "ask_user", arguments: SURE, inputResponses: ANSWER };
    const { requestState } = await send(client, params);
    expect([typeof requestState, await lines(served)]).toEqual(["string", OPEN]);
  });

  test("is refused with a modified state, and the question stays open", async () => {
    const served = await Served.start();
    const client = await served.connect({ era: MODERN, elicit: () => ({ action: "cancel" }) });
    const { requestState } = await begin(client);
    const [version, body = "", mac] = requestState.split(".");
    const changed = body.replace(/^./, (first) => (first === "x" ? "y" : "x"));
    const forged = [version, changed, mac].join(".");
    await expect(resume(client, forged)).rejects.toThrow("Invalid or expired requestState");
    expect(await lines(served)).toEqual(OPEN);
  });

  test("is refused from another client", async () => {
    const served = await Served.start();
    const [first, second] = await Promise.all(
      ["first", "second"].map((name) =>
        served.connect({ era: MODERN, name, elicit: () => ({ action: "cancel" }) }),
      ),
    );
    if (first === undefined || second === undefined)
      throw new Error("The clients are not connected.");
    const { requestState } = await begin(first);
    await expect(resume(second, requestState)).rejects.toThrow("Invalid or expired requestState");
    expect(await lines(served)).toEqual(OPEN);
  });

  test("is requested again if it is missing, in the same inquiry", async () => {
    const served = await Served.start();
    const client = await served.connect({ era: MODERN, elicit: () => ({ action: "cancel" }) });
    const { requestState } = await begin(client);
    const again = await resume(client, requestState, {});
    const result = await resume(client, again["requestState"] as string);
    expect([again["inputRequests"], result["isError"], (await lines(served)).slice(4, 6)]).toEqual([
      { question: expect.objectContaining({ method: "elicitation/create" }) },
      undefined,
      ["call_1.answer.1 asks: Sure?", "call_1.answer.1 answered: true"],
    ]);
  });
});

const ANSWER = { question: { action: "accept", content: { answer: true } } };

/** Sends the first of two requests. Its result asks for input. */
async function begin(client: Client): Promise<{ readonly requestState: string }> {
  const result = await send(client, { name: "ask_user", arguments: SURE });
  return { requestState: result["requestState"] as string };
}

function resume(client: Client, requestState: string, inputResponses: JsonObject = ANSWER) {
  return send(client, { name: "ask_user", arguments: SURE, requestState, inputResponses });
}

async function send(client: Client, params: JsonObject): Promise<JsonObject> {
  const result = await client.callTool(params as never, { allowInputRequired: true });
  return result as unknown as JsonObject;
}
