/** Formats what a program writes like all our files, so that a diff reads well. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { ROOT } from "./documents.ts";

/** The name of the file says which language it is. */
export function formatText(file: string, text: string): string {
  const program = path.join(ROOT, "node_modules", ".bin", "oxfmt");
  const { stdout, stderr, status } = spawnSync(program, ["--stdin-filepath", file], {
    cwd: ROOT,
    input: text,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`oxfmt failed: ${stderr}`);
  return stdout;
}
