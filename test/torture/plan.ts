/** The plan for a torture process, and its reports. Both are sent as JSON. */
import type { JsonObject } from "../../src/util/index.ts";

/** Fault points are numbered from 1: before and after every write, sync, rename, deletion and spawn. */
export type Fault =
  | { readonly type: "none" }
  /** The process kills itself at this point. */
  | { readonly type: "kill"; readonly point: number }
  /** Only a part of the next write is written, then the process kills itself. */
  | { readonly type: "torn"; readonly point: number; readonly share: number }
  /** The first write to this file, or rename to it, is torn: a part is written, then the process kills itself. */
  | { readonly type: "torn_file"; readonly file: string; readonly share: number }
  /** The next disk operation fails, or all later ones do. */
  | { readonly type: "error"; readonly point: number; readonly isLasting: boolean };

export interface TurnPlan {
  readonly root: string;
  readonly data: string;
  /** Where tools log that they ran. Never on a bad disk. */
  readonly notes: string;
  /** A new one if absent. */
  readonly conversation?: string;
  readonly turn: "first" | "next";
  /** Continues the turn that another process has left. */
  readonly isResumed?: boolean;
  readonly fault: Fault;
  /** After this many reads, the clock is an hour behind. */
  readonly clockJumpsAfter?: number;
  /** Whether to start an MCP server. A stubborn one does not exit when its input ends. */
  readonly server: "none" | "polite" | "stubborn";
}

/** For a turn whose calls wait for decisions, and for whoever decides. */
export interface DecisionPlan extends Pick<
  TurnPlan,
  "root" | "data" | "notes" | "conversation" | "fault"
> {
  /** `answer`: says yes to everything that waits. */
  readonly work: "turn" | "answer";
  /** The turn waits for others to answer, and does not end before. */
  readonly isLive?: boolean;
}

export type Report =
  | { readonly type: "ready" }
  /** An append of this event has resolved. */
  | { readonly type: "recorded"; readonly element: JsonObject }
  /** How the turn ended. */
  | { readonly type: "ended"; readonly as: string }
  /** What has become of an answer to this request. */
  | { readonly type: "answered"; readonly id: string; readonly as: string }
  | { readonly type: "failed"; readonly code: string; readonly message: string }
  | { readonly type: "done"; readonly points: readonly string[]; readonly milliseconds: number };
