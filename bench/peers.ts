/**
 * The figures of other packages, in `peers.json`. `npm run bench -- --peers` installs and measures them in the same way as
 * ours, and stores the figures with versions and date. This needs the network.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { START } from "./commands.ts";
import { compared, run, startNode, takeTurns } from "./measure.ts";
import { importOf, install, PACKAGE, sizeOf } from "./package.ts";
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
  /** Absent if it was not recorded. */
  readonly version?: string;
  /** In the unit of our result. Absent if it was measured in another way. */
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

export function readPeers(): Peers {
  return JSON.parse(readFileSync(FILE, "utf8")) as Peers; // Written below.
}

/** Measures all of them again. Comparisons that need a program of their own stay as they are. */
export async function measurePeers(report: (line: string) => void): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "jp-bench-peers-"));
  const measured = new Map<string, Peer[]>();
  const add = (row: string, peer: Peer) => measured.set(row, [...(measured.get(row) ?? []), peer]);
  try {
    for (const name of [...LIBRARIES, ...Object.keys(COMMANDS)]) {
      report(name);
      const project = path.join(folder, name);
      await install(project, name, { flags: ["--prefer-offline"], hasScripts: true });
      const common = { name, version: versionOf(project, name), date: today() };
      const { megabytes, packages } = sizeOf(project);
      const size = rounded(megabytes);
      add(PACKAGE.size, { ...common, value: size, detail: "on disk, with all dependencies" });
      add(PACKAGE.count, { ...common, value: packages, detail: "including itself" });
      const command = (COMMANDS as Readonly<Record<string, string>>)[name];
      const { figures, detail } =
        command === undefined
          ? await importOf(project, name)
          : await startOf(path.join(project, "node_modules", ".bin", command));
      const value = rounded(figures.time?.value ?? Number.NaN);
      add(command === undefined ? PACKAGE.import : START.version, { ...common, value, detail });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const kept = readPeers().comparisons.filter(({ row }) => !measured.has(row));
  const comparisons = [...kept, ...[...measured].map(([row, peers]) => ({ row, peers }))];
  const machine = `Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  writeFileSync(FILE, `${JSON.stringify({ machine, comparisons }, null, 2)}\n`);
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
