/** The package as npm would publish it, and an empty project that installs it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";

export const ROOT = path.join(import.meta.dirname, "..", "..");
const BINARIES = path.join(ROOT, "node_modules", ".bin");

/** Copied into the project that installs the package. */
export const PROGRAMS = ["consumer-program.ts", "providers-program.ts"] as const;

export interface Finished {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  /** The folder of the Node to run on. The default is the Node that runs the tests. */
  readonly node?: string;
  readonly variables?: Readonly<Record<string, string>>;
}

/** Runs a command without a terminal. Commands in node_modules/.bin come last in PATH. */
export async function run(
  command: string,
  words: readonly string[],
  { cwd = ROOT, node = path.dirname(process.execPath), variables = {} }: RunOptions = {},
): Promise<Finished> {
  const folders = [node, process.env["PATH"] ?? "", BINARIES];
  const child = spawn(command, words, {
    cwd,
    env: { ...process.env, PATH: folders.join(path.delimiter), NO_COLOR: "1", ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { status, stdout, stderr };
}

/** Returns the output of a command. Throws if it fails. */
export async function runOrThrow(
  command: string,
  words: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { status, stdout, stderr } = await run(command, words, options);
  if (status !== 0) throw new Error(`${command} ${words.join(" ")}: ${status}\n${stdout}${stderr}`);
  return stdout;
}

/** An empty folder, which the caller removes. */
export function makeFolder(): string {
  return mkdtempSync(path.join(realpathSync(tmpdir()), "jp-package-"));
}

export interface Tarball {
  readonly file: string;
  /** The paths of its files. */
  readonly contents: readonly string[];
}

/** Packs `dist` as it is; `npm test` builds it. */
export async function pack(folder: string): Promise<Tarball> {
  const words = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const packed = JSON.parse(await runOrThrow("npm", words)) as readonly [
    { readonly filename: string; readonly files: readonly { readonly path: string }[] },
  ];
  const [{ filename, files }] = packed;
  return { file: path.join(folder, filename), contents: files.map((file) => file.path) };
}

/** Installs the package in an empty project, with programs that use it. */
export async function install(tarball: string, folder: string): Promise<string> {
  const project = path.join(folder, "project");
  mkdirSync(path.join(project, ".jp"), { recursive: true });
  writeFileSync(path.join(project, "package.json"), '{ "private": true, "type": "module" }\n');
  const words = [
    "install",
    tarball,
    "--ignore-scripts",
    "--prefer-offline",
    "--no-audit",
    "--no-fund",
  ];
  await runOrThrow("npm", words, { cwd: project });
  for (const program of PROGRAMS) {
    copyFileSync(path.join(import.meta.dirname, program), path.join(project, program));
  }
  return project;
}

/** Adds the types of Node, which TypeScript programs need and others do not. */
export function addNodeTypes(project: string): void {
  const types = path.join("node_modules", "@types");
  mkdirSync(path.join(project, types));
  symlinkSync(path.join(ROOT, types, "node"), path.join(project, types, "node"));
}

/** Adds a package that the programs use, in the version that is installed here. */
export function linkPackage(project: string, name: string): void {
  const link = path.join(project, "node_modules", name);
  mkdirSync(path.dirname(link), { recursive: true });
  symlinkSync(path.join(ROOT, "node_modules", name), link);
}

export interface Installed {
  /** By name. */
  readonly packages: readonly string[];
  /** On disk, in whole blocks: a small file takes as much as one of 4096 bytes. */
  readonly bytes: number;
}

const BLOCK = 4096;

/** What npm has put into a project. */
export function findInstalled(project: string): Installed {
  const root = path.join(project, "node_modules");
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const packages = files.flatMap((file) => {
    const [, name] = /^((?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(path.relative(root, file)) ?? [];
    return name === undefined ? [] : [name];
  });
  const blocks = files.map((file) => Math.ceil(statSync(file).size / BLOCK));
  const folders = entries.length - files.length;
  const all = blocks.reduce((sum, each) => sum + each, folders);
  return { packages: packages.toSorted(), bytes: all * BLOCK };
}
