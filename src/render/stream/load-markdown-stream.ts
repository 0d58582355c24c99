/** Loads `createMarkdownStream` when it is needed, for programs that must start fast. */
import type { createMarkdownStream } from "./markdown-stream.ts";

export async function loadMarkdownStream(): Promise<typeof createMarkdownStream> {
  return (await import("./markdown-stream.ts")).createMarkdownStream;
}
