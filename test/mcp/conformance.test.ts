/** The protocol's own conformance suite, for clients. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { NODE_COMPILE_CACHE } from "./support.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
const SUITE = path.join(ROOT, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const CLIENT = path.join(import.meta.dirname, "conformance-program.ts");

const CORE = ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"];

const LOGINS = [
  "metadata-default",
  "metadata-var1",
  "metadata-var2",
  "metadata-var3",
  "basic-cimd",
  "scope-from-www-authenticate",
  "scope-from-scopes-supported",
  "scope-omitted-when-undefined",
  "scope-step-up",
  "scope-retry-limit",
  "token-endpoint-auth-basic",
  "token-endpoint-auth-post",
  "token-endpoint-auth-none",
  "pre-registration",
  // Of the protocol's first version.
  "2025-03-26-oauth-metadata-backcompat",
  "2025-03-26-oauth-endpoint-fallback",
  // Of a draft.
  "resource-mismatch",
  "offline-access-scope",
  "offline-access-not-supported",
].map((name) => `auth/${name}`);

/** Extensions in which no person logs in: a program has credentials of its own, or a company's identity provider decides. */
const UNSUPPORTED = [
  "auth/client-credentials-jwt",
  "auth/client-credentials-basic",
  "auth/cross-app-access-complete-flow",
];

/** Rejects with the output of a scenario that fails. */
async function runSuite(...words: readonly string[]): Promise<string> {
  const env = { ...process.env, NODE_COMPILE_CACHE };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [SUITE, ...words], {
    env,
  });
  return stdout + stderr;
}

test("every scenario of the suite is run here, or named as one that jp does not support", async () => {
  const listed = await runSuite("list", "--client");
  const names = [...listed.matchAll(/^ +- (\S+)/gm)].map(([, name = ""]) => name);
  expect(names.toSorted()).toEqual([...CORE, ...LOGINS, ...UNSUPPORTED].toSorted());
});

test.each([...CORE, ...LOGINS])("jp does what the protocol says: %s", async (name) => {
  const command = `${process.execPath} ${CLIENT}`;
  const output = await runSuite("client", "--command", command, "--scenario", name);
  expect(output).toMatch(/Passed: (\d+)\/\1, 0 failed, 0 warnings/);
});
