import { describe, expect, test } from "vitest";
import { PROVIDER_NAMES } from "../../src/provider/index.ts";
import { chatRequest } from "../support/events.ts";
import { CaptureServer } from "./capture-server.ts";
import { collect, modelAt, providersAt, requestOf } from "./support.ts";
import { WIRE } from "./wire.ts";

class Enough extends Error {}

describe.each(PROVIDER_NAMES)("a request to %s", (provider) => {
  test("is ended in the middle of the reply, with the reason that was given", async () => {
    await using server = await CaptureServer.start();
    const chunks = WIRE[provider]({ text: "Hello there." }).slice(0, -2);
    server.answer({ chunks, ending: "hang" });
    const model = await modelAt(server.url, provider);
    const controller = new AbortController();
    const reason = new Enough();
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
    await server.requests[0]?.left;
  });

  test("is ended before an answer has come", async () => {
    await using server = await CaptureServer.start();
    server.answer({ ending: "hang" });
    const model = await modelAt(server.url, provider);
    const controller = new AbortController();
    const request = requestOf([chatRequest("Hi")], { signal: controller.signal });
    const reading = collect(model.stream(request));
    const reason = new Enough();
    while (server.requests.length === 0) await new Promise(setImmediate);
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await server.requests[0]?.left;
  });

  test("is not made at all when it is over before it begins", async () => {
    await using server = await CaptureServer.start();
    const model = await modelAt(server.url, provider);
    const reason = new Enough();
    const request = requestOf([chatRequest("Hi")], { signal: AbortSignal.abort(reason) });
    await expect(collect(model.stream(request))).rejects.toBe(reason);
    expect(server.requests).toEqual([]);
  });

  test("ends when nobody reads on", async () => {
    await using server = await CaptureServer.start();
    const chunks = WIRE[provider]({ text: "Hello there." }).slice(0, -2);
    server.answer({ chunks, ending: "hang" });
    const model = await modelAt(server.url, provider);
    const events = model.stream(requestOf([chatRequest("Hi")]))[Symbol.asyncIterator]();
    await events.next();
    await events.return?.();
    await expect(server.requests[0]?.left).resolves.toBeUndefined();
  });
});

test("listing ends at once, too", async () => {
  await using server = await CaptureServer.start();
  server.answer({ ending: "hang" });
  const controller = new AbortController();
  const listing = providersAt(server.url).list("anthropic", controller.signal);
  while (server.requests.length === 0) await new Promise(setImmediate);
  const reason = new Enough();
  controller.abort(reason);
  await expect(listing).rejects.toBe(reason);
});
