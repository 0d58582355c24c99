/** Finds one question, permission, delivery or doubt in a record, with what was decided. */
import {
  type AnswerEvent,
  type ConversationId,
  InquiryLog,
  type LoggedInquiry,
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
  let found: LoggedInquiry | undefined;
  const take = (inquiries: readonly LoggedInquiry[]) => {
    found = inquiries.findLast((inquiry) => inquiry.id === id) ?? found;
  };
  for await (const { entries } of conversations.scan(conversation)) take(log.read(entries));
  take(log.end());
  if (found === undefined) return undefined;
  const { response } = found;
  const json = { workspace, ...inquiryToJson({ ...found, conversation }) };
  return { json, ...(response !== undefined && { answer: response }) };
}
