import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../stores/temporary-workspace.fixture.ts";
import { InputHistory } from "./history.ts";

function place() {
  const folder = temporaryFolder();
  const environment = {
    variables: { JP_USER_DATA_DIR: folder, SERVICE_TOKEN: "correct-horse", SHORT_KEY: "a" },
    home: folder,
    platform: "linux" as const,
  };
  return { environment, file: path.join(folder, "input-history.jsonl") };
}

test("messages are there in the next session, with their line breaks, each once in a row", async () => {
  const { environment } = place();
  const first = await InputHistory.load(environment);
  for (const text of ["one", "one", "two\nlines", "one"]) await first.add(text);
  const second = await InputHistory.load(environment);
  expect([first.entries, second.entries]).toEqual([
    ["one", "two\nlines", "one"],
    ["one", "two\nlines", "one"],
  ]);
});

test.each([
  ["starts with a space", " private"],
  ["has the value of a secret variable", "use correct-horse here"],
  ["has a key", `it is sk-${"a1".repeat(12)}`],
  ["has a private key", "-----BEGIN RSA PRIVATE KEY-----\nabc"],
  ["is very long", "x".repeat(200_001)],
])("a message that %s is kept for this session only", async (_, text) => {
  const { environment, file } = place();
  const history = await InputHistory.load(environment);
  await history.add("a plain one");
  await history.add(text);
  expect([history.entries.at(-1), readFileSync(file, "utf8")]).toEqual([text, '"a plain one"\n']);
});

test("the file does not grow without bounds, and damaged lines are skipped", async () => {
  const { environment, file } = place();
  const lines = Array.from({ length: 2001 }, (_, index) => JSON.stringify(`message ${index}`));
  writeFileSync(file, ["{half", ...lines].join("\n"));
  const { entries } = await InputHistory.load(environment);
  const stored = readFileSync(file, "utf8").trim().split("\n");
  expect([entries.length, entries.at(-1), stored.length]).toEqual([1000, "message 2000", 1000]);
});

test("long pastes are kept as a whole, and old ones go before a file takes long to read", async () => {
  const { environment, file } = place();
  const pastes = Array.from({ length: 50 }, (_, index) => `${index} ${"x".repeat(199_000)}`);
  writeFileSync(file, pastes.map((paste) => JSON.stringify(paste)).join("\n"));
  const history = await InputHistory.load(environment);
  const { entries } = await InputHistory.load(environment);
  expect([history.entries, entries]).toEqual([pastes.slice(-20), pastes.slice(-20)]);
});

test("a folder that cannot be written to does not matter", async () => {
  const { environment } = place();
  const variables = { JP_USER_DATA_DIR: "/dev/null/x" };
  const history = await InputHistory.load({ ...environment, variables });
  await history.add("one");
  expect(history.entries).toEqual(["one"]);
});
