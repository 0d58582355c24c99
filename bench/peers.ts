/**
 * The figures of other packages, in `peers.json`. `npm run bench -- --peers` installs and measures them in the same
 * way and the same run as ours, and stores the figures with versions and date. This needs the network.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { START, start } from "./commands.ts";
import { KEPT_QUESTION, keptQuestion, PROGRAMS, runKeptQuestion } from "./kept-question.ts";
import { type Bench, compared, run, startNode, takeTurns } from "./measure.ts";
import { importOf, install, installed, PACKAGE, sizeOf } from "./package.ts";
import { today } from "./stamp.ts";

export interface Peers {
  readonly machine: string;
  readonly comparisons: readonly Comparison[];
}

export interface Comparison {
  /** The name of our result. */
  readonly row: string;
  readonly peers: readonly Peer[];
}

interface Peer {
  readonly name: string;
  /** Absent if not recorded. */
  readonly version?: string;
  /** In our result's unit. Absent if measured differently. */
  readonly value?: number;
  readonly detail: string;
  readonly date: string;
}

const FILE = path.join(import.meta.dirname, "peers.json");
const ROUNDS = 20;

/** Libraries are imported. Commands print their version. */
const LIBRARIES = ["@langchain/langgraph", "@mastra/core", "@openai/agents", "ai"];
const COMMANDS = {
  "@anthropic-ai/claude-code": "claude",
  "@google/gemini-cli": "gemini",
  "@openai/codex": "codex",
  "opencode-ai": "opencode",
};

/** Programs that keep a question, and the packages they need. The first package determines the version. */
const ASKING = [
  {
    program: "langgraph.mjs",
    packages: ["@langchain/langgraph", "@langchain/langgraph-checkpoint-sqlite", "@langchain/core"],
    variants: {
      "LangGraph, SQLite checkpointer": "all",
      "LangGraph, SQLite checkpointer, MessagesDeltaValue": "delta",
    },
  },
  { program: "ai.mjs", packages: ["ai"], variants: { "AI SDK, messages in a JSON file": "" } },
];

/** In the table's order. */
const ROWS = [...Object.values(KEPT_QUESTION), ...Object.values(PACKAGE), START.version];

/** Our own rows that are compared with others. */
export const BESIDE_PEERS: readonly Bench[] = [keptQuestion, installed, start];

export function readPeers(): Peers {
  return JSON.parse(readFileSync(FILE, "utf8")) as Peers; // Written below.
}

/** By the name of our row. */
type Found = readonly (readonly [string, Peer])[];

/** Measures all of them again. One that cannot be installed or does not work keeps its earlier figures. */
export async function measurePeers(
  isWanted: (name: string) => boolean,
  report: (line: string) => void,
): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "jp-bench-peers-"));
  const tasks = {
    ...Object.fromEntries(
      ASKING.map((asking) => [
        `a question of ${asking.packages.join(", ")}`,
        () => measureAsking(path.join(folder, asking.program), asking),
      ]),
    ),
    ...Object.fromEntries(
      [...LIBRARIES, ...Object.keys(COMMANDS)].map((name) => [
        name,
        () => measurePackage(path.join(folder, name), name),
      ]),
    ),
  };
  try {
    for (const [name, measure] of Object.entries(tasks)) {
      if (!isWanted(name)) continue;
      report(`Measuring ${name} …`);
      try {
        store(await measure());
      } catch (error) {
        report(`${name} has no new figures: ${String(error)}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function store(found: Found): void {
  const { comparisons: earlier } = readPeers();
  const comparisons = ROWS.map((row) => {
    const measured = found.flatMap(([of, peer]) => (of === row ? [peer] : []));
    const known = earlier.find((comparison) => comparison.row === row)?.peers ?? [];
    const others = measured.filter(({ name }) => !known.some((peer) => peer.name === name));
    const kept = known.map((peer) => measured.find(({ name }) => name === peer.name) ?? peer);
    return { row, peers: [...kept, ...others] };
  });
  const machine = `Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  writeFileSync(FILE, `${JSON.stringify({ machine, comparisons }, null, 2)}\n`);
}

async function measurePackage(project: string, name: string): Promise<Found> {
  await install(project, [name], { flags: ["--prefer-offline"], hasScripts: true });
  const common = { name, version: versionOf(project, name), date: today() };
  const { megabytes, packages } = sizeOf(project);
  const size = rounded(megabytes);
  const command = (COMMANDS as Readonly<Record<string, string>>)[name];
  const { figures, detail } =
    command === undefined
      ? await importOf(project, name)
      : await startOf(path.join(project, "node_modules", ".bin", command));
  const value = rounded(figures.time?.value ?? Number.NaN);
  return [
    [PACKAGE.size, { ...common, value: size, detail: "on disk, with all dependencies" }],
    [PACKAGE.count, { ...common, value: packages, detail: "including itself" }],
    [command === undefined ? PACKAGE.import : START.version, { ...common, value, detail }],
  ];
}

async function measureAsking(
  project: string,
  { program, packages, variants }: (typeof ASKING)[number],
): Promise<Found> {
  await install(project, packages, { flags: ["--prefer-offline"] });
  cpSync(PROGRAMS, project, { recursive: true });
  const version = versionOf(project, packages[0] ?? "");
  const found: (readonly [string, Peer])[] = [];
  for (const [index, [name, flag]] of Object.entries(variants).entries()) {
    const folder = path.join(project, `kept-${index}`);
    for (const { name: row, figures, detail } of await runKeptQuestion(
      [path.join(project, program), flag],
      folder,
    )) {
      const value = rounded((figures.time ?? figures.size)?.value ?? Number.NaN);
      found.push([row, { name, version, value, detail, date: today() }]);
    }
  }
  return found;
}

async function startOf(command: string) {
  const took = await takeTurns(
    { node: startNode, command: () => run(command, ["--version"]) },
    ROUNDS,
  );
  return compared(took.command, took.node);
}

function versionOf(project: string, name: string): string {
  const file = path.join(project, "node_modules", name, "package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version;
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
