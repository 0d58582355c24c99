// Builds dist/: the command as split CommonJS (it starts faster than ESM), and the library as ESM
// with its types.
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import process from "node:process";
import { rolldown } from "rolldown";

const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
// Native add-ons find their binary beside their own files, so they stay outside the bundle.
const external = Object.keys(dependencies).filter((name) => name === "fs-native-extensions");

const bundle = await rolldown({
  input: { jp: "src/cli/main.ts" },
  platform: "node",
  external: [...external, /^node:/],
});
await bundle.write({
  dir: "dist/bin",
  format: "cjs",
  minify: true,
  entryFileNames: "[name].cjs",
  chunkFileNames: "[name]-[hash].cjs",
});
await bundle.close();
chmodSync("dist/bin/jp.cjs", 0o755);

const types = spawnSync("tsc", ["--project", "tsconfig.build.json"], { stdio: "inherit" });
process.exitCode = types.status ?? 1;
