import { describe, expect, test } from "vitest";
import { freePort } from "../../../test/mcp/http-programs.ts";
import { systemClock } from "../../util/index.ts";
import { type Connection, DeskClient, DeskError, type DeskEvent } from "./client.ts";
import { EventParser } from "./event-parser.ts";
import { PENDING, ServedDesk } from "./served.fixture.ts";

/** Connects again at once. */
const clock = { ...systemClock, sleep: async () => undefined };

async function badGateway(): Promise<Response> {
  return new Response("<html>", { status: 502 });
}

function noNetwork(): Promise<Response> {
  return Promise.reject(new TypeError("no network"));
}

async function start() {
  const served = await ServedDesk.start();
  const token = await served.addPerson("ada");
  return { served, token, client: new DeskClient({ url: served.service.apiUrl, token, clock }) };
}

describe("a client", () => {
  test("lists what waits and answers it", async () => {
    const { served, client } = await start();
    const [pending = PENDING] = await client.pending();
    expect(await client.inquiry(pending)).toEqual(PENDING);
    await client.answer(pending, true, { note: "Go.", isRemembered: false });
    expect(served.desk.calls.at(-1)).toEqual({ answer: true, note: "Go.", isRemembered: false });
    expect(await client.pending()).toEqual([]);
    expect((await client.inquiry(pending)).outcome).toBe("answered");
  });

  test("answers several at once, and is told which of them were refused and why", async () => {
    const { served, client } = await start();
    const changed = { ...PENDING, digest: "0" };
    const [refused, recorded] = await client.answerSeveral([
      { item: changed, answer: true },
      { item: PENDING, answer: true, note: "Go.", isRemembered: false },
    ]);
    expect(refused).toBeInstanceOf(DeskError);
    expect(refused).toMatchObject({ status: 409, code: "changed", changed: ["arguments"] });
    expect(recorded).toMatchObject({ type: "recorded", id: PENDING.id });
    expect(served.desk.calls).toEqual([{ answer: true, note: "Go.", isRemembered: false }]);
  });

  test("cancels, and continues the turn", async () => {
    const { served, client } = await start();
    await expect(client.resume(PENDING)).rejects.toMatchObject({ code: "not_resumed" });
    await client.cancel(PENDING);
    await client.resume(PENDING);
    expect(served.desk.calls).toEqual([{ isCancelled: true }]);
  });

  test("reads the record", async () => {
    const { served, client } = await start();
    expect(await client.me()).toMatchObject({ name: "ada", runs: true });
    expect(await client.inquiries({ by: "user", limit: 3 })).toMatchObject({ next: "more" });
    expect(await client.conversations({ text: "ü&=" })).toMatchObject({
      items: [{ id: PENDING.conversation }],
    });
    expect(await client.conversation(PENDING, 4)).toMatchObject({ first: 4 });
    expect(served.desk.calls).toEqual([{ by: "user", limit: 3 }, { text: "ü&=" }]);
  });

  test("is told who was faster", async () => {
    const { served, client } = await start();
    served.desk.answeredBy = { kind: "user", name: "bob" };
    const failed: unknown = await client.answer(PENDING, true).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(DeskError);
    expect(failed).toMatchObject({
      status: 409,
      code: "already_answered",
      message: "bob answered first.",
      answeredBy: { kind: "user", name: "bob" },
    });
  });

  test("is told why an answer does not count, as a code", async () => {
    const { client } = await start();
    await expect(client.answer(PENDING, "maybe")).rejects.toMatchObject({
      status: 422,
      code: "does_not_fit",
      reason: "misfit",
    });
  });

  test("with a wrong token is refused, also when it listens", async () => {
    const { served } = await start();
    const client = new DeskClient({ url: served.service.apiUrl, token: "x" });
    const refused = { status: 401, code: "unauthorized" };
    await expect(client.pending()).rejects.toMatchObject(refused);
    await expect(client.events().next()).rejects.toMatchObject(refused);
  });

  test("is told that something else is asked than it has read", async () => {
    const { client } = await start();
    await expect(client.answer({ ...PENDING, digest: "another" }, true)).rejects.toMatchObject({
      status: 409,
      code: "changed",
      changed: ["arguments"],
    });
  });

  test("is told that nothing answers", async () => {
    const client = new DeskClient({ url: "http://desk.test", token: "x", fetch: noNetwork });
    await expect(client.pending()).rejects.toMatchObject({ status: 0, code: "unreachable" });
  });

  test("notices that something else answers", async () => {
    const { token } = await start();
    const client = new DeskClient({ url: "http://127.0.0.1:1", token, fetch: badGateway });
    await expect(client.pending()).rejects.toMatchObject({
      status: 502,
      code: "unexpected_response",
    });
  });
});

