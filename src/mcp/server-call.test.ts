import { expect, test } from "vitest";
import { FakeClock } from "../testing/index.ts";
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
  call.cancel("cancel");
  expect(request.signal.aborted).toBe(true);
});

test("a call that was sent is cancelled after its open question is refused", async () => {
  const { call, request } = start();
  request.onSend();
  call.cancel("cancel");
  expect(request.signal.aborted).toBe(false);
  await new Promise(setImmediate);
  expect(request.signal.aborted).toBe(true);
});
