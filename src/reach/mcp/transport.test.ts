import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { limitMessages, limitOpenRequests, MAX_MESSAGE_BYTES } from "./transport.ts";

const EVENTS = "text/event-stream; charset=utf-8";
const TOO_LONG = "it sent a message of more than 32 MiB";
const MEBIBYTE = "x".repeat(1024 * 1024);

describe("a body over HTTP", () => {
  test.each([
    ["of one message", "application/json", MEBIBYTE],
    ["of an event that is one line", EVENTS, MEBIBYTE],
    ["of an event of many lines", EVENTS, `data: ${MEBIBYTE}\n`],
    ["of an event whose lines end in two characters", EVENTS, `data: ${MEBIBYTE}\r\n`],
    ["that only looks like events", "application/json; x=text/event-stream", `${MEBIBYTE}\n\n`],
  ])("is read up to the limit, and no further: %s", async (_, type, piece) => {
    counters("T-MCP-2");
    const { response, taken, failures } = endless(type, piece);
    await expect(response.text()).rejects.toThrow(TOO_LONG);
    expect(failures).toEqual([TOO_LONG]);
    expect(taken()).toBeLessThan(MAX_MESSAGE_BYTES + 8 * piece.length);
  });

  test.each(["\n\n", "\r\n\r\n", "\r\r"])("has no limit for many events: %j", async (end) => {
    const { response, failures } = endless(EVENTS, `data: ${MEBIBYTE}${end}`, 40);
    expect((await response.text()).length).toBeGreaterThan(MAX_MESSAGE_BYTES);
    expect(failures).toEqual([]);
  });

  test("is passed on unchanged, with its status and headers", async () => {
    const given = new Response("moon", { status: 404, headers: { "mcp-session-id": "1" } });
    const passed = limitMessages(given, () => undefined);
    expect([passed.status, passed.headers.get("mcp-session-id"), await passed.text()]).toEqual([
      404,
      "1",
      "moon",
    ]);
    expect(limitMessages(new Response(null, { status: 204 }), () => undefined).body).toBeNull();
  });
});

/** A body of the same piece over and over, and how much of it was asked for. */
function endless(type: string, piece: string, most = Number.POSITIVE_INFINITY) {
  const bytes = new TextEncoder().encode(piece);
  let count = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      count += 1;
      if (count > most) controller.close();
      else controller.enqueue(bytes);
    },
  });
  const failures: string[] = [];
  const given = new Response(body, { headers: { "content-type": type } });
  const response = limitMessages(given, ({ message }) => failures.push(message));
  return { response, taken: () => count * bytes.length, failures };
}

const TOO_MANY = "it sent requests without waiting for the replies";

test("a server may have 256 requests open, and no more", () => {
  counters("T-MCP-2");
  const { ask, excess } = limited();
  for (let id = 1; id <= 256; id += 1) ask(id);
  expect(excess).toEqual([]);
  ask(257);
  expect(excess).toEqual([TOO_MANY]);
});

test("a request is open until its reply was read", async () => {
  const { ask, reply, excess } = limited();
  for (let id = 1; id <= 1000; id += 1) {
    ask(id);
    await reply(id);
  }
  expect(excess).toEqual([]);
});

test("a cancelled request is no longer open, unless its reply is being sent", () => {
  const { ask, reply, withdraw, excess } = limited({ takes: false });
  for (let id = 1; id <= 1000; id += 1) {
    ask(id);
    withdraw(id);
  }
  expect(excess).toEqual([]);
  for (let id = 1001; id <= 1257; id += 1) {
    ask(id);
    void reply(id);
    withdraw(id);
  }
  expect(excess).toEqual([TOO_MANY]);
});

test("all open requests together may not be larger than one message", () => {
  const { ask, withdraw, excess } = limited();
  const text = "x".repeat(12 * 1024 * 1024);
  ask(1, text);
  ask(2, text);
  withdraw(1);
  ask(3, text);
  expect(excess).toEqual([]);
  ask(4, text);
  expect(excess).toEqual([TOO_MANY]);
});

test("the id of an open request cannot be used again", () => {
  const { ask, excess } = limited();
  ask(1);
  ask(1);
  expect(excess).toEqual(["it used the id of an open request again"]);
});

test("an earlier listener still gets every message", () => {
  const received: JSONRPCMessage[] = [];
  const { ask } = limited({ onmessage: (message) => received.push(message) });
  ask(1);
  expect(received).toHaveLength(1);
});

/** `takes`: whether the server reads what it is sent. */
function limited({
  takes = true,
  onmessage,
}: { takes?: boolean; onmessage?: (message: JSONRPCMessage) => void } = {}) {
  const transport: Transport = {
    start: async () => undefined,
    close: async () => undefined,
    send: () => (takes ? Promise.resolve() : new Promise(() => undefined)),
    ...(onmessage !== undefined && { onmessage }),
  };
  const excess: string[] = [];
  limitOpenRequests(transport, (reason) => excess.push(reason));
  const receive = (message: object) =>
    transport.onmessage?.({ jsonrpc: "2.0", ...message } as JSONRPCMessage); // As the SDK has read it.
  return {
    excess,
    ask: (id: number, text = "") => receive({ id, method: "ping", params: { text } }),
    withdraw: (requestId: number) =>
      receive({ method: "notifications/cancelled", params: { requestId } }),
    reply: (id: number) => transport.send({ jsonrpc: "2.0", id, result: {} }),
  };
}
