/** Compares the command with minimal scripts that do the same work. */
import path from "node:path";
import { writeRecord } from "./data.ts";
import { compare, type Result, runProgram } from "./measure.ts";
import { benchEnvironment, openBenchWorkspace } from "./workspace.ts";

const root = path.dirname(import.meta.dirname);
const jp = path.join(root, "bin", "jp");

export async function benchStart(): Promise<Result[]> {
  const version = await compare(() => void runProgram(jp, ["--version"]), startNode, 25);
  const help = await compare(() => void runProgram(jp, ["--help"]), startNode, 25);
  return [
    { name: "jp --version / node -e 0", aim: 1.3, ...version },
    { name: "jp --help / node -e 0", aim: 1.3, ...help },
  ];
}

function startNode(): void {
  runProgram(process.execPath, ["-e", "0"]);
}

export async function benchList(folder: string): Promise<Result> {
  const conversations = fill(folder, 1_000, 100);
  const env = benchEnvironment(folder);
  const ours = () => void runProgram(jp, ["-w", folder, "conversation", "ls"], env);
  const minimal = path.join(import.meta.dirname, "minimal", "ls.mjs");
  const theirs = () => void runProgram(process.execPath, [minimal, conversations], env);
  return { name: "ls of 1,000 / minimal script", aim: 2, ...(await compare(ours, theirs, 7)) };
}

export async function benchSearch(folder: string): Promise<Result[]> {
  const conversations = fill(folder, 100, 1_250);
  const env = benchEnvironment(folder);
  const words = ["-w", folder, "conversation", "grep", "-c", "Fox 1234 jumps", "--ignore-case"];
  const ours = () => void runProgram(jp, words, env);
  const minimal = path.join(import.meta.dirname, "minimal", "grep.mjs");
  const theirs = () =>
    void runProgram(process.execPath, [minimal, conversations, "fox 1234 jumps"], env);
  const time = await compare(ours, theirs, 5);
  return [
    { name: "grep of 100 MB / minimal script", aim: 2, ...time },
    memory("memory of grep / 150 MB", words, env),
    memory("memory of inquiry ls / 150 MB", ["-w", folder, "inquiry", "ls"], env),
  ];
}

function memory(name: string, words: readonly string[], env: NodeJS.ProcessEnv): Result {
  const hook = path.join(import.meta.dirname, "minimal", "peak-memory.mjs");
  const output = runProgram(jp, words, { ...env, NODE_OPTIONS: `--import=${hook}` });
  const peak = Number(output.trimEnd().split("\n").at(-1)) / 1e3;
  return { name, ratio: peak / 150, aim: 1, detail: `${peak.toFixed(0)} MB at the peak` };
}

function fill(folder: string, count: number, events: number): string {
  openBenchWorkspace(folder);
  const conversations = path.join(folder, ".jp", "conversations");
  for (let index = 0; index < count; index += 1) {
    const name = String(17_000_000_000 + index * 100);
    writeRecord(path.join(conversations, `${name}-bench`), events, `Conversation ${index}`);
  }
  return conversations;
}
