import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "./tarball.ts";

/** Where a name is declared, and how. */
interface Declaration {
  readonly file: string;
  readonly name: string;
  /** Without comments. */
  readonly code: string;
  readonly isDocumented: boolean;
}

const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
};
const [main = "", ...others] = Object.values(manifest.exports).flatMap((entry) =>
  typeof entry === "string" ? [] : [path.join(entry.types)],
);

describe("exported names", () => {
  test("have a doc comment", () => {
    const undocumented = [main, ...others]
      .flatMap(declarationsOf)
      .filter(({ isDocumented }) => !isDocumented)
      .map(({ file, name }) => `${file} ${name}`);
    expect([...new Set(undocumented)]).toEqual([]);
  });

  test("of the main entry only refer to names that are exported too", () => {
    const known = new Set([main, ...others].flatMap((entry) => [...exportsOf(entry).keys()]));
    const unknown = declarationsOf(main).flatMap(({ file, name, code }) =>
      namesOf(file)
        .filter((other) => !known.has(other) && new RegExp(`\\b${other}\\b`).test(code))
        .map((other) => `${name} needs ${other}`),
    );
    expect(unknown).toEqual([]);
  });
});

function declarationsOf(entry: string): readonly Declaration[] {
  return [...exportsOf(entry)].map(([name, from]) => findDeclaration(from, name));
}

/** Follows a name through the indexes to where it is declared. */
function findDeclaration(file: string, name: string): Declaration {
  const next = exportsOf(file).get(name);
  if (next !== undefined) return findDeclaration(next, name);
  const text = read(file);
  const start = new RegExp(`^export .*\\b(?:function|const|class|interface|type) ${name}\\b`, "m");
  const index = text.search(start);
  if (index === -1) throw new Error(`${name} is not declared in ${file}`);
  const [code = ""] = text.slice(index).split(/\n(?=\S)(?!})/);
  return {
    file,
    name,
    code: code.replaceAll(/\/\*\*[\s\S]*?\*\//g, ""),
    isDocumented: text.slice(0, index).trimEnd().endsWith("*/"),
  };
}

/** The names that an index re-exports, with their files. Re-exports never rename. */
function exportsOf(file: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [, names = "", from = ""] of read(file).matchAll(
    /^export (?:type )?\{([^}]*)\} from "(.+)\.ts";/gm,
  )) {
    const source = path.join(path.dirname(file), `${from}.d.ts`);
    for (const name of namesIn(names)) found.set(name, source);
  }
  return found;
}

/** The names that a file imports or declares, except those that are copied from other packages. */
function namesOf(file: string): readonly string[] {
  const text = read(file);
  const imported = [...text.matchAll(/^import (?:type )?\{([^}]*)\} from "\.(?!.*\/external\/)/gm)];
  const declared = [...text.matchAll(/^export .*\b(?:class|interface|type) (\w+)/gm)];
  return [...imported, ...declared].flatMap(([, names = ""]) => namesIn(names));
}

function namesIn(list: string): readonly string[] {
  return list
    .split(",")
    .map((name) => name.replace("type ", "").trim())
    .filter((name) => name !== "");
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), "utf8");
}
