import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { limitMessages, MAX_MESSAGE_BYTES } from "./message-limit.ts";

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
  ])("%s is read up to the limit, and no further", async (_, type, piece) => {
    counters("T-MCP-2");
    const { response, taken, failures } = endless(type, piece);
    await expect(response.text()).rejects.toThrow(TOO_LONG);
    expect(failures).toEqual([TOO_LONG]);
    expect(taken()).toBeLessThan(MAX_MESSAGE_BYTES + 8 * piece.length);
  });

  test.each(["\n\n", "\r\n\r\n", "\r\r"])("of many events has no limit: %j", async (end) => {
    const { response, failures } = endless(EVENTS, `data: ${MEBIBYTE}${end}`, 40);
    expect((await response.text()).length).toBeGreaterThan(MAX_MESSAGE_BYTES);
    expect(failures).toEqual([]);
  });

  test("is passed on as it is, with its status and headers", async () => {
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
