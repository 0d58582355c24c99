import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../stores/temporary-workspace.fixture.ts";
import { createCodeLoader } from "./code-loader.ts";

class Bundle {
  readonly folder = temporaryFolder();
  readonly cache = temporaryFolder();

  constructor(files: Readonly<Record<string, string>>) {
    for (const [name, code] of Object.entries(files)) this.write(name, code);
  }

  write(name: string, code: string, time?: Date): void {
    const file = path.join(this.folder, name);
    writeFileSync(file, code);
    if (time !== undefined) utimesSync(file, time, time);
  }

  open(command = "query") {
    const { folder, cache } = this;
    return createCodeLoader({ folder, cache, command, requireOther });
  }

  get cached(): readonly string[] {
    return readdirSync(this.cache).toSorted();
  }

  sizeOf(name: string): number {
    return statSync(path.join(this.cache, name)).size;
  }
}

function requireOther(name: string): string {
  return `node's ${name}`;
}

/** Long enough that its compiled form shows in the size of the cache. */
const LONG = `exports.work = (x) => { ${"x = x * 3 + 1; if (x > 100) x -= 50; ".repeat(200)} return x; };`;

test("files load each other once, and everything else from outside", () => {
  const bundle = new Bundle({
    "a.cjs": `exports.name = "a"; exports.b = require("./b.cjs"); exports.other = require("node:fs");`,
    "b.cjs": `exports.a = require("./a.cjs"); exports.place = [__filename, __dirname];`,
  });
  const { load } = bundle.open();
  const a = load("./a.cjs") as { b: { a: unknown; place: unknown } };
  expect(load("./a.cjs")).toBe(a);
  expect(a).toMatchObject({ name: "a", other: "node's node:fs" });
  expect(a.b.a).toBe(a);
  expect(a.b.place).toEqual([path.join(bundle.folder, "b.cjs"), bundle.folder]);
});

/** Files that import each other, and say when they are loaded. */
class Chain extends Bundle {
  readonly loaded: string[] = [];

  constructor() {
    super({
      "a.cjs": `const b = require("./b.cjs"); exports.value = () => b.value();`,
      "b.cjs": `require("b"); const c = require("./c.cjs"); exports.value = () => c.value;`,
      "c.cjs": `require("c"); exports.value = 7;`,
    });
  }

  override open() {
    const { folder, cache } = this;
    const note = (name: string) => this.loaded.push(name);
    return createCodeLoader({ folder, cache, command: "query", requireOther: note });
  }
}

test("what a file imports is loaded when it is first used", () => {
  const chain = new Chain();
  const { value } = chain.open().load("./a.cjs") as { value: () => number };
  expect(chain.loaded).toEqual([]);
  expect([value(), value()]).toEqual([7, 7]);
  expect(chain.loaded).toEqual(["b", "c"]);
});

test("what was imported can be loaded before its files are gone", () => {
  const chain = new Chain();
  const { load, loadImports } = chain.open();
  const { value } = load("./a.cjs") as { value: () => number };
  loadImports();
  expect(chain.loaded).toEqual(["b", "c"]);
  for (const name of ["b.cjs", "c.cjs"]) rmSync(path.join(chain.folder, name));
  expect(value()).toBe(7);
});

test("functions that ran are kept for the next run, for each command, readable by the user alone", () => {
  const bundle = new Bundle({ "a.cjs": LONG });
  const idle = bundle.open("ls");
  idle.load("./a.cjs");
  idle.save();
  const busy = bundle.open("query");
  (busy.load("./a.cjs") as { work: (x: number) => number }).work(7);
  busy.save();
  expect(bundle.cached).toEqual(["a.cjs.ls", "a.cjs.query"]);
  expect(bundle.sizeOf("a.cjs.query")).toBeGreaterThan(bundle.sizeOf("a.cjs.ls") * 2);
  expect(statSync(path.join(bundle.cache, "a.cjs.query")).mode & 0o777).toBe(0o600);
});

test("the first runs add to what is kept, and later ones leave it alone", () => {
  const bundle = new Bundle({ "a.cjs": LONG });
  const take = (isWorking: boolean) => {
    const { load, save } = bundle.open();
    const { work } = load("./a.cjs") as { work: (x: number) => number };
    if (isWorking) work(7);
    save();
    return bundle.sizeOf("a.cjs.query");
  };
  const first = take(false);
  expect(take(true)).toBeGreaterThan(first * 2);
  take(false);
  const kept = readFileSync(path.join(bundle.cache, "a.cjs.query"));
  take(true);
  expect(readFileSync(path.join(bundle.cache, "a.cjs.query"))).toEqual(kept);
});

test("other code of the same length is not mistaken for what was compiled before", () => {
  const bundle = new Bundle({});
  bundle.write("a.cjs", "exports.value = () => 1;", new Date(2026, 0, 1));
  const before = bundle.open();
  expect((before.load("./a.cjs") as { value: () => number }).value()).toBe(1);
  before.save();
  bundle.write("a.cjs", "exports.value = () => 2;", new Date(2026, 0, 2));
  expect((bundle.open().load("./a.cjs") as { value: () => number }).value()).toBe(2);
});

test.each([Buffer.alloc(0), Buffer.alloc(5), Buffer.alloc(4096, 7)])(
  "a damaged cache changes nothing, and is replaced (%#)",
  (content) => {
    const bundle = new Bundle({ "a.cjs": "exports.value = 1;" });
    writeFileSync(path.join(bundle.cache, "a.cjs.query"), content);
    const { load, save } = bundle.open();
    expect(load("./a.cjs")).toEqual({ value: 1 });
    save();
    expect(readFileSync(path.join(bundle.cache, "a.cjs.query"))).not.toEqual(content);
  },
);

test.each([
  ["cut", (content: Buffer) => Buffer.concat([content.subarray(0, 200), content.subarray(-9)])],
  ["with a hole", (content: Buffer) => Buffer.from(content).fill(0, 100, 200)],
])("a cache that is %s is not used", (_, damage) => {
  const bundle = new Bundle({ "a.cjs": LONG });
  const first = bundle.open();
  first.load("./a.cjs");
  first.save();
  const file = path.join(bundle.cache, "a.cjs.query");
  const content = readFileSync(file);
  writeFileSync(file, damage(content));
  const second = bundle.open();
  const { work } = second.load("./a.cjs") as { work: (x: number) => number };
  expect(work(7)).toBeTypeOf("number");
  second.save();
  expect(readFileSync(file).at(-1)).toBe(1); // It starts again.
});

test("a cache that cannot be written is no error", () => {
  const { folder } = new Bundle({ "a.cjs": "exports.value = 1;" });
  const cache = path.join(folder, "missing");
  const { load, save } = createCodeLoader({ folder, cache, command: "query", requireOther });
  expect(load("./a.cjs")).toEqual({ value: 1 });
  save();
});

test("a file that is missing, and one that fails, can be loaded again later", () => {
  const bundle = new Bundle({ "b.cjs": `throw new Error("not yet");` });
  const { load } = bundle.open();
  expect(() => load("./a.cjs")).toThrow(expect.objectContaining({ code: "MODULE_NOT_FOUND" }));
  expect(() => load("./b.cjs")).toThrow("not yet");
  bundle.write("a.cjs", "exports.value = 1;");
  bundle.write("b.cjs", "exports.value = 2;");
  expect([load("./a.cjs"), load("./b.cjs")]).toEqual([{ value: 1 }, { value: 2 }]);
});
