import { expect, test } from "vitest";
import { FakeClock } from "../../testing/index.ts";
import { type OutgoingRequest, ServerCall } from "./server-call.ts";

function start() {
  const requests: OutgoingRequest[] = [];
  const call = new ServerCall({
    failure: 'The MCP server "x" did not run "y"',
    limitKey: "providers.mcp.x.timeout_secs",
    clock: new FakeClock(),
    send: (request) => {
      requests.push(request);
      return new Promise(() => {});
    },
    onUnscoped: () => {},
  });
  void call.next({ signal: new AbortController().signal });
  const [request] = requests;
  if (request === undefined) throw new Error("nothing was sent");
  return { call, request };
}

test("a call that is cancelled while it waits to be sent is never sent", () => {
  const { call, request } = start();
  call.cancel();
  expect(request.signal.aborted).toBe(true);
});

test("a call that was sent is cancelled after its open question is cancelled", async () => {
  const { call, request } = start();
  request.onSend();
  call.cancel();
  expect(request.signal.aborted).toBe(false);
  await new Promise(setImmediate);
  expect(request.signal.aborted).toBe(true);
});

test.each([
  ["decline", "the user declined to visit the URL it requires."],
  ["cancel", "the URL it requires was not visited."],
] as const)(
  "a call whose URL was not visited fails with the reason: %s",
  async (action, reason) => {
    const requests = [{ key: "e1", method: "elicitation/create", params: {} }];
    const call = new ServerCall({
      failure: 'The MCP server "x" did not run "y"',
      limitKey: "providers.mcp.x.timeout_secs",
      clock: new FakeClock(),
      send: async () => ({ type: "url_required", requests }),
      onUnscoped: () => {},
    });
    const { signal } = new AbortController();
    await call.next({ signal });
    call.answer(new Map([["e1", { action }]]));
    expect(await call.next({ signal })).toEqual({
      type: "error",
      content: `The MCP server "x" did not run "y": ${reason}`,
    });
  },
);
