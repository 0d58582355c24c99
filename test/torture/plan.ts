/** What a process of the torture is told to do, and what it tells meanwhile. Both go as JSON. */
import type { JsonObject } from "../../src/util/index.ts";

/** Points are counted from 1: before and after every write, sync, rename, deletion and spawn. */
export type Fault =
  | { readonly type: "none" }
  /** The process kills itself there. */
  | { readonly type: "kill"; readonly point: number }
  /** Of the next write only a part arrives, then the process kills itself. */
  | { readonly type: "torn"; readonly point: number; readonly share: number }
  /** The next operation of the disk fails, or all from there on. */
  | { readonly type: "error"; readonly point: number; readonly isLasting: boolean };

export interface TurnPlan {
  readonly root: string;
  readonly data: string;
  /** Where tools note that they run; never on bad ground. */
  readonly notes: string;
  /** A new one if absent. */
  readonly conversation?: string;
  readonly turn: "first" | "next";
  readonly fault: Fault;
  /** After so many looks at it, the clock is an hour behind. */
  readonly clockJumpsAfter?: number;
  /** Whether an MCP server takes part; a stubborn one does not end with its input. */
  readonly server: "none" | "polite" | "stubborn";
}

export type Report =
  | { readonly type: "ready" }
  /** An append of it has resolved. */
  | { readonly type: "recorded"; readonly element: JsonObject }
  | { readonly type: "failed"; readonly code: string; readonly message: string }
  | { readonly type: "done"; readonly points: readonly string[]; readonly milliseconds: number };
