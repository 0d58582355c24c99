import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeFolder, pack, ROOT, run, runOrThrow } from "./tarball.ts";

/** A package manager, and how it is told to install a tarball and to run a command of the project. */
interface Manager {
  readonly name: string;
  readonly install: (tarball: string) => readonly string[];
  /** Words before a command. Without any, the command is in `node_modules/.bin`. */
  readonly runner?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
}

const YARN = (tarball: string) => ["yarn", "add", `jp-ts@file:${tarball}`];
const MANAGERS: readonly Manager[] = [
  { name: "npm", install: (tarball) => ["npm", "install", "--ignore-scripts", tarball] },
  { name: "pnpm", install: (tarball) => ["pnpm", "add", tarball] },
  {
    name: "Yarn with node_modules",
    install: YARN,
    files: { "yarn.lock": "", ".yarnrc.yml": "nodeLinker: node-modules\n" },
  },
  {
    name: "Yarn with Plug'n'Play",
    install: YARN,
    runner: ["yarn"],
    files: { "yarn.lock": "", ".yarnrc.yml": "nodeLinker: pnp\n" },
  },
];
const NODES = ["the oldest Node", "this Node", "the newest Node"] as const;
const PROGRAM = "bundle-program.ts";
const TIMEOUT_MS = 300_000;
const folder = makeFolder();
/** Where pnpm and Yarn are, and the folder of each Node. */
const places = new Map<string, string>();
let tarball = "";
/** Why the package cannot be installed here. */
let problem: string | undefined;

beforeAll(async () => {
  const known = await run("npm", ["view", "pnpm", "version", "--prefer-online"]);
  if (known.status !== 0) {
    problem = "The registry of npm cannot be reached, so no package manager was tried.";
    process.stderr.write(`Skipped: ${problem}\n`); // Reporters leave out why.
    return;
  }
  places.set("this Node", path.dirname(process.execPath));
  places.set(
    "the oldest Node",
    path.dirname(await bootstrap("--oldest-node", "node", "-p", "process.execPath")),
  );
  places.set(
    "the newest Node",
    path.dirname(await bootstrap("--newest-node", "node", "-p", "process.execPath")),
  );
  places.set(
    "managers",
    path.dirname(await bootstrap("--package-managers", "sh", "-c", "command -v yarn")),
  );
  tarball = (await pack(folder)).file;
}, TIMEOUT_MS);
beforeEach(({ skip }) => skip(problem !== undefined, problem));
afterAll(() => rm(folder, { recursive: true, force: true }), TIMEOUT_MS);

describe.each(MANAGERS)("the package, installed by $name,", { timeout: TIMEOUT_MS }, (manager) => {
  const { name, runner = [], files = {} } = manager;
  const project = path.join(folder, name.replaceAll(/\W+/g, "-"));

  beforeAll(async () => {
    if (problem !== undefined) return;
    mkdirSync(project);
    for (const [file, text] of Object.entries(files)) writeFileSync(path.join(project, file), text);
    writeFileSync(path.join(project, "package.json"), '{ "private": true, "type": "module" }\n');
    copyFileSync(path.join(import.meta.dirname, PROGRAM), path.join(project, PROGRAM));
    const [command = "", ...words] = manager.install(tarball);
    await runOrThrow(command, words, { cwd: project, variables: await variablesFor("this Node") });
  }, TIMEOUT_MS);

  test.each(NODES)("runs a turn and prints its version on %s", async (which) => {
    const act = async (...words: readonly string[]) => {
      const [command = "", ...rest] = [...runner, ...words];
      return await run(command, rest, { cwd: project, variables: await variablesFor(which) });
    };
    const store = path.join(project, "stores", which);
    const quiet = "--disable-warning=ExperimentalWarning"; // About type stripping.
    const turn = await act("node", quiet, PROGRAM, store);
    const bin = runner.length === 0 ? path.join("node_modules", ".bin", "jp") : "jp";
    const version = await act(bin, "--version");
    expect({ turn, version }).toEqual({
      turn: { status: 0, stdout: "Done.\n", stderr: "" },
      version: { status: 0, stdout: expect.stringMatching(/^jp \d/) as unknown, stderr: "" },
    });
  });
});

async function bootstrap(...words: readonly string[]): Promise<string> {
  const script = path.join(ROOT, "scripts", "bootstrap.mjs");
  return (await runOrThrow("node", [script, ...words])).trim();
}

/** All managers use the registry of npm, and keep what they fetch in the folder of this test. */
async function variablesFor(
  which: (typeof NODES)[number],
): Promise<Readonly<Record<string, string>>> {
  const registry = (await runOrThrow("npm", ["config", "get", "registry"])).trim();
  const folders = [places.get(which), places.get("managers"), process.env["PATH"]];
  return {
    PATH: folders.join(path.delimiter),
    JP_USER_DATA_DIR: path.join(folder, "data"),
    npm_config_registry: registry,
    pnpm_config_store_dir: path.join(folder, "pnpm-store"),
    YARN_NPM_REGISTRY_SERVER: registry,
    YARN_UNSAFE_HTTP_WHITELIST: new URL(registry).hostname,
    YARN_GLOBAL_FOLDER: path.join(folder, "yarn"),
    YARN_ENABLE_TELEMETRY: "0",
    YARN_ENABLE_IMMUTABLE_INSTALLS: "0",
  };
}
