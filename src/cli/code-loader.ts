/**
 * Loads the command's code together with V8's compiled code from earlier runs. Node's own compile cache only has code
 * compiled while a file loads. This one is written when the process ends and has every function that ran, which cuts
 * a query's startup by a quarter.
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { constants, Script } from "node:vm";

export interface CodeLoader {
  /** Returns the exports of a bundle file, such as `./run.cjs`. */
  readonly load: (name: string) => unknown;
  /** Loads the imports of all files loaded so far; from now on, files load together with their imports. */
  readonly loadImports: () => void;
  /** Saves newly compiled code. */
  readonly save: () => void;
}

export interface CodePlaces {
  /** The folder of the bundle. */
  readonly folder: string;
  /** Only this user may write there. Undefined disables the cache. */
  readonly cache: string | undefined;
  /** Each command runs different functions, so each has its own cache. */
  readonly command: string;
  /** Loads modules outside the bundle. */
  readonly requireOther: (name: string) => unknown;
}

/** The first runs differ the most, so each of them updates the cache. */
const FIRST_RUNS = 3;
/** Later runs update the cache at most this often. */
const UPDATE_MS = 24 * 60 * 60 * 1000;

/** Prepended to a bundle file before it is compiled. */
export const WRAPPER = "(function (exports, require, module, __filename, __dirname) {\n";

/** Every command uses these at once. */
const NEEDED = /^\.\/(?:run|base)\b/;

/**
 * A lazy stand-in for the exports of an imported file, which is loaded on first use: many imports are needed late or
 * never. The bundler never copies exports out of this object early.
 */
function whenUsed(load: () => unknown): unknown {
  const exported = {};
  const get = (_target: object, key: PropertyKey): unknown => {
    const loaded = load() as Readonly<Record<PropertyKey, unknown>>; // The exports of a bundle file.
    Object.setPrototypeOf(exported, loaded);
    return loaded[key];
  };
  Object.setPrototypeOf(exported, new Proxy({}, { get }));
  return exported;
}

interface Loaded {
  readonly script: Script;
  readonly file: string;
  /** When the source was written. */
  readonly changed: number;
  /** How many runs have contributed so far. */
  readonly runs: number;
}

export function createCodeLoader({ folder, cache, command, requireOther }: CodePlaces): CodeLoader {
  const modules = new Map<string, { exports: unknown }>();
  const outdated: Loaded[] = [];
  /** To be loaded when they are used. */
  const imported = new Set<string>();
  let hasTime = false;
  /** Nesting depth of the files being evaluated. */
  let evaluating = 0;

  const compile = (name: string): Script => {
    const filename = path.join(folder, name);
    const { source, changed } = readSource(filename);
    const file =
      cache === undefined ? undefined : path.join(cache, `${path.basename(name)}.${command}`);
    const known = file === undefined ? undefined : readCompiled(file, changed);
    const script = new Script(`${WRAPPER}${source}\n})`, {
      filename,
      lineOffset: -1, // Skips the wrapper's line.
      cachedData: known?.data,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    const runs = script.cachedDataRejected === true ? 0 : (known?.runs ?? 0);
    if (file !== undefined && (runs < FIRST_RUNS || known?.isOld === true)) {
      outdated.push({ script, file, changed, runs });
    }
    return script;
  };

  const evaluate = (name: string): unknown => {
    const found = modules.get(name);
    if (found !== undefined) return found.exports;
    const module = { exports: {} };
    modules.set(name, module); // Files may import each other.
    evaluating += 1;
    try {
      const run = compile(name).runInThisContext() as (...names: readonly unknown[]) => void; // As above.
      run.call(module.exports, module.exports, load, module, path.join(folder, name), folder);
    } catch (error) {
      modules.delete(name);
      throw error;
    } finally {
      evaluating -= 1;
    }
    return module.exports;
  };

  const load = (name: string): unknown => {
    if (!name.startsWith("./")) return requireOther(name);
    const isImport = evaluating > 0 && !modules.has(name);
    if (!isImport || hasTime || NEEDED.test(name)) return evaluate(name);
    imported.add(name);
    return whenUsed(() => evaluate(name));
  };

  const loadImports = () => {
    hasTime = true;
    for (const name of imported) evaluate(name);
  };

  return { load, loadImports, save: () => outdated.splice(0).forEach(writeCompiled) };
}

/** The files of a bundle are ASCII. Throws `MODULE_NOT_FOUND`, as Node would. */
function readSource(file: string): { readonly source: string; readonly changed: number } {
  try {
    return { source: readFileSync(file, "latin1"), changed: statSync(file).mtimeMs };
  } catch (cause) {
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
    if (!isMissing) throw cause;
    throw Object.assign(new Error(`Cannot find module '${file}'`, { cause }), {
      code: "MODULE_NOT_FOUND",
    });
  }
}

interface Compiled {
  readonly data: Buffer;
  readonly runs: number;
  readonly isOld: boolean;
}

/** After the data: when the source was written, and the number of runs. */
const END_BYTES = 9;

/**
 * V8 checks the data against its own version and flags, but only against the length of the source, and trusts the
 * rest. A file written during a power loss may have holes, so it holds the data twice: comparing takes a tenth of the
 * time that loading Node's checksums would.
 */
function readCompiled(file: string, changed: number): Compiled | undefined {
  try {
    const content = readFileSync(file);
    const end = content.length - END_BYTES;
    if (content.readDoubleLE(end) !== changed) return undefined;
    const data = content.subarray(0, end / 2);
    if (!data.equals(content.subarray(data.length, end))) return undefined;
    const runs = content.readUInt8(content.length - 1);
    const isOld = runs >= FIRST_RUNS && Date.now() - statSync(file).mtimeMs > UPDATE_MS;
    return { data, runs, isOld };
  } catch {
    return undefined; // Missing or too short.
  }
}

/** Other processes read and write the same file. A command never fails because of it. */
function writeCompiled({ script, file, changed, runs }: Loaded): void {
  const temporary = `${file}.${process.pid}`;
  const end = Buffer.alloc(END_BYTES);
  end.writeDoubleLE(changed);
  end.writeUInt8(Math.min(runs + 1, FIRST_RUNS), END_BYTES - 1);
  try {
    const data = script.createCachedData();
    writeFileSync(temporary, Buffer.concat([data, data, end]), { mode: 0o600 });
    renameSync(temporary, file);
  } catch {
    rmSync(temporary, { force: true });
  }
}
