import { expect, test } from "vitest";
import { createHttpLink } from "./http-transport.ts";
import { loadSdk } from "./sdk.ts";

test.each(["", "moon", "ftp://moon/mcp", "https://me:secret@moon/mcp"])(
  "the address %j is refused without being repeated",
  async (url) => {
    const sdk = await loadSdk();
    const settings = {
      type: "http",
      name: "web",
      url,
      headers: {},
      isOptional: false,
      allowsSecrets: false,
      allowsSampling: false,
      startupTimeoutMs: 1,
    } as const;
    expect(() => createHttpLink(sdk, settings, {})).toThrow(
      expect.objectContaining({
        code: "mcp_invalid_address",
        message: "providers.mcp.web.url is no usable address.",
      }),
    );
  },
);
