import { expect, test, vi } from "vitest";
import { PROVIDER_NAMES } from "../../src/provider/index.ts";
import { CaptureServer } from "./capture-server.ts";
import { MODELS, providersAt } from "./support.ts";

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
