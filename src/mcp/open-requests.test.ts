import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { limitOpenRequests } from "./open-requests.ts";

const TOO_MANY = "it sent requests without waiting for the replies";

test("a server may have 256 requests open, and no more", () => {
  counters("T-MCP-2");
  const { ask, excess } = limited();
  for (let id = 1; id <= 256; id += 1) ask(id);
  expect(excess).toEqual([]);
  ask(257);
  expect(excess).toEqual([TOO_MANY]);
});

test("a request is open until its reply was taken", async () => {
  const { ask, reply, excess } = limited();
  for (let id = 1; id <= 1000; id += 1) {
    ask(id);
    await reply(id);
  }
  expect(excess).toEqual([]);
});

test("a request that was withdrawn is open no more, unless its reply is on its way", () => {
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

test("open requests may not be larger than one message, all together", () => {
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

test("whoever listened before is told of every message", () => {
  const heard: JSONRPCMessage[] = [];
  const { ask } = limited({ onmessage: (message) => heard.push(message) });
  ask(1);
  expect(heard).toHaveLength(1);
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
