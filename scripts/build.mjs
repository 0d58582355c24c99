// Builds dist/: the command as split CommonJS (it starts faster than ESM), and the library as ESM
// with its types.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import process from "node:process";
import { rolldown } from "rolldown";

const { version } = JSON.parse(readFileSync("package.json", "utf8"));
// These load a binary from their own folder, so they cannot be bundled.
const external = ["minijinja-js", /^@koromix\//];

/**
 * Commander imports `node:child_process`, a tenth of Node's own start-up time, for programs whose
 * subcommands are separate executables. jp has none, so commander gets a module that loads it on use.
 */
const lazyChildProcess = {
  name: "lazy-child-process",
  resolveId: {
    filter: { id: /^node:child_process$/ },
    handler: (_id, importer = "") =>
      /[\\/]commander[\\/]/.test(importer) ? path.resolve("scripts/lazy-child-process.mjs") : null,
  },
};

/** `Headers` of Node loads its `fetch`, which jp does not use for providers. */
const lightHeaders = {
  name: "light-headers",
  transform: {
    filter: { id: /[\\/]@ai-sdk[\\/]provider-utils[\\/]/ },
    handler: (code) => {
      const file = JSON.stringify(path.resolve("src/provider/http-headers.ts"));
      return `import { HttpHeaders as Headers } from ${file};\n${code}`;
    },
  },
};

// Built beside the version in use and swapped at the end, so that no one runs half of it.
const made = `dist-${process.pid}`;
const bundle = await rolldown({
  input: { jp: "src/cli/main.ts" },
  platform: "node",
  plugins: [lazyChildProcess, lightHeaders],
  external,
  transform: { target: "node22.22", define: { JP_VERSION: JSON.stringify(version) } },
});
await bundle.write({
  dir: `${made}/bin`,
  format: "cjs",
  minify: true,
  entryFileNames: "[name].cjs",
  chunkFileNames: "[name]-[hash].cjs",
});
await bundle.close();
chmodSync(`${made}/bin/jp.cjs`, 0o755);
// The help for output that is not a terminal: reading a file is faster than generating it.
const help = spawnSync(process.execPath, [`${made}/bin/jp.cjs`, "--help"], { encoding: "utf8" });
writeFileSync(`${made}/bin/help.txt`, help.stdout);

writeFileSync(`${made}/bin/THIRD-PARTY-NOTICES.txt`, noticesOf("package-lock.json"));

const options = ["--project", "tsconfig.build.json", "--outDir", `${made}/lib`];
const types = spawnSync("tsc", options, { stdio: "inherit" });
const replaced = `${made}-replaced`;
if (existsSync("dist")) renameSync("dist", replaced);
renameSync(made, "dist");
rmSync(replaced, { recursive: true, force: true });
process.exitCode = types.status ?? 1;

/** The licence texts of everything that may be in the bundle. */
function noticesOf(lockFile) {
  const { packages } = JSON.parse(readFileSync(lockFile, "utf8"));
  return Object.entries(packages)
    .filter(([folder, { dev }]) => folder !== "" && dev !== true && existsSync(folder))
    .map(([folder, { version: shipped, license }]) => {
      const file = readdirSync(folder).find((name) => /^(?:licen[cs]e|copying)/i.test(name));
      const text = file === undefined ? "" : readFileSync(`${folder}/${file}`, "utf8").trim();
      const name = folder.replace(/^.*node_modules\//, "");
      return `${name} ${shipped} (${license})\n\n${text}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}
