/** Measures what five commands and three uses of the library load, run and open, up to their request or their end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { JP } from "../measure.ts";
import { ModelServer } from "../model-server.ts";
import { writeRecords } from "../workspace.ts";
import {
  type Counts,
  findProblems,
  joined,
  type Kind,
  readBudget,
  type Use,
  useOf,
} from "./budget.ts";
import { BuiltFile, builtFileOf, groupOf } from "./origins.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
const HOOK = path.join(import.meta.dirname, "hook.cjs");
const ID = "jp-c17000000000";
/** The number of runs before a problem counts. */
const MOST_RUNS = 4;

/** The environment of a measurement. */
interface Place {
  readonly root: string;
  readonly server: ModelServer;
  /** Runs the command without measuring it. */
  readonly jp: (words: readonly string[], expected?: number) => Promise<void>;
  /** Runs a program without measuring it. */
  readonly start: (words: readonly string[]) => Promise<void>;
}

/** When to stop: when the request is sent, at the end, or when the tool starts. */
type Stop = "request" | "exit" | "tool.sh";

interface Path {
  readonly until: Stop;
  /** Sets up an empty place, and returns the arguments of `node`. */
  readonly prepare: (place: Place) => Promise<readonly string[]>;
}

const query = (...flags: readonly string[]): Path => ({
  until: "request",
  prepare: async ({ root, jp }) => {
    const words = ["-w", root, "query", "--new", "--non-interactive", ...flags, "Say something."];
    await jp(words); // The first query in a workspace has more to do.
    return [JP, ...words];
  },
});
/** Returns the question's ID. */
async function leaveQuestion({ root, server, jp }: Place): Promise<string> {
  writeRecords(root, 1, 16);
  server.calls.push({ id: "call_1", name: "asking", input: "{}" });
  await jp(["-w", root, "query", "--id", ID, "--defer", "Do something."], 4); // Exits with 4 because it waits.
  return `${ID}/call_1.ok.1`;
}

export const PATHS = {
  "jp query, llamacpp": query(),
  "jp query, anthropic": query("--model", "anthropic/bench"),
  "jp conversation ls": {
    until: "exit",
    prepare: async ({ root }) => {
      writeRecords(root, 3, 16);
      return [JP, "-w", root, "conversation", "ls"];
    },
  },
  "jp inquiry ls --pending": {
    until: "exit",
    prepare: async (place) => {
      await leaveQuestion(place);
      return [JP, "-w", place.root, "inquiry", "ls", "--pending"];
    },
  },
  "jp inquiry answer --continue": {
    until: "tool.sh",
    prepare: async (place) => {
      const question = await leaveQuestion(place);
      return [JP, "-w", place.root, "inquiry", "answer", question, "yes", "--continue"];
    },
  },
  'import "jp-ts"': {
    until: "exit",
    prepare: async () => [path.join(import.meta.dirname, "import-program.mjs")],
  },
  "a turn that leaves a question": {
    until: "exit",
    prepare: async ({ root }) => {
      const program = path.join(import.meta.dirname, "turn-program.mjs");
      return [program, path.join(path.dirname(root), "store"), "ask"];
    },
  },
  "a question that is answered, and its turn continued": {
    until: "exit",
    prepare: async ({ root, start }) => {
      const program = path.join(import.meta.dirname, "turn-program.mjs");
      const store = path.join(path.dirname(root), "store");
      await start([program, store, "ask"]);
      return [program, store, "answer"];
    },
  },
} as const satisfies Record<string, Path>;

/** The problems as sentences. Apparent problems are measured again: see `Range`. */
export async function checkBudget(name: keyof typeof PATHS): Promise<readonly string[]> {
  const budget = readBudget();
  const uses: Use[] = [];
  let problems: readonly string[] = [];
  do {
    uses.push(await measureUse(name));
    problems = findProblems(name, joined(uses), budget);
  } while (problems.length > 0 && uses.length < MOST_RUNS);
  return problems;
}

