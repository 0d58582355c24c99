#!/usr/bin/env node
/** The command's first lines. They stay small: `--version` and `--help` cost what Node itself costs. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { isScreen, writeOut } from "./host.ts";

declare const JP_VERSION: string;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const [word = "", ...rest] = process.argv.slice(2);
/** The build puts the program's own help here, as wide as it is where there is no screen. */
const helpFile = path.join(import.meta.dirname, "help.txt");

if (major < 22 || (major === 22 && minor < 22)) {
  process.stderr.write(`jp needs Node 22.22 or newer; this is ${process.versions.node}.\n`);
  process.exitCode = 1;
} else if (rest.length === 0 && (word === "--version" || word === "-V")) {
  writeOut(`jp ${JP_VERSION}\n`);
} else if (rest.length === 0 && isHelp(word) && !isScreen() && existsSync(helpFile)) {
  writeOut(readFileSync(helpFile, "utf8"));
} else {
  void import("./run.ts").then(({ runInProcess }) => runInProcess(JP_VERSION));
}

function isHelp(text: string): boolean {
  return text === "--help" || text === "-h";
}
