/** How a call ended, as the events around it tell. */
import type {
  InquiryResponse,
  PermissionDecision,
  ToolCallResponse,
} from "../conversation/index.ts";
import type { Paint } from "./style.ts";

/** Only `done` and `failed` are the tool's own. */
export type CallEnd =
  | "running"
  | "done"
  | "failed"
  /** It was not let run. */
  | "skipped"
  /** Its question was not answered. */
  | "cancelled"
  /** Its result was kept from the model. */
  | "withheld"
  /** It was ended from outside. */
  | "stopped";

/** What happened between a call and its result. */
export interface CallEvents {
  readonly decisions: readonly PermissionDecision[];
  /** In the order in which they came. */
  readonly answers: readonly InquiryResponse[];
}

/** How a call ended, as the record tells it. */
export function callEnd(
  response: ToolCallResponse | undefined,
  { decisions, answers }: CallEvents,
): CallEnd {
  if (response === undefined) return "running";
  if (response.isError) return "failed";
  const denied = decisions.find(({ decision }) => decision === "denied");
  if (denied !== undefined) return denied.action === "run" ? "skipped" : "withheld";
  return answers.at(-1)?.outcome === "cancelled" ? "cancelled" : "done";
}

/** A sign for the eye; what is neither good nor bad has a word beside it. */
export function markOf(end: CallEnd, paint: Paint): string {
  switch (end) {
    case "running":
      return paint("yellow", "…");
    case "done":
      return paint("green", "✓");
    case "failed":
      return paint("red", "✗");
    default:
      return paint("yellow", "○");
  }
}

/** Empty where the sign says it all. */
export function wordFor(end: CallEnd): string {
  return end === "running" || end === "done" || end === "failed" ? "" : end;
}
