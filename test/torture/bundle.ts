/** Bundles the torture programs, each into one file. */
import path from "node:path";
import { bundlePrograms } from "../support/bundle-programs.ts";

export interface BundledPrograms extends AsyncDisposable {
  /** Runs a turn. */
  readonly turn: string;
  /** Runs a turn that waits for decisions, or decides. */
  readonly decision: string;
  /** Uses a conversation that others use too. */
  readonly crowd: string;
}

export async function bundleTorturePrograms(): Promise<BundledPrograms> {
  const programs = await bundlePrograms({
    turn: path.join(import.meta.dirname, "turn-program.ts"),
    decision: path.join(import.meta.dirname, "decision-program.ts"),
    crowd: path.join(import.meta.dirname, "crowd-program.ts"),
  });
  return {
    turn: path.join(programs.folder, "turn.mjs"),
    decision: path.join(programs.folder, "decision.mjs"),
    crowd: path.join(programs.folder, "crowd.mjs"),
    [Symbol.asyncDispose]: () => programs[Symbol.asyncDispose](),
  };
}
