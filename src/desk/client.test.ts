import { describe, expect, test } from "vitest";
import { freePort } from "../../test/mcp/http-programs.ts";
import { systemClock } from "../util/index.ts";
import { DeskClient, DeskError } from "./client.ts";
import { PENDING, ServedDesk } from "./served.fixture.ts";

/** Connects again at once. */
const clock = { ...systemClock, sleep: async () => undefined };

async function badGateway(): Promise<Response> {
  return new Response("<html>", { status: 502 });
}

async function start() {
  const served = await ServedDesk.start();
  const token = await served.addPerson("ada");
  return { served, token, client: new DeskClient({ url: served.service.url, token, clock }) };
}

describe("a client", () => {
  test("lists what waits and answers it", async () => {
    const { served, client } = await start();
    const [pending = PENDING] = await client.pending();
    expect(await client.inquiry(pending)).toEqual(PENDING);
    await client.answer(pending, true, { note: "Go.", remember: false });
    expect(served.desk.calls).toEqual([
      { type: "answer", answer: true, note: "Go.", isRemembered: false },
    ]);
    expect(await client.pending()).toEqual([]);
    expect((await client.inquiry(pending))["outcome"]).toBe("answered");
  });

  test("cancels, and continues the turn", async () => {
    const { served, client } = await start();
    await expect(client.resume(PENDING)).rejects.toMatchObject({ code: "not_resumed" });
    await client.cancel(PENDING);
    await client.resume(PENDING);
    expect(served.desk.calls).toEqual([{ type: "cancel" }]);
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

  test("with a wrong token is refused, also when it listens", async () => {
    const { served } = await start();
    const client = new DeskClient({ url: served.service.url, token: "x" });
    const refused = { status: 401, code: "unauthorized" };
    await expect(client.pending()).rejects.toMatchObject(refused);
    await expect(client.events().next()).rejects.toMatchObject(refused);
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
    const events = new DeskClient({ url: first.service.url, token, clock }).events();
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
    const events = new DeskClient({ url: first.service.url, token, clock }).events();
    const next = events.next();
    await first.desk.untilListeners(1);
    await first.service.close();
    const { desk, people } = first;
    await ServedDesk.start({ port, desk, people });
    expect((await next).value).toMatchObject({ type: "reset" });
    await events.return(undefined);
  });
});
