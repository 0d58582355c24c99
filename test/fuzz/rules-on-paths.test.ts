/** Rules about paths in random trees with links, against what the system opens. */
/* oxlint-disable vitest/no-standalone-expect -- `fuzz` makes a test of each property. */
import {
  closeSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import { afterAll, expect } from "vitest";
import type { Rule } from "../../src/settings/config/index.ts";
import { compileRules, evaluateRules } from "../../src/core/policy/evaluate.ts";
import { systemErrorCode } from "../../src/util/index.ts";
import { fuzz } from "./fuzz.ts";
import { scratchFolder } from "./scratch-folder.ts";

const folder = scratchFolder();
afterAll(() => folder[Symbol.dispose]());

/** Deep enough that no path and no link leads out of the scratch folder. */
const ABOVE = path.join(folder.path, "d/".repeat(30), "above");
const ROOT = path.join(ABOVE, "shop");

const NAMES = ["a", "b", "c", "l"];

interface Entry {
  readonly at: readonly string[];
  /** Of a link; otherwise it is a file. */
  readonly target?: string;
}

function anyText(): fc.Arbitrary<string> {
  const segment = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...NAMES) },
    { weight: 3, arbitrary: fc.constant("..") },
    { weight: 1, arbitrary: fc.constantFrom(".", "", "A", "a.", "new") },
  );
  const start = fc.constantFrom("", "", "", "", "./", `${ROOT}/`, `${ABOVE}/`, "../shop/");
  const end = fc.constantFrom("", "", "", "/", "/.");
  return fc
    .tuple(start, fc.array(segment, { minLength: 1, maxLength: 5 }), end)
    .map(([first, segments, last]) => {
      const text = `${first}${segments.join("/")}${last}`;
      // What starts with nothing is not absolute.
      return first.startsWith("/") ? text : text.replace(/^\/+/, "") || ".";
    });
}

const anyTree = fc.array(
  fc.record(
    {
      at: fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }),
      target: anyText(),
    },
    { requiredKeys: ["at"] },
  ),
  { minLength: 2, maxLength: 8 },
);

function plant(entries: readonly Entry[]): void {
  rmSync(ABOVE, { recursive: true, force: true });
  for (const name of ["a/b", "b", "c/a/b"]) mkdirSync(path.join(ROOT, name), { recursive: true });
  for (const { at, target } of entries) {
    const file = path.join(ROOT, ...at);
    try {
      mkdirSync(path.dirname(file), { recursive: true });
      if (target === undefined) writeFileSync(file, "", { flag: "wx" });
      else symlinkSync(target, file);
    } catch (error) {
      if (systemErrorCode(error) === undefined) throw error; // Another entry is in the way.
    }
  }
}

/** The file that a program opens, or creates. Undefined if the system refuses. */
function opened(text: string): string | undefined {
  const file = path.isAbsolute(text) ? text : `${ROOT}/${text}`;
  try {
    return realpathSync.native(file);
  } catch {
    // Perhaps a new file.
  }
  try {
    closeSync(openSync(file, "a"));
  } catch {
    return undefined;
  }
  const real = realpathSync.native(file);
  rmSync(real);
  return real;
}

async function decide(rule: Pick<Rule, "prefix" | "const" | "mode">, text: string) {
  const place = { from: "user", key: "k", layer: "l" } as const;
  const call = {
    tool: { name: "edit", source: { type: "builtin" } },
    arguments: { path: text },
    kinds: { "/path": "path" },
    root: ROOT,
  } as const;
  const compiled = await compileRules([{ ...rule, arg: "/path", place }], call);
  return (await evaluateRules(compiled, call)) !== undefined;
}

function isWithin(outer: string, inner: string): boolean {
  const relative = path.relative(outer, inner);
  return relative === "" || (relative !== ".." && !relative.startsWith("../"));
}

const seen = { allowed: 0, refused: 0 };
afterAll(() => {
  expect(seen.allowed).toBeGreaterThan(50);
  expect(seen.refused).toBeGreaterThan(50);
});

fuzz(
  "a rule that lets a call run on a folder or file lets it open nothing else",
  1000,
  fc.asyncProperty(anyTree, anyText(), anyText(), async (tree, named, written) => {
    plant(tree);
    const wanted = path.resolve(ROOT, named);
    const isInFolder = await decide({ mode: "unattended", prefix: named }, written);
    const isFile = await decide({ mode: "unattended", const: named }, written);
    const real = opened(written);
    if (isInFolder) seen.allowed += 1;
    if (isInFolder && real !== undefined) expect([wanted, real]).toSatisfy(isPairWithin);
    if (isFile && real !== undefined) expect(real).toBe(wanted);
  }),
);

fuzz(
  "a rule that refuses a folder or file refuses every path by which it can be opened",
  1000,
  fc.asyncProperty(anyTree, anyText(), anyText(), async (tree, named, written) => {
    plant(tree);
    const isInFolder = await decide({ mode: "skip", prefix: named }, written);
    const isFile = await decide({ mode: "skip", const: named }, written);
    const [real, wanted] = [opened(written), opened(named)];
    const [lexical, folderNamed] = [path.resolve(ROOT, written), path.resolve(ROOT, named)];
    const places = [folderNamed, ...(wanted === undefined ? [] : [wanted])];
    const files = [lexical, ...(real === undefined ? [] : [real])];
    const isInside = places.some((place) => files.some((file) => isWithin(place, file)));
    if (isInside) seen.refused += 1;
    if (isInside) expect(isInFolder).toBe(true);
    if (places.some((place) => files.includes(place))) expect(isFile).toBe(true);
  }),
);

function isPairWithin([outer, inner]: readonly [string, string]): boolean {
  return isWithin(outer, inner);
}
