/**
 * Prints an audit report: who allowed or denied each call, and who asked and answered each question.
 * Takes the folder of a workspace. Without one, it creates an example.
 */
import { homedir } from "node:os";
import process from "node:process";
import {
  type ConversationEvent,
  describeCall,
  describeDecider,
  describeOutcome,
  oneLine,
  type InquiryRequest,
  pairInquiries,
  systemClock,
  type ToolCallRequest,
  turnsOf,
} from "jp-ts";
import { openWorkspace } from "jp-ts/storage";
import { makeExample } from "./make-example.ts";

const [, , folder] = process.argv;
const conversations = folder === undefined ? await makeExample() : openFolder(folder);

for (const { id, metadata } of await conversations.list({ which: "all" })) {
  print(0, `${id} ${metadata?.title ?? ""}`);
  const { stream } = await conversations.load(id);
  for (const { index, events } of turnsOf(stream.entries)) {
    print(1, `turn ${index + 1}`);
    for (const event of events) if (event.type === "tool_call_request") reportCall(event, events);
    // Old records do not say which call asked.
    reportQuestions(2, events, undefined);
  }
}

function openFolder(from: string) {
  const { env: variables, pid, platform } = process;
  const environment = { variables, home: homedir(), platform };
  return openWorkspace({ from, environment, clock: systemClock, pid }).conversations;
}

function reportCall(call: ToolCallRequest, events: readonly ConversationEvent[]): void {
  print(2, describeCall(call));
  const own = eventsOf(call, events);
  for (const event of own) {
    if (event.type !== "permission_decision" || event.toolCallId !== call.id) continue;
    const { action, decision, decidedBy, reason } = event;
    const why = reason === undefined ? "" : `: ${reason}`;
    print(3, `${action} ${decision} by ${describeDecider(decidedBy)}${why}`);
  }
  reportQuestions(3, own, call.id);
}

/** The questions of one call, or those without a call. */
function reportQuestions(
  depth: number,
  events: readonly ConversationEvent[],
  toolCallId: string | undefined,
): void {
  for (const { request, response } of pairInquiries(events).pairs) {
    if (request.toolCallId !== toolCallId) continue;
    print(depth, `${askerOf(request)} asked: ${request.question.text}`);
    const end = response === undefined ? "No answer" : describeOutcome(response);
    const decider = response !== undefined && "answeredBy" in response && response.answeredBy;
    print(depth + 1, decider ? `${end} by ${describeDecider(decider)}` : end);
  }
}

/** Some providers repeat an id within a turn. The events of a call end at the next call with its id. */
function eventsOf(call: ToolCallRequest, events: readonly ConversationEvent[]) {
  const later = events.slice(events.indexOf(call) + 1);
  const again = later.findIndex(
    (event) => event.type === "tool_call_request" && event.id === call.id,
  );
  return again === -1 ? later : later.slice(0, again);
}

/** Neutralizes text from tools, models and users before it is printed. */
function print(depth: number, text: string): void {
  process.stdout.write(`${"  ".repeat(depth)}${oneLine(text)}\n`);
}

function askerOf({ source }: InquiryRequest): string {
  return "name" in source ? source.name : source.source;
}
