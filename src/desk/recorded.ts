/** Finds one question, permission, delivery or doubt in a record, with what was decided. */
import {
  type AnswerEvent,
  type ConversationId,
  deciderToJson,
  InquiryLog,
  type LoggedInquiry,
  type PermissionDecision,
  type PermissionRequestEvent,
  type StreamEntry,
} from "../conversation/index.ts";
import { inquiryToJson } from "../render/index.ts";
import type { JsonObject } from "../util/index.ts";
import type { DeskWorkspace } from "./workspace.ts";

/** Something that was asked, as it is on record. */
export interface RecordedInquiry {
  readonly json: JsonObject;
  readonly answer?: AnswerEvent;
}

/** Finds the last one with this id, whether it was answered or not. */
export async function findRecorded(
  { conversations, root: workspace }: DeskWorkspace,
  conversation: ConversationId,
  id: string,
): Promise<RecordedInquiry | undefined> {
  const log = new InquiryLog();
  let question: LoggedInquiry | undefined;
  const take = (inquiries: readonly LoggedInquiry[]) => {
    question = inquiries.findLast(({ request }) => request.id === id) ?? question;
  };
  const permission = new PermissionSearch(id);
  for await (const { entries } of conversations.scan(conversation)) {
    take(log.read(entries));
    permission.read(entries);
  }
  take(log.end());
  if (question === undefined) return permission.result({ workspace, conversation });
  const { response } = question;
  const json = { workspace, kind: "question", ...inquiryToJson({ ...question, conversation }) };
  return { json, ...(response !== undefined && { answer: response }) };
}

const KINDS = { run: "permission", deliver: "delivery", rerun: "in_doubt" } as const;

/** A permission, delivery or doubt, which its decision names by the call. */
class PermissionSearch {
  readonly #id: string;
  #request: PermissionRequestEvent | undefined;
  #decision: PermissionDecision | undefined;

  constructor(id: string) {
    this.#id = id;
  }

  read(entries: readonly StreamEntry[]): void {
    for (const entry of entries) {
      if (!entry.eventType?.startsWith("permission_")) continue;
      const { event } = entry;
      if (event?.type === "permission_request" && event.id === this.#id) {
        this.#request = event;
        this.#decision = undefined;
      }
      if (event?.type === "permission_decision" && this.#isFor(event)) this.#decision ??= event;
    }
  }

  result(where: JsonObject): RecordedInquiry | undefined {
    const asked = this.#request ?? this.#decision;
    if (asked === undefined) return undefined;
    const { tool, action, timestamp, arguments: args } = asked;
    const decision = this.#decision;
    const json = {
      ...where,
      id: this.#id,
      kind: KINDS[action],
      tool,
      ...(args !== undefined && { arguments: args }),
      outcome: decision?.decision ?? "unanswered",
      ...(decision?.reason !== undefined && { reason: decision.reason }),
      ...(decision !== undefined && { answered_by: deciderToJson(decision.decidedBy) }),
      asked_at: timestamp,
      ...(decision !== undefined && { answered_at: decision.timestamp }),
    };
    return { json, ...(decision !== undefined && { answer: decision }) };
  }

  /** A doubt may be decided before anyone was asked about it. */
  #isFor({ toolCallId, action }: PermissionDecision): boolean {
    const request = this.#request;
    if (request !== undefined)
      return request.toolCallId === toolCallId && request.action === action;
    return action === "rerun" && this.#id.startsWith(`${toolCallId}.rerun.`);
  }
}
