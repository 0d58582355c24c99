/**
 * Short texts to standard output without opening it as a stream, which would load the half of Node
 * that deals with sockets. For `--version` and `--help`, which should cost what Node costs.
 */
import { fstatSync, writeSync } from "node:fs";

export function writeOut(text: string): void {
  try {
    writeSync(1, text);
  } catch (error) {
    const isFull = error instanceof Error && "code" in error && error.code === "EAGAIN";
    if (isFull) process.stdout.write(text); // The stream waits. A closed pipe wants nothing.
  }
}

/** Pipes and files are told from terminals, which are devices, before a stream is opened. */
export function isScreen(): boolean {
  return fstatSync(1).isCharacterDevice() && process.stdout.isTTY;
}
