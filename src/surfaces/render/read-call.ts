/** Reads a call from its events, the same for a running turn and for a record. */
import type {
  InquiryRequest,
  InquiryResponse,
  PermissionDecision,
  RecordedCall,
  ToolCallRequest,
  ToolCallResponse,
} from "../../record/conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { type FileChange, findFileChange } from "./file-change.ts";

/** A call for readers: the arguments it runs with, and what was decided and answered. */
export interface ReadCall {
  /** With the arguments that it runs with, which a person may have edited. */
  readonly ran: ToolCallRequest;
  /** Without those that no longer count. */
  readonly decisions: readonly PermissionDecision[];
  /** In recorded order. */
  readonly answers: readonly InquiryResponse[];
  /** Its last question, and the file change that this is about. */
  readonly asked?: InquiryRequest | undefined;
  readonly change?: FileChange | undefined;
}

export function readCall({ request, events }: RecordedCall): ReadCall {
  const voids = new Set(
    events.flatMap((event) => (event.type === "decision_void" ? event.id : [])),
  );
  const decisions = events
    .filter((event) => event.type === "permission_decision")
    .filter(({ id }) => id === undefined || !voids.has(id));
  const edits = decisions
    .map((event) => argumentsIn(event, events))
    .filter((edited) => edited !== undefined);
  const ran = { ...request, arguments: edits.at(-1) ?? request.arguments };
  const asked = events.findLast((event) => event.type === "inquiry_request");
  return {
    ran,
    decisions,
    answers: events.filter((event) => event.type === "inquiry_response"),
    asked,
    change: asked && findFileChange(ran, asked),
  };
}

/** Undefined if the call runs with the model's arguments. Several people may have agreed on the edit of one of them. */
function argumentsIn(
  { id, action, decision, arguments: edited }: PermissionDecision,
  events: RecordedCall["events"],
): JsonObject | undefined {
  if (action !== "run" || decision === "denied") return undefined;
  if (decision === "edited") return edited;
  const request = events
    .filter((event) => event.type === "permission_request")
    .find((event) => event.id === id);
  return request?.isEdited === true ? request.arguments : undefined;
}

/** Only `done` and `failed` come from the tool itself. */
export type CallEnd =
  | "running"
  | "done"
  | "failed"
  /** Permission was denied. */
  | "skipped"
  /** The call's question was not answered. */
  | "cancelled"
  /** The model did not get the result. */
  | "withheld"
  /** The user rejected the change that it asked about. */
  | "not applied"
  /** It was interrupted. */
  | "stopped";

/** How a call ended, according to the record. */
export function callEnd(
  response: ToolCallResponse | undefined,
  { decisions, answers, change }: Pick<ReadCall, "decisions" | "answers" | "change">,
): CallEnd {
  if (response === undefined) return "running";
  if (response.isError) return "failed";
  const denied = decisions.find(({ decision }) => decision === "denied");
  if (denied !== undefined) return denied.action === "run" ? "skipped" : "withheld";
  const last = answers.at(-1);
  if (last?.outcome === "cancelled") return "cancelled";
  const isNo = last?.outcome === "answered" && last.answer === false;
  return change !== undefined && isNo ? "not applied" : "done";
}
