/** Loads the Markdown renderer lazily, for programs that must start fast. */
import type { createMarkdownStream } from "./markdown-stream.ts";
import { loadModule } from "../../../util/index.ts";

/** Loads `createMarkdownStream` on demand. */
export async function loadMarkdownStream(): Promise<typeof createMarkdownStream> {
  return (await loadModule(() => import("./markdown-stream.ts"))).createMarkdownStream;
}