export async function measureUse(name: keyof typeof PATHS): Promise<Use> {
  const { report, coverage, built, processes, files, syncs, stats, reads } = await observe(
    PATHS[name],
  );
  const counts: Readonly<Record<Kind, Counts>> = {
    modules: countsOf(built.flatMap(({ modules }) => modules)),
    bytes: { bytes: built.reduce((sum, { bytes }) => sum + bytes, 0) },
    functions: functionsOf(coverage),
    builtins: countsOf(builtinsOf(report.modules)),
    processes: countsOf(processes),
    files: { ...countsOf(files), ...countsOf([...new Set(files.filter(isPolled))]) },
    syncs: countsOf(syncs),
    stats: { stats: stats.filter((file) => !isPolled(file)).length },
    read: { read: reads.reduce((sum, { bytes }) => sum + bytes, 0) },
  };
  return useOf([counts]);
}

interface Read {
  readonly file: string;
  readonly bytes: number;
}

/** The hook's report. */
export interface Report {
  readonly reason: Stop;
  /** When the hook was loaded, in milliseconds since the process started. */
  readonly startedAt: number;
  readonly files: readonly string[];
  readonly processes: readonly (readonly string[])[];
  readonly addons: readonly string[];
  readonly syncs: readonly string[];
  readonly stats: readonly string[];
  readonly reads: readonly Read[];
  readonly modules: readonly string[];
}

interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

interface Observed {
  readonly report: Report;
  readonly coverage: readonly Script[];
  /** Leaves out what differs between runs and machines. */
  readonly files: readonly string[];
  readonly syncs: readonly string[];
  /** Of files and folders of the place: what leads to the code is as deep as the clone. */
  readonly stats: readonly string[];
  readonly reads: readonly Read[];
  readonly processes: readonly string[];
  /** The build's files that were loaded. */
  readonly built: readonly BuiltFile[];
}

