/** The desk with more clients and requests than it can serve. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { bearer, QUESTION_PATH, READ, ServedDesk } from "./served.fixture.ts";

/** A connection on which nothing but this text comes. */
async function openSilent(
  { port }: ServedDesk,
  text = "",
  localAddress = "127.0.0.1",
): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(text);
  return socket.resume();
}

/** Those that are open already have waited for a while. */
function openLater(served: ServedDesk, text?: string): Promise<Socket> {
  served.clock.advance(1000);
  return openSilent(served, text);
}

const SILENCE: readonly (readonly [string, (port: number) => string])[] = [
  ["nothing comes", () => ""],
  [
    "half a body comes",
    (port) =>
      `POST /api/v1/challenge HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n` +
      "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
  ],
];

describe("connections on which no request comes", () => {
  test.each(SILENCE)(
    "lock no one out, not even at the same address: %s",
    async (_what, textFor) => {
      counters("T-DESK-5");
      const limits = { connections: 50, waitingPerAddress: 10 };
      const served = await ServedDesk.start({ limits });
      const token = await served.addPerson("ada");
      for (let count = 0; count < 200; count += 1) await openSilent(served, textFor(served.port));
      const { status } = await served.send("/inquiries?state=pending", { headers: bearer(token) });
      expect(status).toBe(200);
    },
  );

  test.each(SILENCE)(
    "are closed beyond their number once they have waited a while, the oldest first: %s",
    async (_what, textFor) => {
      counters("T-DESK-5");
      const served = await ServedDesk.start({ limits: { waitingPerAddress: 2 } });
      const open = () => openLater(served, textFor(served.port));
      const [first, ...others] = [await open(), await open(), await open()];
      if (!first.closed) await once(first, "close");
      expect(others.map(({ closed }) => closed)).toEqual([false, false]);
    },
  );

  test("are closed also if there was a request before", async () => {
    counters("T-DESK-5");
    const served = await ServedDesk.start({ limits: { waitingPerAddress: 2 } });
    const used = await openSilent(
      served,
      `GET / HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\n\r\n`,
    );
    await once(used, "data");
    const [later] = [await openLater(served), await openLater(served), await openLater(served)];
    if (!later.closed) await once(later, "close");
    expect(used.closed).toBe(true);
  });

  /** Elsewhere, only one address of this machine is set up. */
  test.runIf(process.platform === "linux")(
    "stay open if they come from another address",
    async () => {
      counters("T-DESK-5");
      const served = await ServedDesk.start({ limits: { waitingPerAddress: 2 } });
      const other = await openSilent(served, "", "127.0.0.2");
      const [first] = [await openLater(served), await openLater(served), await openLater(served)];
      if (!first.closed) await once(first, "close");
      expect(other.closed).toBe(false);
    },
  );

  test("are kept if they have only just been opened: the request may be on its way", async () => {
    const served = await ServedDesk.start({ limits: { waitingPerAddress: 2 } });
    const sockets: Socket[] = [];
    for (let count = 0; count < 20; count += 1) sockets.push(await openSilent(served));
    for (const socket of sockets) socket.end("GET /api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n");
    const responses = await Promise.all(sockets.map((socket) => readText(socket)));
    expect(responses.map((response) => response.slice(0, 9))).toEqual(
      sockets.map(() => "HTTP/1.1 "),
    );
  });
});

test("requests beyond what the desk works on at once are told to come back", async () => {
  counters("T-DESK-5");
  const served = await ServedDesk.start({ limits: { requests: 2 } });
  const token = await served.addPerson("ada");
  const release = served.desk.holdAnswers();
  const path = `${QUESTION_PATH}/answer`;
  const send = () =>
    served.send(path, { method: "POST", headers: bearer(token), body: { answer: true, ...READ } });
  const held = [send(), send()];
  await served.desk.untilHeld(2);
  const { status, headers, json } = await send();
  release();
  expect([status, headers["retry-after"], json["error"]]).toMatchObject([
    503,
    "1",
    { code: "busy" },
  ]);
  expect((await Promise.all(held)).map((each) => each.status)).toEqual([200, 409]);
});

async function startAnswering() {
  const served = await ServedDesk.start();
  const token = await served.addPerson("ada");
  const answer = (key: string, value = true, { as = token, to = QUESTION_PATH } = {}) =>
    served.send(`${to}/answer`, {
      method: "POST",
      headers: { ...bearer(as), "idempotency-key": key },
      body: { answer: value, ...READ },
    });
  return { served, answer };
}

describe("an answer with an Idempotency-Key", () => {
  test("is recorded once, and has the same result again", async () => {
    const { served, answer } = await startAnswering();
    const results = await Promise.all([answer("k 1"), answer("k 1")]);
    results.push(await answer("k 1"));
    expect(results.map(({ status, text }) => [status, text])).toEqual(
      results.map(() => [200, '{"type":"recorded"}\n']),
    );
    expect(served.desk.calls).toEqual([{ answer: true }]);
    expect((await answer("k 2")).status).toBe(409);
  });

  test("is refused if another answer had that key", async () => {
    const { served, answer } = await startAnswering();
    await answer("k");
    const { status, json } = await answer("k", false);
    expect([status, json["error"]]).toMatchObject([422, { code: "idempotency_key_reused" }]);
    expect(served.desk.calls).toEqual([{ answer: true }]);
  });

  test("is refused if an answer to something else had that key", async () => {
    const { answer } = await startAnswering();
    await answer("k");
    const { status } = await answer("k", true, { to: `${QUESTION_PATH}2` });
    expect(status).toBe(422);
  });

  test("is another one after a day", async () => {
    const { served, answer } = await startAnswering();
    const day = 24 * 3_600_000;
    const statuses = [(await answer("k")).status];
    served.clock.advance(day);
    statuses.push((await answer("k")).status);
    served.clock.advance(1);
    statuses.push((await answer("k")).status);
    expect(statuses).toEqual([200, 200, 409]);
  });

  test("does not count for another person with the same key", async () => {
    const { served, answer } = await startAnswering();
    const other = await served.addPerson("ben");
    await answer("k");
    expect((await answer("k", false, { as: other })).status).toBe(409);
  });

  test("can be sent again if the desk has not recorded it", async () => {
    const { served, answer } = await startAnswering();
    served.desk.problem = "The disk is full.";
    const { status } = await answer("k");
    served.desk.problem = undefined;
    expect([status, (await answer("k")).status]).toEqual([500, 200]);
  });

  test.each(["", "x".repeat(256), "ü"])("is refused if the key is not valid: %j", async (key) => {
    const { answer } = await startAnswering();
    expect((await answer(key)).status).toBe(400);
  });
});
