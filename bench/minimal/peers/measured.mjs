// Each of the programs beside this one holds a conversation of many messages, and then asks a question as often as it is told:
// a model calls a tool, the tool asks, the turn ends; later the answer comes, the tool runs, the model replies.
// Everything is in a file by then, and is read from there: a program that ends in between loses nothing.
// Usage: node <program> <folder> <messages> <rounds>. Prints the times in milliseconds, and the bytes written for a question.
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import process from "node:process";

const [, , folder, messages, rounds, flag] = process.argv;

export { flag, folder };
export const count = Number(messages);
export const TEXT = "The quick brown fox jumps over the lazy dog. ".repeat(10);

export async function measure(ask) {
  await ask(0); // Warms up.
  const [time, cpu] = [[], []];
  const before = written();
  for (let round = 1; round <= Number(rounds); round += 1) {
    const used = process.cpuUsage();
    const start = performance.now();
    await ask(round);
    time.push(performance.now() - start);
    const { user, system } = process.cpuUsage(used);
    cpu.push((user + system) / 1e3);
  }
  const bytes = (written() - before) / Number(rounds);
  process.stdout.write(`${JSON.stringify({ time, cpu, bytes })}\n`);
}

/** By Linux: what was passed to `write`, by whatever library. */
function written() {
  return Number(/wchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))[1]);
}
