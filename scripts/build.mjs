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
import process from "node:process";
import { rolldown } from "rolldown";

const { dependencies, version } = JSON.parse(readFileSync("package.json", "utf8"));
// These find a binary beside their own files, so they stay outside the bundle.
const WITH_BINARIES = new Set(["fs-native-extensions", "minijinja-js"]);
const external = Object.keys(dependencies).filter((name) => WITH_BINARIES.has(name));

/**
 * Commander loads `node:child_process`, a tenth of Node's own start, for programs that keep their
 * commands in files of their own. We have none: it is loaded if it is ever called.
 */
const lazyChildProcess = {
  name: "lazy-child-process",
  transform: {
    filter: { id: /commander[\\/]lib[\\/]command\.js$/ },
    handler(code) {
      const eager = "import childProcess from 'node:child_process';";
      if (!code.includes(eager)) this.error("commander has changed: see scripts/build.mjs");
      const lazy = "process.getBuiltinModule('node:child_process').spawn(...words)";
      return code.replace(eager, `const childProcess = { spawn: (...words) => ${lazy} };`);
    },
  },
};

// Made beside what is in use, and put in its place at the end: nobody runs half of it.
const made = `dist-${process.pid}`;
const bundle = await rolldown({
  input: { jp: "src/cli/main.ts" },
  platform: "node",
  plugins: [lazyChildProcess],
  external: [...external, /^node:/],
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
// What `jp --help` says where there is no screen: reading it is faster than making it.
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

/** The licences of all that may be in the bundle, as their authors want them to be passed on. */
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
