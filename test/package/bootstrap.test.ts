/** `scripts/bootstrap.mjs`, which sets up a clone and runs a command in it. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { ROOT } from "../support/documents.ts";
import { PseudoTerminal } from "../support/pseudo-terminal.ts";

const BOOTSTRAP = path.join(ROOT, "scripts", "bootstrap.mjs");

/** Says goodbye after Ctrl-C, like the tour. */
const PROGRAM = `
process.on("SIGINT", () => { console.log("The end."); process.exit(7); });
console.log("Ready.");
setInterval(() => {}, 1000);`;

test("a command that ends in its own way after Ctrl-C prints its last line before its setup ends", async () => {
  const words = [BOOTSTRAP, process.execPath, "-e", PROGRAM];
  const options = { folder: ROOT, variables: process.env };
  const screen = new PseudoTerminal(process.execPath, words, options);
  await screen.untilShown((lines) => lines.includes("Ready."));
  screen.type("\u0003");
  const { status, lines } = await screen.end();
  expect([status, lines.at(-1)]).toEqual([7, "^CThe end."]);
});

test("packages that are not installed for the command alone are no part of it", () => {
  const text = readFileSync(BOOTSTRAP, "utf8");
  const [, list = ""] = /NOT_FOR_COMMAND = new Set\(\[(.*?)\]\)/s.exec(text) ?? [];
  const names = [...list.matchAll(/"(.+?)"/g)].map(([, name = ""]) => name);
  const known = Object.keys(manifest.devDependencies);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !known.includes(name))).toEqual([]);
  const maps = path.join(ROOT, "dist", "maps", "bin");
  const bundled = new Set(readdirSync(maps).flatMap((name) => packagesIn(path.join(maps, name))));
  expect(bundled).toContain("commander");
  expect(names.filter((name) => bundled.has(name))).toEqual([]);
});

/** The packages that a source map names. */
function packagesIn(file: string): readonly string[] {
  const { sources } = JSON.parse(readFileSync(file, "utf8")) as { readonly sources: string[] };
  const found = sources.map((source) => /.*\bnode_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1]);
  return found.filter((name) => name !== undefined);
}
