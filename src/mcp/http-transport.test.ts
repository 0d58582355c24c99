import { expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { createHttpLink, retryDelay } from "./http-transport.ts";
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

test("a stream that is cut is reopened neither at once nor much later, whatever the server wants", () => {
  counters("T-MCP-2");
  expect([0, 1, 2000, 1e9].map(retryDelay)).toEqual([500, 500, 2000, 5000]);
});
