/** Asks about several calls at once: all, some or none may run, and each can be opened and decided alone. */
import type {
  PermissionRequest,
  PermissionsRequest,
  PromptResult,
} from "../../core/agent/index.ts";
import { callLine, callText, originLines } from "../render/index.ts";
import { noInWords, type Shown } from "./ask-question.ts";
import { callList, type OpenCallList } from "./call-list.ts";
import { keepWords } from "./choose.ts";
import { closeUnanswered } from "./close-unanswered.ts";
import { undecided } from "./decision-line.ts";
import { type Dialogue, Prompt } from "./dialogue.ts";
import {
  type CallListEnding,
  type CallListState,
  describeCalls,
  type ListedCall,
} from "./listed-calls.ts";
import { numberedCalls } from "./plain-calls.ts";

/** Several calls as the terminal shows them. */
export type ShownCalls = Omit<Shown<PermissionsRequest>, "calls"> & {
  readonly calls: readonly Shown<PermissionRequest>[];
};

export interface AskedCalls {
  readonly ending: PromptResult | OpenedCall;
  /** Pass it back in when asking about the remaining calls. */
  readonly state: CallListState;
}

/** The user wants to see this call in full and decide on it alone. */
export interface OpenedCall {
  readonly type: "opened";
  readonly call: Shown<PermissionRequest>;
  /** The state of the list once this call is decided. */
  readonly next: CallListState;
}

export async function askPermissions(
  request: ShownCalls,
  dialogue: Dialogue,
  before?: CallListState,
): Promise<AskedCalls> {
  const { inquiryId, allowsLater, calls } = request;
  const message = describeCalls(calls);
  dialogue.notify(message);
  await dialogue.start();
  const escape = allowsLater ? "leave all of them for later, or cancel them" : "cancel all of them";
  const { sendsWords, drafts } = dialogue;
  const list = { calls: calls.map(toListed), escape, sendsWords };
  const start = { ...(before ?? { active: "", chosen: [], seen: [] }), decision: undecided };
  const prompt = new Prompt<OpenCallList, CallListEnding>(start, {
    drawn: (sideActions) => callList(list, sideActions),
    plain: (state) => numberedCalls(list, state),
  });
  for (;;) {
    const ending = await dialogue.ask(prompt);
    keepWords(prompt.state.decision, { message, ending, dialogue });
    const state = { ...prompt.state, decision: drafts.get(message) ?? undecided };
    prompt.state = state;
    if (ending.type === "opened") return { ending: open(request, ending.id, state), state };
    if (ending.type === "approved" || ending.type === "denied") {
      return { ending: toResult(request, ending, dialogue), state };
    }
    const closable = { inquiryId, messages: [message], allowsLater, areSeveral: true };
    const closed = await closeUnanswered(ending, closable, dialogue);
    if (closed !== undefined) return { ending: closed, state };
  }
}

/** Ids may repeat in a later turn, so a call's identity includes its line. */
function toListed({ inquiryId, tool, ...request }: Shown<PermissionRequest>): ListedCall {
  const { arguments: given, origin, isDecidedAlone = false } = request;
  const call = { name: tool, arguments: given };
  const { line, isClear } = callLine(call);
  const source = origin === undefined ? [] : originLines(origin, request);
  const whole = [line, ...source.map((each) => each.replace(/^Source: /, ""))].join(" · ");
  return {
    id: `${inquiryId} ${whole}`,
    line: whole,
    text: [...callText(call).slice("• ".length).split("\n"), ...source],
    isDecidedAlone,
    isUnclear: !isClear,
  };
}

/** Makes the following call the active one afterwards. */
function open({ calls }: ShownCalls, id: string, state: CallListState): OpenedCall {
  const ids = calls.map((call) => toListed(call).id);
  const index = ids.indexOf(id);
  const call = calls[index];
  if (call === undefined) throw new RangeError("the list has no such call");
  const active = ids[index + 1] ?? ids[index - 1] ?? "";
  return { type: "opened", call, next: { ...state, active } };
}

/** A next message goes only to the first call: after it, no other call is asked about or started. */
function toResult(
  { inquiryId, calls }: ShownCalls,
  ending: Exclude<CallListEnding, { readonly type: "opened" }>,
  dialogue: Dialogue,
): PromptResult {
  const said = ending.type === "denied" ? ending.said : undefined;
  const isYes = ending.type === "approved";
  const { summary, ...reply } =
    said === undefined ? { answer: isYes, summary: isYes ? "yes" : "no" } : noInWords(said);
  const ids = said?.isMessage === true ? ending.ids.slice(0, 1) : ending.ids;
  const decided = calls.filter((call) => ids.includes(toListed(call).id));
  const results = decided.map(({ inquiryId: id, tool, arguments: given }): PromptResult => {
    const message = `Run ${callLine({ name: tool, arguments: given }).line}?`;
    dialogue.printClosed({ message, summary, ...(!isYes && { isNo: true }) });
    return { inquiryId: id, type: "answered", ...reply };
  });
  return { inquiryId, type: "form", results };
}
