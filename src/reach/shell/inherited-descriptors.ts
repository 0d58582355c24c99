/**
 * Descriptors that this process got from its parent, such as a shell, and that every program it starts would get: a folder
 * among them leads out of a sandbox.
 */
import { readdirSync, readFileSync } from "node:fs";

const FIRST_OF_NO_STREAM = 3;
const CLOSED_BY_EXEC = 0o2_000_000; // O_CLOEXEC

/** Empty where the system does not tell: only Linux does. */
export function inheritedDescriptors(): readonly number[] {
  const numbers = listDescriptors().filter((each) => each >= FIRST_OF_NO_STREAM);
  return numbers.filter((each) => (flagsOf(each) & CLOSED_BY_EXEC) === 0);
}

function listDescriptors(): readonly number[] {
  try {
    return readdirSync("/proc/self/fd").map(Number);
  } catch {
    return [];
  }
}

/** One that has been closed since counts as closed. */
function flagsOf(descriptor: number): number {
  try {
    const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8");
    return Number.parseInt(/^flags:\s*([0-7]+)$/m.exec(info)?.[1] ?? "0", 8);
  } catch {
    return CLOSED_BY_EXEC;
  }
}
