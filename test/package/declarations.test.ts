import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { renderApiReports } from "../support/api-report.ts";
import {
  type Deprecation,
  deprecationsIn,
  exportsOf,
  isExportedType,
  keyOf,
  packedNamesOf,
  readEntries,
  referencesOf,
} from "../support/declarations.ts";
import { ROOT } from "../support/documents.ts";

const entries = readEntries();
const exported = entries.flatMap(exportsOf);

describe("exported names", () => {
  test.each(entries)("are the only ones that programs can import ($name)", (entry) => {
    expect(packedNamesOf(entry)).toEqual(exportsOf(entry).map(({ name }) => name));
  });

  test("have a doc comment", () => {
    const undocumented = exported.filter(({ isDocumented }) => !isDocumented).map(keyOf);
    expect([...new Set(undocumented)]).toEqual([]);
  });

  test("of the main entry only refer to names that are exported too", () => {
    const known = new Set(exported.map(keyOf));
    const unknown = entries
      .slice(0, 1)
      .flatMap(exportsOf)
      .flatMap((declaration) =>
        referencesOf(declaration)
          .filter((other) => isExportedType(other) && !known.has(keyOf(other)))
          .map((other) => `${declaration.name} needs ${other.name}`),
      );
    expect(unknown).toEqual([]);
  });

  test("match the reports in api/ (to change them on purpose: npm run api)", () => {
    const [main, parts] = renderApiReports();
    expect(main.text).toBe(read(main.file));
    expect(parts.text).toBe(read(parts.file));
  });
});

describe("a deprecated name", () => {
  test("has a replacement and a line in the changelog", () => {
    const changelog = read("CHANGELOG.md");
    const incomplete = exported
      .flatMap(deprecationsIn)
      .filter(({ name, advice }) => !isComplete({ name, advice }, changelog));
    expect(incomplete).toEqual([]);
  });

  test.each<[string, string, boolean]>([
    ["a function", "/** @deprecated Use `runTurn`. */\nexport declare function run(): void;", true],
    [
      "a property",
      "interface A {\n    /** @deprecated Use `b`. */\n    readonly run?: 1;\n}",
      true,
    ],
    ["nothing to use instead", "/** @deprecated Soon gone. */\nexport type run = 1;", false],
    ["nothing in the changelog", "/** @deprecated Use `b`. */\nexport type walk = 1;", false],
  ])("is checked: %s", (_title, code, expected) => {
    const isFine = deprecationsIn({ code }).map((one) => isComplete(one, "- `run` is deprecated."));
    expect(isFine).toEqual([expected]);
  });
});

function isComplete({ name, advice }: Deprecation, changelog: string): boolean {
  return /^Use `\w/.test(advice) && changelog.includes(`\`${name}\``);
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), "utf8");
}
