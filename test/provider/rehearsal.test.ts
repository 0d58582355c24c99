import { expect, test } from "vitest";
import { PROVIDER_NAMES } from "../../src/provider/index.ts";
import { CaptureServer } from "./capture-server.ts";
import { MODELS, providersAt } from "./support.ts";

test.each(PROVIDER_NAMES)(
  "rehearsing a reply of %s makes no request and does not fail",
  async (name) => {
    await using server = await CaptureServer.start();
    await providersAt(server.url).rehearse(name, MODELS[name]);
    expect(server.requests).toEqual([]);
  },
);
