#!/usr/bin/env node
/** The command's first lines. They stay small: `jp --version` should cost what Node itself costs. */

import { writeOut } from "./write-out.ts";

declare const JP_VERSION: string;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 22)) {
  process.stderr.write(`jp needs Node 22.22 or newer; this is ${process.versions.node}.\n`);
  process.exitCode = 1;
} else if (process.argv.length === 3 && ["--version", "-V"].includes(process.argv[2] ?? "")) {
  writeOut(`jp ${JP_VERSION}\n`);
} else {
  void import("./run.ts").then(({ run }) => run(process.argv, JP_VERSION));
}