async function observe({ until, prepare }: Path): Promise<Observed> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "jp-budget-")));
  await using server = await ModelServer.start();
  try {
    const root = path.join(folder, "project");
    const env = makePlace(folder, server);
    const start = async (words: readonly string[], expected = 0, more: NodeJS.ProcessEnv = {}) =>
      await run(words, { cwd: root, env: { ...env, ...more }, expected });
    const jp = async (words: readonly string[], expected?: number) =>
      await start([JP, ...words], expected);
    const words = await prepare({ root, server, jp, start });
    const file = path.join(folder, "report.json");
    const coverage = path.join(folder, "coverage");
    await start(["--require", HOOK, ...words], 0, {
      JP_BENCH_HOOK: JSON.stringify({ report: file, until }),
      NODE_V8_COVERAGE: coverage,
    });
    const report = JSON.parse(readFileSync(file, "utf8")) as Report; // Written by the hook.
    if (report.reason !== until) throw new Error(`${words.join(" ")}: no ${until}.`);
    const opened = [...report.files, ...report.addons];
    const scripts = new Set(opened.filter(isScript));
    return {
      report,
      coverage: readCoverage(coverage),
      files: opened
        .filter((each) => !scripts.has(each) && !each.startsWith(import.meta.dirname))
        .map((each) => nameOf(each, folder)),
      syncs: report.syncs.map((each) => nameOf(each, folder)),
      stats: report.stats.filter((each) => each.startsWith(folder)),
      reads: report.reads.filter((each) => each.file.startsWith(folder)),
      processes: report.processes.map((each) => processName(each, folder)),
      built: [...scripts].map((each) => new BuiltFile(each)),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates a workspace in a repository, with a tool that asks. Returns the environment for commands in it. */
function makePlace(folder: string, server: ModelServer): NodeJS.ProcessEnv {
  const at = (...names: readonly string[]) => path.join(folder, ...names);
  for (const name of ["home", "bin", "config", "project/.jp", "project/.git"]) {
    mkdirSync(at(name), { recursive: true });
  }
  writeFileSync(at("project", ".git", "HEAD"), "ref: refs/heads/main\n");
  // Machines have different versions of git, or none.
  writeFileSync(at("bin", "git"), "#!/bin/sh\nexit 0\n");
  chmodSync(at("bin", "git"), 0o755);
  writeFileSync(at("bin", "tool.sh"), TOOL);
  writeFileSync(
    at("config", "config.toml"),
    `${[
      ...server.config,
      `providers.llm.anthropic.base_url = "${server.url}"`,
      'providers.llm.anthropic.api_key_env = "HOME"', // Any variable that is set.
      "[conversation.tools.asking]",
      'source = "local"',
      `command = "bash ${at("bin", "tool.sh")}"`,
      'run = "unattended"',
    ].join("\n")}\n`,
  );
  return {
    HOME: at("home"),
    PATH: [at("bin"), "/usr/bin", "/bin"].join(":"),
    JP_USER_DATA_DIR: at("data"),
    JP_GLOBAL_CONFIG_DIR: at("config"),
    NO_COLOR: "1",
    TZ: "UTC",
    // Nothing is cached between starts.
    NODE_DISABLE_COMPILE_CACHE: "1",
    NODE_OPTIONS: "--no-warnings",
  };
}

const TOOL = `read -r call
case $call in
  *'"ok":true'*) echo Done. ;;
  *) echo '{"type":"needs_input","question":{"id":"ok","text":"Go on?","answer_type":{"type":"boolean"}}}' ;;
esac
`;

/** The coverage up to the moment the hook stopped. A later file has the rest. */
function readCoverage(folder: string): readonly Script[] {
  const [first = ""] = readdirSync(folder).toSorted();
  const content = readFileSync(path.join(folder, first), "utf8");
  return (JSON.parse(content) as { readonly result: readonly Script[] }).result; // As V8 writes it.
}

interface RunOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly expected: number;
}

async function run(words: readonly string[], { expected, ...options }: RunOptions): Promise<void> {
  const child = spawn(process.execPath, words, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  if (status === expected) return;
  throw new Error(`${words.join(" ")} ended with ${status}:\n${output}${errors}`);
}

/** Polled files are read repeatedly, more often on a slow machine. */
function isPolled(name: string): boolean {
  return name.endsWith("/offers");
}

function isScript(file: string): boolean {
  return builtFileOf(file) !== undefined && /\.c?js$/.test(file);
}

/** Leaves out what differs between runs and machines. */
function nameOf(found: string, folder: string): string {
  return found
    .replace(new RegExp(`^${folder}$`), "/")
    .replaceAll(folder, "")
    .replaceAll(process.execPath, "<node>")
    .replaceAll(`${ROOT}/`, "")
    .replaceAll(/\b(?:linux|darwin)([-_])(?:arm64|x64)\b/g, "<platform>")
    .replaceAll(/\bproject-[a-z0-9]{5}\b/g, "project-<id>")
    .replaceAll(/\b[0-9a-f]{32,}\b/g, "<hash>")
    .replaceAll(/\b[0-9a-f]{8}(?=\.)/g, "<random>")
    .replaceAll(/\d{4,}/g, "<number>");
}

function processName([program = "", ...words]: readonly string[], folder: string): string {
  const [line = ""] = nameOf([path.basename(program), ...words].join(" "), folder).split("\n");
  return line.trim();
}

/** Only modules that a program can import: Node's internals differ between versions. */
function builtinsOf(modules: readonly string[]): readonly string[] {
  const names = modules.flatMap((name) => /^NativeModule (.*)$/.exec(name)?.slice(1) ?? []);
  return names.filter(
    (name) =>
      (builtinModules.includes(name) && !name.startsWith("_")) || name.startsWith("internal/deps/"), // `fetch` is one of them, and slow to load.
  );
}

/** By our own folders, and by package. */
function functionsOf(coverage: readonly Script[]): Counts {
  const groups = coverage.flatMap(({ url, functions }) => {
    const file = builtFileOf(url);
    if (file === undefined) return [];
    const built = new BuiltFile(file);
    return functions.flatMap(({ ranges: [range] }) =>
      range === undefined || range.count === 0
        ? []
        : [groupOf(built.moduleAt(range.startOffset) ?? "bundler")],
    );
  });
  return countsOf(groups);
}

function countsOf(names: readonly string[]): Counts {
  const counts: Record<string, number> = {};
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
