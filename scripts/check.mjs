// `npm run check`: all static checks, and the tests, which also cover the architecture, the documentation and the
// package.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";

const { name: packageName, version } = JSON.parse(readFileSync("package.json", "utf8"));
const folder = mkdtempSync(path.join(tmpdir(), "jp-check-"));
process.on("exit", () => rmSync(folder, { recursive: true }));

const tarball = path.join(folder, `${packageName}-${version}.tgz`);
const steps = [
  ["format", "oxfmt", "--check"],
  ["lint", "oxlint", "--type-aware"],
  ["types", "tsc", "--noEmit"],
  ["types of the page", "tsc", "--noEmit", "--project", "src/surfaces/desk/page"],
  ["unused code", "knip"],
  ["duplicate code", "jscpd", "src"],
  ["packing", "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder],
  ["package", "publint", tarball, "--strict"],
  // ESM only: `require` and node10 resolution are not supported.
  ["types of the package", "attw", tarball, "--profile", "esm-only"],
  ...["true", "false"].flatMap((isExact) =>
    ["true", "false"].map((isSkipped) => {
      const options = ["--exactOptionalPropertyTypes", isExact, "--skipLibCheck", isSkipped];
      const name = `types of the package: ${options.join(" ")}`;
      return [name, "tsc", "--project", "test/package", ...options];
    }),
  ),
  ["tests", "vitest", "run"],
];
const isWithoutTests = process.argv.includes("--without-tests");

for (const [name, command, ...words] of steps) {
  if (name === "tests" && isWithoutTests) continue;
  console.log(`check: ${name}`);
  const { status } = spawnSync(command, words, { stdio: "inherit" });
  if (status !== 0) {
    console.error(`check: ${name} failed`);
    process.exit(1);
  }
}
