/** What `import "jp-ts"` loads: each file takes Node about a millisecond, and some of its own modules take more. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "./tarball.ts";

const LIBRARY = path.join(ROOT, "dist", "lib");

/** The names of the files that an entry imports at once, and of the modules of Node. */
function importsOf(entry: string, found = new Set<string>()): ReadonlySet<string> {
  const file = path.join(LIBRARY, entry);
  for (const [, name = ""] of readFileSync(file, "utf8").matchAll(
    /^import (?:.* from )?"(.+)";$/gm,
  )) {
    const imported = name.startsWith("node:")
      ? name
      : path
          .relative(LIBRARY, path.resolve(path.dirname(file), name))
          .replace(/-[\w-]{8}\.js$/, "");
    if (found.has(imported)) continue;
    found.add(imported);
    if (name.startsWith(".")) {
      importsOf(path.relative(LIBRARY, path.resolve(path.dirname(file), name)), found);
    }
  }
  return found;
}

describe("an import of the library", () => {
  test("loads two files, and of Node only paths: everything else is loaded when it is first used", () => {
    expect([...importsOf("index.js")].toSorted()).toEqual(["base", "core", "node:path"]);
  });

  test("of its tools alone loads one of them", () => {
    expect([...importsOf("record/tool/index.js")]).toEqual(["base"]);
  });

  test("has no config schema, no MCP client, no providers and no agent in it", () => {
    const text = ["base", "core"].map((name) => textOf(name)).join("\n");
    for (const part of [
      "class Turn ",
      "class McpServer ",
      "strictObject(",
      "function toCallOptions(",
    ]) {
      expect(text).not.toContain(part);
    }
  });
});

function textOf(name: string): string {
  const [, file = ""] =
    readFileSync(path.join(LIBRARY, "index.js"), "utf8").match(
      new RegExp(`"\\./(${name}-[\\w-]{8}\\.js)"`),
    ) ?? [];
  return readFileSync(path.join(LIBRARY, file), "utf8");
}
