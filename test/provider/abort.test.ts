import { describe, expect, test } from "vitest";
import { PROVIDER_NAMES } from "../../src/reach/provider/index.ts";
import { chatRequest } from "../../src/record/conversation/events.fixture.ts";
import { CaptureServer } from "./capture-server.ts";
import { collect, modelAt, providersAt, requestOf } from "./support.ts";
import { WIRE } from "./wire.ts";

class Stopped extends Error {}

describe.each(PROVIDER_NAMES)("a request to %s", (provider) => {
  test("is aborted in the middle of the reply, with the given reason", async () => {
    await using server = await CaptureServer.start();
    const chunks = WIRE[provider]({ text: "Hello there." }).slice(0, -2);
    server.answer({ chunks, ending: "hang" });
    const model = await modelAt(server.url, provider);
    const controller = new AbortController();
    const reason = new Stopped();
    const seen: string[] = [];
    const reading = (async () => {
      const request = requestOf([chatRequest("Hi")], { signal: controller.signal });
      for await (const event of model.stream(request)) {
        seen.push(event.type);
        controller.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(seen).toEqual(["message_delta"]);
    await server.requests[0]?.disconnected;
  });

  test("is aborted before the answer arrives", async () => {
    await using server = await CaptureServer.start();
    server.answer({ ending: "hang" });
    const model = await modelAt(server.url, provider);
    const controller = new AbortController();
    const request = requestOf([chatRequest("Hi")], { signal: controller.signal });
    const reading = collect(model.stream(request));
    const reason = new Stopped();
    while (server.requests.length === 0) await new Promise(setImmediate);
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await server.requests[0]?.disconnected;
  });

  test("is not sent if already aborted", async () => {
    await using server = await CaptureServer.start();
    const model = await modelAt(server.url, provider);
    const reason = new Stopped();
    const request = requestOf([chatRequest("Hi")], { signal: AbortSignal.abort(reason) });
    await expect(collect(model.stream(request))).rejects.toBe(reason);
    expect(server.requests).toEqual([]);
  });

  test("ends when the reader stops", async () => {
    await using server = await CaptureServer.start();
    const chunks = WIRE[provider]({ text: "Hello there." }).slice(0, -2);
    server.answer({ chunks, ending: "hang" });
    const model = await modelAt(server.url, provider);
    const events = model.stream(requestOf([chatRequest("Hi")]))[Symbol.asyncIterator]();
    await events.next();
    await events.return?.();
    await expect(server.requests[0]?.disconnected).resolves.toBeUndefined();
  });
});

test("listing models is aborted at once", async () => {
  await using server = await CaptureServer.start();
  server.answer({ ending: "hang" });
  const controller = new AbortController();
  const listing = providersAt(server.url).list("anthropic", controller.signal);
  while (server.requests.length === 0) await new Promise(setImmediate);
  const reason = new Stopped();
  controller.abort(reason);
  await expect(listing).rejects.toBe(reason);
});
