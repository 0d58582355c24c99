/** The packed package, installed offline in an empty folder: its size, and its import time. */
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import process from "node:process";
import { pack, ROOT } from "../test/package/tarball.ts";
import {
  type Bench,
  compared,
  type Figures,
  goalInMs,
  NODE_START,
  type Result,
  run,
  startNode,
  takeTurns,
} from "./measure.ts";

const IMPORT_ROUNDS = 20;
export const PACKAGE = {
  size: "npm install -g: MB",
  count: "npm install -g: packages",
  import: "import of the library, over bare node",
};

export const installed: Bench = {
  rows: Object.values(PACKAGE),
  run: async (folder) => {
    const { file } = await pack(folder);
    const project = path.join(folder, "project");
    const way = await installOffline(project, file);
    const { megabytes, packages } = sizeOf(project);
    return [
      {
        name: PACKAGE.size,
        unit: "MB",
        figures: exactly(megabytes),
        goal: { most: 15 },
        detail: `on disk, with all dependencies; ${way}`,
      },
      {
        name: PACKAGE.count,
        unit: "packages",
        figures: exactly(packages),
        goal: { most: 10 },
        detail: "including jp itself",
      },
      {
        name: PACKAGE.import,
        unit: NODE_START,
        goal: goalInMs(80),
        ...(await importOf(project, "jp-ts")),
      },
    ];
  },
};

function exactly(value: number): Figures {
  return { size: { value, noise: 0 } };
}

/** Installs packages in an empty folder, as `npm install -g` would globally. */
export async function install(
  project: string,
  names: readonly string[],
  {
    flags,
    hasScripts = false,
  }: { readonly flags: readonly string[]; readonly hasScripts?: boolean },
): Promise<void> {
  mkdirSync(project, { recursive: true });
  writeFileSync(path.join(project, "package.json"), '{ "private": true }\n');
  const scripts = hasScripts ? [] : ["--ignore-scripts"];
  await run("npm", ["install", ...names, "--no-audit", "--no-fund", ...scripts, ...flags], {
    cwd: project,
  });
}

/**
 * Installs our package from npm's cache. If that lacks something, unpacks the package and copies its dependencies
 * from this clone. Returns which it did.
 */
async function installOffline(project: string, tarball: string): Promise<string> {
  try {
    await install(project, [tarball], { flags: ["--offline"] });
    return "installed by npm";
  } catch (error) {
    if (!String(error).includes("ENOTCACHED")) throw error;
  }
  const modules = path.join(project, "node_modules");
  const own = path.join(modules, "jp-ts");
  mkdirSync(own, { recursive: true });
  await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", own]);
  copyDependencies(own, modules);
  return "copied from this clone, because npm's cache lacks a package";
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** Copies what npm would install for a package, and its dependencies. */
function copyDependencies(folder: string, modules: string): void {
  const text = readFileSync(path.join(folder, "package.json"), "utf8");
  const manifest = JSON.parse(text) as Manifest; // npm has accepted it.
  const peers = Object.keys(manifest.peerDependencies ?? {});
  const names = [
    ...Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }),
    ...peers.filter((name) => manifest.peerDependenciesMeta?.[name]?.optional !== true),
  ];
  for (const name of names) {
    const copy = path.join(modules, name);
    const original = path.join(ROOT, "node_modules", name);
    // An optional dependency may be for another platform.
    if (existsSync(copy) || !existsSync(original)) continue;
    cpSync(original, copy, { recursive: true });
    copyDependencies(copy, modules);
  }
}

/** The disk size of everything installed in a folder, and the number of packages. */
export function sizeOf(project: string) {
  const modules = path.join(project, "node_modules");
  const files = readdirSync(modules, { recursive: true, encoding: "utf8" });
  const isManifest = /(?:^|\/node_modules\/)(?:@[^/]+\/)?[^/@.][^/]*\/package\.json$/;
  const bytes = files.map((file) => lstatSync(path.join(modules, file)).blocks * 512);
  return {
    megabytes: bytes.reduce((sum, each) => sum + each, 0) / 1e6,
    packages: files.filter((file) => isManifest.test(file)).length,
  };
}

/** The extra time of a program that only imports a package, compared with an empty one. */
export async function importOf(
  project: string,
  name: string,
): Promise<Pick<Result, "figures" | "detail">> {
  const program = (file: string, text: string) => {
    writeFileSync(path.join(project, file), text);
    return () => run(process.execPath, [file], { cwd: project });
  };
  const took = await takeTurns(
    {
      node: startNode,
      empty: program("empty.mjs", ""),
      importing: program("import.mjs", `import ${JSON.stringify(name)};\n`),
    },
    IMPORT_ROUNDS,
  );
  const more = took.importing.map(({ time, cpu }, round) => ({
    time: time - (took.empty[round]?.time ?? Number.NaN),
    cpu: cpu - (took.empty[round]?.cpu ?? Number.NaN),
  }));
  return compared(more, took.node);
}