describe("the stream of events", () => {
  const text =
    ': hello\n\nid: 7\nevent: pending\ndata: {"a":\ndata: 1}\n\nretry: 2000\n\nevent: reset\r\ndata: {}\r\n\r\nevent: bad\ndata: no\n\n';
  const expected = [
    { id: "7", type: "pending", data: { a: 1 } },
    { id: "7", type: "reset", data: {} },
  ];

  test.each([1, 2, 3, 7, 1000])("is parsed in pieces of %i characters", (size) => {
    const parser = new EventParser();
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(expected);
  });

  test("is opened again where it broke, until the desk refuses", async () => {
    const lastIds: (string | null)[] = [];
    const refusal = '{"error":{"code":"unauthorized","message":"Log in."}}';
    const replies = [
      () => new Response('id: 1\nevent: pending\ndata: {"n":1}\n\nid: 2\nevent'),
      () => Promise.reject(new TypeError("no network")),
      () => new Response('id: 3\nevent: pending\ndata: {"n":3}\n\n'),
      () => new Response(refusal, { status: 401 }),
    ];
    const waits: number[] = [];
    const client = new DeskClient({
      url: "http://desk.test",
      fetch: async (_path, init) => {
        lastIds.push(new Headers(init.headers).get("last-event-id"));
        return (replies.shift() ?? (() => Response.error()))();
      },
      clock: { ...systemClock, sleep: async (milliseconds) => void waits.push(milliseconds) },
    });
    const events: DeskEvent[] = [];
    const connections: Connection[] = [];
    const onConnection = (connection: Connection) => connections.push(connection);
    const listen = async () => {
      for await (const event of client.events(undefined, onConnection)) events.push(event);
    };
    await expect(listen()).rejects.toMatchObject({ status: 401 });
    expect(events.map(({ data }) => data)).toEqual([{ n: 1 }, { n: 3 }]);
    expect(lastIds).toEqual([null, "1", "1", "3"]);
    expect(connections).toEqual(["connecting", "live", "lost", "lost", "live", "lost"]);
    expect(waits).toEqual([500, 1000, 500]);
  });
});

describe("events", () => {
  test("come as they happen, until the signal aborts", async () => {
    const { served, client } = await start();
    const stop = new AbortController();
    const events = client.events(stop.signal);
    const first = events.next();
    await served.desk.untilListeners(1);
    served.desk.publish({ text: "a: b\n\nü" }, "pending");
    expect(await first).toEqual({
      done: false,
      value: { id: 1, type: "pending", data: { text: "a: b\n\nü" } },
    });
    const second = events.next();
    stop.abort();
    expect(await second).toEqual({ done: true, value: undefined });
    await served.desk.untilListeners(0);
  });

  test("go on after the last one when the server is back", async () => {
    const port = await freePort();
    const first = await ServedDesk.start({ port });
    const token = await first.addPerson("ada");
    const events = new DeskClient({ url: first.service.apiUrl, token, clock }).events();
    const next = events.next();
    await first.desk.untilListeners(1);
    first.desk.publish({ n: 1 });
    expect((await next).value).toMatchObject({ id: 1 });
    await first.service.close();
    first.desk.publish({ n: 2 });
    const later = events.next();
    const { desk, people } = first;
    await ServedDesk.start({ port, desk, people });
    expect((await later).value).toMatchObject({ id: 2, data: { n: 2 } });
    await events.return(undefined);
  });

  test("start with a reset if the connection broke before the first one", async () => {
    const port = await freePort();
    const first = await ServedDesk.start({ port });
    const token = await first.addPerson("ada");
    const events = new DeskClient({ url: first.service.apiUrl, token, clock }).events();
    const next = events.next();
    await first.desk.untilListeners(1);
    await first.service.close();
    const { desk, people } = first;
    await ServedDesk.start({ port, desk, people });
    expect((await next).value).toMatchObject({ type: "reset" });
    await events.return(undefined);
  });
});
