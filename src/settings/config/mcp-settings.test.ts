import { expect, test } from "vitest";
import { readConfig } from "./any-config.fixture.ts";
import type { Json } from "../../util/index.ts";
import { resolveMcpServers } from "./mcp-settings.ts";
import { mergeConfig } from "./layers.ts";

test("a server is a program to start, or an address", () => {
  const servers = resolve({
    bare: { command: "server" },
    all: {
      type: "stdio",
      command: "server",
      arguments: ["--stdio", "a b"],
      variables: ["TOKEN"],
      checksum: { algorithm: "sha256", value: "ab" },
      optional: true,
      allow_secrets: true,
      allow_sampling: true,
      startup_timeout_secs: 5,
    },
    address: { url: "https://example.com/mcp" },
    http: {
      type: "http",
      url: "https://example.com/mcp",
      headers: { Authorization: "$TOKEN" },
      optional: false,
    },
  });
  const common = {
    isOptional: false,
    allowsSecrets: false,
    allowsSampling: false,
    startupTimeoutMs: 60_000,
  };
  const url = "https://example.com/mcp";
  expect(servers).toStrictEqual([
    { name: "bare", ...common, type: "stdio", command: "server", arguments: [], variables: [] },
    {
      name: "all",
      isOptional: true,
      allowsSecrets: true,
      allowsSampling: true,
      startupTimeoutMs: 5000,
      type: "stdio",
      command: "server",
      arguments: ["--stdio", "a b"],
      variables: ["TOKEN"],
      checksum: { algorithm: "sha256", value: "ab" },
    },
    { name: "address", ...common, type: "http", url, headers: {} },
    { name: "http", ...common, type: "http", url, headers: { Authorization: "$TOKEN" } },
  ]);
});

test("a timeout of 0 means no limit", () => {
  expect(resolve({ s: { command: "x", startup_timeout_secs: 0 } })[0]?.startupTimeoutMs).toBe(
    Number.POSITIVE_INFINITY,
  );
});

test("the type decides if both a command and an address are given", () => {
  const both = { command: "x", url: "http://y" };
  const types = resolve({
    none: both,
    stdio: { ...both, type: "stdio" },
    http: { ...both, type: "http" },
  });
  expect(types.map(({ name, type }) => [name, type])).toEqual([
    ["none", "http"],
    ["stdio", "stdio"],
    ["http", "http"],
  ]);
});

test("a server without the address or command of its type is left out", () => {
  expect(
    resolve({ a: {}, b: { type: "stdio", url: "http://y" }, c: { type: "http", command: "x" } }),
  ).toEqual([]);
});

test("layers merge key by key, and lists of a server are replaced", () => {
  const layers: Json[] = [
    { s: { command: "x", arguments: ["a"], variables: ["A"] }, t: { command: "t" } },
    { s: { arguments: ["b", "c"], optional: true } },
  ];
  const config = layers.map((mcp) => readConfig({ providers: { mcp } })).reduce(mergeConfig);
  expect([...resolveMcpServers(config).values()]).toMatchObject([
    { name: "s", command: "x", arguments: ["b", "c"], variables: ["A"], isOptional: true },
    { name: "t", command: "t" },
  ]);
});

test("there are no servers by default", () => {
  expect(resolveMcpServers({})).toStrictEqual(new Map());
});

function resolve(mcp: Json) {
  return [...resolveMcpServers(readConfig({ providers: { mcp } })).values()];
}
