import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { createHttpLink, retryDelay } from "./http-transport.ts";
import { serverHeaders } from "./http-settings.ts";
import { loadSdk } from "./transport.ts";

test.each(["", "moon", "ftp://moon/mcp", "https://me:secret@moon/mcp"])(
  "the URL %j is refused without being quoted",
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
    const context = { variables: {}, cwd: "/" };
    const { signal } = new AbortController();
    expect(() => createHttpLink({ sdk, settings, context, signal })).toThrow(
      expect.objectContaining({
        code: "mcp_invalid_address",
        message: "providers.mcp.web.url is not a valid URL.",
      }),
    );
  },
);

test("a broken stream is reopened neither at once nor much later, whatever the server asks for", () => {
  counters("T-MCP-2");
  expect([0, 1, 2000, 1e9].map(retryDelay)).toEqual([500, 500, 2000, 5000]);
});

test("variables are replaced in headers, in both notations", () => {
  const headers = headersOf({ a: "$ONE-${TWO}x", b: "$ONE$TWO", c: "5 $ and $5" });
  expect(Object.fromEntries(headers)).toEqual({ a: "1-2x", b: "12", c: "5 $ and $5" });
});

test("a variable that is empty is set, and its own dollars are not variables", () => {
  expect(Object.fromEntries(headersOf({ a: "x$EMPTY", b: "$DOLLAR" }))).toEqual({
    a: "x",
    b: "$ONE",
  });
});

test.each(["$MISSING", "${MISSING}", "$toString"])("%s is an error that names it", (value) => {
  expect(() => headersOf({ "X-Key": value })).toThrow(
    `providers.mcp.web.headers.X-Key needs the variable ${value.replaceAll(/[${}]/g, "")}`,
  );
});

test("an invalid header is an error that does not contain the value", () => {
  for (const headers of [{ "X-Key": "$LINES" }, { "no name": "$LINES" }]) {
    expect(() => headersOf(headers)).toThrow(
      expect.objectContaining({
        code: "mcp_invalid_header",
        message: expect.not.stringContaining("secret"),
      }),
    );
  }
});

function headersOf(headers: Readonly<Record<string, string>>): Headers {
  return serverHeaders(
    {
      type: "http",
      name: "web",
      url: "",
      headers,
      isOptional: false,
      allowsSecrets: false,
      allowsSampling: false,
      startupTimeoutMs: 1,
    },
    { ONE: "1", TWO: "2", EMPTY: "", DOLLAR: "$ONE", LINES: "secret\nsecret", MISSING: undefined },
  );
}
