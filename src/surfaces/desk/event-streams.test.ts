/** Server-sent events, as clients on sockets get them. */
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { systemClock } from "../../util/index.ts";
import { EventLog } from "./event-log.ts";
import { bearer, PENDING, ServedDesk } from "./served.fixture.ts";

/** One client that listens, and what it got. */
class Listener {
  text = "";
  readonly #response: IncomingMessage;

  private constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding("utf8").on("data", (chunk: string) => (this.text += chunk));
    response.on("error", () => undefined);
    onTestFinished(() => void response.destroy());
  }

  static async open(served: ServedDesk, headers: Record<string, string>): Promise<Listener> {
    const sent = get({
      host: "127.0.0.1",
      port: served.port,
      path: "/api/v1/events",
      headers,
      agent: false,
    });
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return new Listener(response);
  }

  get status() {
    return this.#response.statusCode;
  }

  get headers() {
    return this.#response.headers;
  }

  get ids(): readonly number[] {
    return [...this.text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  }

  async ended(): Promise<void> {
    if (!this.#response.closed) await once(this.#response, "close");
  }

  async until(isThere: (text: string) => boolean): Promise<void> {
    while (!isThere(this.text)) await once(this.#response, "data");
  }

  close(): void {
    this.#response.destroy();
  }
}

async function start(options: Parameters<typeof ServedDesk.start>[0] = {}) {
  const served = await ServedDesk.start(options);
  const token = await served.addPerson("ada");
  return {
    served,
    token,
    listen: (more = {}) => Listener.open(served, { ...bearer(token), ...more }),
  };
}

describe("a client", () => {
  test("gets what happens from now on, and stops listening when it leaves", async () => {
    const { served, listen } = await start();
    served.desk.publish({ n: 1 });
    const client = await listen();
    served.desk.publish({ n: 2, text: "two\nlines\r\nid: 99" }, "pending");
    await client.until((text) => text.endsWith("}\n\n"));
    expect(client.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
    expect(client.text).toBe(
      'retry: 2000\n\nid: 2\nevent: pending\ndata: {"n":2,"text":"two\\nlines\\r\\nid: 99"}\n\n',
    );
    client.close();
    await served.desk.untilListeners(0);
  });

  test("gets what it missed when it comes back", async () => {
    const { served, listen } = await start();
    for (let n = 1; n <= 4; n += 1) served.desk.publish({ n });
    const client = await listen({ "last-event-id": "2" });
    served.desk.publish({ n: 5 });
    await client.until((text) => text.includes("id: 5"));
    expect(client.ids).toEqual([3, 4, 5]);
  });

  test("gets nothing twice that is still to be sent to others when it comes back", async () => {
    const { served, listen } = await start();
    const other = await listen();
    const { people } = served;
    const find = people.findByHash.bind(people);
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    // The first to be looked up is who gets the first event.
    people.findByHash = async (hash) => {
      people.findByHash = find;
      await isReleased;
      return find(hash);
    };
    served.desk.publish({ n: 1 });
    served.desk.publish({ n: 2 });
    const client = await listen({ "last-event-id": "0" });
    release();
    await other.until((text) => text.includes("id: 2"));
    served.desk.publish({ n: 3 });
    await client.until((text) => text.includes("id: 3"));
    expect(client.ids).toEqual([1, 2, 3]);
  });

  test("may name the last event of a real desk, whose ids start with the time", async () => {
    const log = new EventLog(systemClock);
    const ids: number[] = [];
    log.subscribe(({ id }) => ids.push(id));
    log.emit({ type: "reset", data: {} });
    const { listen } = await start();
    expect((await listen({ "last-event-id": ids.join() })).status).toBe(200);
  });

  test.each(["x", "-1", "1.5", "1e3", "99999999999999999999"])(
    "is refused if its last event is not valid: %s",
    async (id) => {
      const { listen } = await start();
      expect((await listen({ "last-event-id": id })).status).toBe(400);
    },
  );

  test("may have got the last event from a desk with the time of today in its ids", async () => {
    const log = new EventLog(systemClock);
    const ids: number[] = [];
    log.subscribe(({ id }) => ids.push(id));
    log.emit({ type: "pending", data: PENDING });
    const { listen } = await start();
    expect((await listen({ "last-event-id": String(ids[0]) })).status).toBe(200);
  });

  test("gets a comment every fifteen seconds", async () => {
    const { served, listen } = await start();
    const client = await listen();
    for (let count = 1; count <= 2; count += 1) {
      served.clock.advance(15_000);
      await client.until((text) => text.split(": keep-alive\n\n").length === count + 1);
    }
    expect(client.ids).toEqual([]);
  });

  test("gets events through its session until it logs out", async () => {
    counters("T-DESK-6");
    const { served } = await start();
    const { headers } = await served.login();
    const client = await Listener.open(served, headers);
    served.desk.publish({ n: 1 });
    await client.until((text) => text.includes("id: 1"));
    await served.send("/logout", { method: "POST", headers });
    served.desk.publish({ n: 2 });
    await client.ended();
    expect([client.ids, served.desk.listeners]).toEqual([[1], 0]);
  });

  test("gets nothing more once its person is removed", async () => {
    counters("T-DESK-6");
    const { served, listen } = await start();
    const client = await listen();
    await served.people.remove("ada");
    served.desk.publish({ secret: true });
    await client.ended();
    expect(client.text).toBe("retry: 2000\n\n");
  });

  test("is disconnected once its person is removed, even if nothing happens", async () => {
    counters("T-DESK-6");
    const { served, listen } = await start();
    const client = await listen();
    await served.people.remove("ada");
    served.clock.advance(15_000);
    await client.ended();
    expect(served.desk.listeners).toBe(0);
  });

  test("is told to come back later if there are too many", async () => {
    counters("T-DESK-5");
    const { listen } = await start({ limits: { streams: 1 } });
    await listen();
    const second = await listen();
    expect([second.status, second.headers["retry-after"]]).toEqual([503, "30"]);
  });
});

describe("a client that does not read", () => {
  test("loses its connection, and costs no more than the limit", async () => {
    counters("T-DESK-5");
    const { served, token } = await start({ limits: { bufferedBytes: 64 << 10 } });
    const socket = connect(served.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => undefined);
    socket.write(
      `GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    await served.desk.untilListeners(1);
    let published = 0;
    while (served.desk.listeners === 1) {
      served.desk.publish({ text: "x".repeat(32 << 10) });
      published += 1;
      await new Promise(setImmediate);
    }
    // The system takes some megabytes before anything waits.
    expect(published).toBeLessThan(1000);
    served.clock.advance(15_000);
    socket.resume();
    await once(socket, "close");
  });

  test("gets everything when it comes back, however much it missed", async () => {
    const { served, listen } = await start({ limits: { bufferedBytes: 4000 } });
    for (let n = 1; n <= 50; n += 1)
      served.desk.publish({ text: "x".repeat(n === 7 ? 5000 : 300) });
    const got = [0];
    let connections = 0;
    while (got.at(-1) !== 50) {
      const client = await listen({ "last-event-id": String(got.at(-1)) });
      connections += 1;
      await Promise.race([client.ended(), client.until((text) => text.includes("id: 50"))]);
      got.push(...client.ids);
    }
    expect(got.slice(1)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    expect(connections).toBeLessThan(50);
  });
});

test("five hundred clients get every event", async () => {
  const { served, listen } = await start();
  const clients = await Promise.all(Array.from({ length: 500 }, () => listen()));
  for (let n = 1; n <= 40; n += 1) {
    served.desk.publish({ n, text: "x".repeat(500) });
    if (n % 10 === 0) await new Promise(setImmediate);
  }
  await Promise.all(clients.map((client) => client.until((text) => text.includes("id: 40\n"))));
  const expected = Array.from({ length: 40 }, (_, index) => index + 1);
  expect(clients.filter(({ ids }) => ids.join() !== expected.join())).toEqual([]);
  expect(served.problems).toEqual([]);
});

test("closing the server ends the streams", async () => {
  const { served, listen } = await start();
  const client = await listen();
  await served.service.close();
  await client.ended();
  expect(served.desk.listeners).toBe(0);
});
