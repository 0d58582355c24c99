import { expect, test, vi } from "vitest";
import { chatRequest } from "../../src/record/conversation/events.fixture.ts";
import { PROVIDER_NAMES } from "../../src/reach/provider/index.ts";
import { CaptureServer } from "./capture-server.ts";
import { collect, MODELS, providersAt, requestOf } from "./support.ts";
import { WIRE } from "./wire.ts";

test.each(PROVIDER_NAMES)(
  "warming up %s makes no request, and neither fails nor prints",
  async (name) => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    await using server = await CaptureServer.start();
    await providersAt(server.url).warmUp(name, MODELS[name]);
    const said = warn.mock.calls;
    warn.mockRestore();
    expect([server.requests, said]).toEqual([[], []]);
  },
);

test.each(PROVIDER_NAMES)(
  "warming up %s leaves a request that is under way alone",
  async (name) => {
    await using server = await CaptureServer.start();
    const providers = providersAt(server.url);
    server.answer(async () => {
      await providers.warmUp(name, MODELS[name]);
      return { chunks: WIRE[name]({ text: "the real one" }) };
    });
    const model = await providers.model(name, MODELS[name]);
    const events = await collect(model.stream(requestOf([chatRequest("Hello")])));
    expect(server.requests).toHaveLength(1);
    expect(events).toContainEqual({ type: "message_delta", text: "the real one" });
  },
);
