import * as sdk from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { type Message, replyTo } from "../../../test/mcp/scripted-server.ts";
import { messageOf } from "../../util/index.ts";
import { callAsTask } from "./task-call.ts";

const TASK = {
  taskId: "task-1",
  status: "working",
  ttl: null,
  createdAt: "2026-01-01T00:00:00Z",
  lastUpdatedAt: "2026-01-01T00:00:00Z",
};

test("a call that is stopped while its task runs cancels the task", async () => {
  const { call, stop, sent } = await scene("tasks/result");
  const ended = call().catch(messageOf);
  await sent("tasks/result");
  stop();
  expect(await ended).toContain("stopped");
  expect((await sent("tasks/cancel")).params).toMatchObject({ taskId: "task-1" });
});

test("a call that is stopped before it has its task cancels the task as soon as it is known", async () => {
  const { call, stop, sent, reply } = await scene("tools/call");
  const ended = call().catch(messageOf);
  const request = await sent("tools/call");
  stop();
  expect(await ended).toContain("stopped");
  reply(request);
  expect((await sent("tasks/cancel")).params).toMatchObject({ taskId: "task-1" });
});

test("a call asks for the result of its task", async () => {
  const { call } = await scene();
  expect(await call()).toMatchObject({ content: [{ type: "text", text: "the moon" }] });
});

/** A server that does not reply to one method, unless told. */
async function scene(silent?: string) {
  const [near, far] = sdk.InMemoryTransport.createLinkedPair();
  const arrived = new Map<string, PromiseWithResolvers<Message>>();
  const arrival = (method: string) => {
    const known = arrived.get(method) ?? Promise.withResolvers<Message>();
    arrived.set(method, known);
    return known;
  };
  const reply = (message: Message) => {
    const answer = replyTo(message, {
      "tools/call": { task: TASK },
      "tasks/result": { content: [{ type: "text", text: "the moon" }] },
      "tasks/cancel": { ...TASK, status: "cancelled" },
    });
    if (answer !== undefined) void far.send(answer as sdk.JSONRPCMessage);
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- The SDK has no other way.
  far.onmessage = (message) => {
    const received = message as Message;
    arrival(received.method ?? "").resolve(received);
    if (received.method !== silent) reply(received);
  };
  const client = new sdk.Client({ name: "jp", version: "0" });
  await client.connect(near);
  const control = new AbortController();
  return {
    call: () =>
      callAsTask({ client, sdk, params: { name: "x" }, options: { signal: control.signal } }),
    stop: () => control.abort(new Error("stopped")),
    sent: (method: string) => arrival(method).promise,
    reply,
  };
}
