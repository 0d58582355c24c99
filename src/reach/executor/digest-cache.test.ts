import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { DigestCache } from "./digest-cache.ts";

const ENTRY = { sha256: "ab".repeat(32), script: "/bin/sh" };

function cacheFile(): string {
  return path.join(temporaryFolder(), "jp", "file-digests.json");
}

test("a kept digest is found by a later process, in one file that only the user can read", () => {
  const file = cacheFile();
  new DigestCache(file).keep("1:2:3", ENTRY);
  expect([
    new DigestCache(file).find("1:2:3"),
    new DigestCache(file).find("1:2:4"),
    statSync(file).mode & 0o777,
    readdirSync(path.dirname(file)),
  ]).toEqual([ENTRY, undefined, 0o600, [path.basename(file)]]);
});

test.each<[string, (file: string) => void]>([
  ["is cut off", (file) => truncateSync(file, 90)],
  ["is empty", (file) => truncateSync(file, 0)],
  ["has another digest", (file) => edit(file, (text) => text.replace("abab", "abac"))],
  ["has something else", (file) => edit(file, () => "{}")],
  ["is too long", (file) => edit(file, (text) => text + " ".repeat(1024 ** 2))],
  ["could be read by others", (file) => chmodSync(file, 0o640)],
  ["could be written by others", (file) => chmodSync(file, 0o602)],
])(
  "a cache that is damaged or unsafe counts as empty, and is written anew: it %s",
  (_case, damage) => {
    counters("T-PROG-7");
    const file = cacheFile();
    new DigestCache(file).keep("old", ENTRY);
    damage(file);
    const cache = new DigestCache(file);
    expect(cache.find("old")).toBeUndefined();
    cache.keep("new", {});
    const after = new DigestCache(file);
    expect([after.find("new"), after.find("old"), statSync(file).mode & 0o777]).toEqual([
      {},
      undefined,
      0o600,
    ]);
  },
);

function edit(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, "utf8")));
}

test("a cache keeps what another process has added meanwhile", () => {
  const file = cacheFile();
  const [one, two] = [new DigestCache(file), new DigestCache(file)];
  expect([one.find("1"), two.find("2")]).toEqual([undefined, undefined]);
  one.keep("1", ENTRY);
  two.keep("2", ENTRY);
  const after = new DigestCache(file);
  expect([after.find("1"), after.find("2")]).toEqual([ENTRY, ENTRY]);
});

test("a cache keeps the latest 500 digests", () => {
  const file = cacheFile();
  const cache = new DigestCache(file);
  for (let count = 0; count <= 500; count += 1) cache.keep(`:${count}`, ENTRY);
  const after = new DigestCache(file);
  expect([":0", ":1", ":500"].map((state) => after.find(state))).toEqual([undefined, ENTRY, ENTRY]);
});

test("a file that several ask for at once is read once, and again after a failure", async () => {
  const cache = new DigestCache();
  let reads = 0;
  const read = async () => {
    reads += 1;
    await Promise.resolve();
    if (reads === 1) throw new Error("gone");
    return ENTRY;
  };
  const ask = () => Promise.allSettled([1, 2].map(() => cache.readOnce("1", read)));
  const [first, second] = [await ask(), await ask()];
  expect([first.map(({ status }) => status), second, reads]).toEqual([
    ["rejected", "rejected"],
    [1, 2].map(() => ({ status: "fulfilled", value: ENTRY })),
    2,
  ]);
});

test("a cache that cannot be written lasts as long as its process", () => {
  const file = cacheFile();
  mkdirSync(file, { recursive: true });
  const cache = new DigestCache(file);
  cache.keep("1", ENTRY);
  expect([cache.find("1"), readdirSync(path.dirname(file))]).toEqual([
    ENTRY,
    [path.basename(file)],
  ]);
});
