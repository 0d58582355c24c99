/** Shows the calls of a turn and their questions on standard error. */
import type { TurnUpdate } from "../../../core/agent/index.ts";
import type { ToolSettings, ToolStyle } from "../../../settings/config/index.ts";
import {
  type CallProgress,
  CallReader,
  type DecisionVoid,
  type InquiryId,
  type InquiryRequest,
  type InquiryResponse,
  isForUserAlone,
  pairDecisions,
  type PermissionDecision,
  type PermissionRequestEvent,
  type RecordedCall,
  type ToolCallRequest,
  type ToolCallResponse,
} from "../../../record/conversation/index.ts";
import {
  briefResult,
  callEnd,
  callText,
  changeTitle,
  describeCall,
  failureNote,
  type FileChange,
  readCall,
  type ReadCall,
  renderAskerLines,
  renderCallLines,
  renderChangeAnswer,
  renderChangeLines,
  renderInquiryLines,
  renderPermissionLines,
  renderResultLines,
  type ResultBrief,
  type ResultLineOptions,
  wrapCode,
} from "../../../surfaces/render/index.ts";
import type { Output } from "../../../surfaces/terminal/index.ts";
import { textOfBlocks } from "../../../record/tool/index.ts";
import { isDeepEqual, oneLine } from "../../../util/index.ts";

export interface CallViewOptions {
  readonly output: Output;
  /** Looked up when a call is shown: only then are the tools of servers known. */
  readonly tools: Pick<ReadonlyMap<string, ToolSettings>, "get">;
  readonly showsCalls: boolean;
  /** Where the last result goes that is not shown whole, if a key shows it. */
  readonly shortened?: { lines: readonly string[] };
}

/** A call, and what is known about it only while it runs. */
interface RunningCall {
  readonly call: RecordedCall;
  /** Start time, moved forward by the time spent waiting for answers. */
  readonly since: number;
  /** When it started waiting for its open questions; undefined if it has none. */
  readonly waitingSince?: number | undefined;
  /** The turn was stopped while the call ran. */
  readonly isStopped: boolean;
  /** The tool's last progress line. */
  readonly progress?: string | undefined;
  /** A prompt on this screen has shown the file change that it asks about. */
  readonly isChangeSeen: boolean;
}

/** A call with the arguments it runs with, which the user may have edited. */
type AskingCall = Pick<ToolCallRequest, "name" | "arguments">;

/** Work in progress, for the status line. */
export interface Running {
  readonly text: string;
  readonly since: number;
}

/** A question that a model answers. */
interface ModelQuestion extends Omit<Running, "text"> {
  readonly tool: string;
  readonly model: string;
  readonly isQueued: boolean;
  /** How much of the prompt the model has read. */
  readonly percent?: number;
}

type ModelUpdate = Extract<TurnUpdate, { readonly type: "inquiry_update" }>;

/** Limit for a change that was decided without being shown here. */
const MAX_CHANGE_LINES = 12;

const EXPANDS = " · Ctrl-O shows all";

const ASK_USER = "ask_user";
const INVALID_QUESTION = "The assistant tried to ask you something, but its question is invalid.";

export class CallView {
  readonly #options: CallViewOptions;
  readonly #reader = new CallReader();
  readonly #running = new Map<RecordedCall, RunningCall>();
  /** The reply's calls in order, with the output lines of those that have ended. */
  #shown: { readonly call: RecordedCall; lines?: readonly string[] }[] = [];
  /** The call that last reported progress. */
  #progressing = "";
  readonly #inquiries = new Map<string, InquiryRequest>();
  readonly #modelQuestions = new Map<string, ModelQuestion>();
  /** The call announced last. */
  #announced = "";

  constructor(options: CallViewOptions) {
    this.#options = options;
  }

  /** Undefined if no call is running. */
  get running(): Running | undefined {
    const questions = [...this.#modelQuestions.values()];
    const asked = questions.find(({ isQueued }) => !isQueued);
    if (asked !== undefined) {
      const { tool, model, percent, since } = asked;
      const others = questions.length - 1;
      const notes = [
        ...(percent === undefined ? [] : [`${percent}% read`]),
        ...(others === 0 ? [] : [`${others} more waiting`]),
      ];
      const details = notes.length === 0 ? "" : ` (${notes.join(", ")})`;
      const asker = this.#isHidden(tool) ? "a question" : tool;
      return { text: oneLine(`Waiting for ${model} to answer ${asker}${details}`), since };
    }
    const reporting = this.#find(this.#progressing);
    if (reporting?.progress !== undefined && !this.#isHidden(reporting.call.request.name)) {
      const { call, progress, since } = reporting;
      return { text: oneLine(`${call.request.name}: ${progress}`), since };
    }
    const calls = [...this.#running.values()].filter(({ call }) =>
      this.isInStatus(call.request.name),
    );
    if (calls.length === 0) return undefined;
    const text = calls.map(({ call }) => oneLine(call.request.name)).join(", ");
    return { text, since: Math.min(...calls.map(({ since }) => since)) };
  }

  start(request: ToolCallRequest, at: number): void {
    const call = this.#reader.read(request);
    if (call === undefined) return;
    this.#running.set(call, { call, since: at, isStopped: false, isChangeSeen: false });
    this.#shown.push({ call });
  }

  progress(toolCallId: string, progress: string): void {
    this.#progressing = toolCallId;
    this.#change(this.#find(toolCallId)?.call, (running) => ({ ...running, progress }));
  }

  /** Takes over a call that another process left open. Lines that process has shown are not repeated. */
  resume({ request, permissions, questions }: CallProgress, at: number): void {
    this.start(request, at);
    for (const { decision } of Object.values(permissions)) {
      if (decision !== undefined) this.decide(decision, at);
    }
    for (const { request: asked, response, madeVoid } of questions) {
      this.ask(asked, at);
      if (response !== undefined) this.answer(response, at);
      if (madeVoid !== undefined) this.makeVoid(madeVoid, at);
    }
  }

  /** Returns the lines to show. A call allowed by an earlier answer is shown in full. */
  decide(decision: PermissionDecision, at: number): readonly string[] {
    const call = this.#reader.read(decision);
    this.#change(call, (running) => {
      const decided = withoutWaiting(running, at);
      return decision.action === "run" ? { ...decided, since: at } : decided;
    });
    if (call === undefined || decision.decidedBy.kind !== "remembered") return [];
    const { paint, width } = this.#lineOptions();
    const asked = callText(call.request).split("\n");
    return [
      ...asked.flatMap((line) => wrapCode(line, width)),
      ...renderPermissionLines(decision, { paint, width }),
    ];
  }

  ask(request: InquiryRequest | PermissionRequestEvent, at: number): void {
    if (request.type === "inquiry_request") this.#inquiries.set(request.id, request);
    this.#change(this.#reader.read(request), ({ waitingSince = at, ...running }) => ({
      ...running,
      waitingSince,
      isChangeSeen: running.isChangeSeen && request.type === "permission_request",
    }));
  }

  /** Something that was asked or decided no longer counts. */
  makeVoid(event: DecisionVoid, at: number): void {
    this.#change(this.#reader.read(event), (running) => withoutWaiting(running, at));
  }

  /** A model was asked, or is queued to be asked. */
  askModel({ inquiryId, tool, update }: ModelUpdate, at: number): void {
    if (update.type === "queued" || update.type === "asked") {
      const isQueued = update.type === "queued";
      this.#modelQuestions.set(inquiryId, { tool, model: update.model, isQueued, since: at });
    }
    const question = this.#modelQuestions.get(inquiryId);
    if (update.type !== "prompt_progress" || question === undefined) return;
    const percent = percentRead(update);
    this.#modelQuestions.set(inquiryId, { ...question, percent });
  }

  /** Returns the lines to show. */
  answer(response: InquiryResponse, at: number): readonly string[] {
    this.#modelQuestions.delete(response.id);
    const request = this.#inquiries.get(response.id);
    if (request === undefined) return [];
    const call = this.#reader.read(response);
    this.#change(call, (running) => withoutWaiting(running, at));
    // The user has just seen their own answer.
    const isSeen =
      response.outcome === "cancelled"
        ? response.reason === "user"
        : response.answeredBy?.kind === "user";
    const isShown = call !== undefined && this.#isShown(call.request.name);
    if (isShown && readCall(call).change !== undefined) return []; // See `end`.
    // A remembered answer is shown with this question, even for tools whose calls are hidden.
    const isReused = response.outcome !== "cancelled" && response.answeredBy?.kind === "remembered";
    if (isSeen || (call !== undefined && !isShown && !isReused)) return [];
    return renderInquiryLines(request, response, this.#lineOptions(2)).map((line) => `  ${line}`);
  }

  /** Marks the running calls as stopped. */
  stop(): void {
    for (const call of this.#running.keys()) {
      this.#change(call, (running) => ({ ...running, isStopped: true }));
    }
  }

  /** Returns the lines to show, including those of calls that ended earlier but were called later. */
  end(response: ToolCallResponse, at: number): readonly string[] {
    const call = this.#reader.read(response);
    this.#announced = "";
    const place = this.#shown.find((each) => each.call === call);
    const running = place && this.#running.get(place.call);
    if (place === undefined || running === undefined) return [];
    this.#running.delete(place.call);
    place.lines = this.#isShown(place.call.request.name)
      ? this.#endLines(running, response, at)
      : this.#hiddenFailure(running, response);
    return this.#takeShown();
  }

  #takeShown(): readonly string[] {
    const open = this.#shown.findIndex(({ lines }) => lines === undefined);
    const ended = this.#shown.slice(0, open === -1 ? undefined : open);
    this.#shown = this.#shown.slice(ended.length);
    return ended.flatMap(({ lines = [] }) => lines);
  }

  #endLines(running: RunningCall, response: ToolCallResponse, at: number): readonly string[] {
    const { call, isChangeSeen } = running;
    const { request } = call;
    const read = readCall(call);
    const { ran, change, decisions, answers } = read;
    const end = callEnd(response, read);
    const isDecided = end === "done" || end === "not applied" || end === "cancelled";
    const isKnown = change !== undefined && isDecided;
    // The prompt has shown the change, and the answer below it says the rest.
    if (isKnown && isChangeSeen && isAnsweredHere(answers.at(-1))) return [];
    const isOver = end === "done" || end === "failed";
    const took = `${((at - running.since) / 1000).toFixed(1)}s`;
    const style = this.#styleOf(request.name);
    const brief = this.#briefOf(ran, response);
    const note = [failureNote(response), brief.note, took].filter(Boolean).join(", ");
    const configured = (response.isError ? style?.errorLines : style?.inlineLines) ?? 0;
    const resultLines = style?.areLinesSet === true ? configured : (brief.most ?? configured);
    const options = this.#lineOptions();
    const header = renderCallLines(ran, isOver && running.isStopped ? "stopped" : end, {
      ...options,
      note,
      title: this.#titleOf(call, change) ?? brief.title,
      ...(style !== undefined && { parameters: style.parameters }),
    });
    const { isEndFirst } = brief;
    const shown = isKnown ? [] : this.#resultLines(response, { resultLines, isEndFirst }, header);
    return [
      ...(style?.hasHeader === false ? [] : header),
      ...this.#changeLines(read, isChangeSeen),
      ...decisions
        .filter(({ decision }) => decision === "edited")
        .flatMap((edited) =>
          renderPermissionLines(edited, { ...options, requested: request.arguments }),
        ),
      ...shown,
    ];
  }

  /** Also keeps the whole result, if some of it is left out. */
  #resultLines(
    response: ToolCallResponse,
    chosen: Pick<ResultLineOptions, "resultLines" | "isEndFirst">,
    header: readonly string[],
  ): readonly string[] {
    const options = { ...this.#lineOptions(), ...chosen };
    const { shortened } = this.#options;
    const shown = renderResultLines(response, options);
    if (shortened === undefined) return shown;
    const resultLines = Number.POSITIVE_INFINITY;
    const width = Number.POSITIVE_INFINITY;
    const whole = renderResultLines(response, { ...options, resultLines, width });
    if (isDeepEqual(shown, whole)) return shown;
    shortened.lines = [...header, ...whole];
    return renderResultLines(response, { ...options, moreNote: EXPANDS });
  }

  /** Only for jp's own tools. */
  #briefOf(ran: AskingCall, response: ToolCallResponse): ResultBrief {
    const isOwn = this.#options.tools.get(ran.name)?.source.type === "builtin";
    return isOwn ? briefResult(ran, response) : {};
  }

  /** A change that no prompt has shown; in full if an earlier answer approved it. */
  #changeLines({ change, answers }: ReadCall, isChangeSeen: boolean): readonly string[] {
    if (change === undefined) return [];
    const options = this.#lineOptions();
    const response = answers.at(-1);
    const answeredBy = response?.outcome === "cancelled" ? undefined : response?.answeredBy;
    const isWhole = answeredBy?.kind === "remembered";
    const maxLines = isWhole ? Number.POSITIVE_INFINITY : MAX_CHANGE_LINES;
    return [
      ...(isChangeSeen ? [] : renderChangeLines(change, { ...options, maxLines })),
      ...(response === undefined ? [] : renderChangeAnswer(response, options)),
    ];
  }

  /** Shown if the assistant tried to ask the user something, but its question is invalid. */
  #hiddenFailure({ call }: RunningCall, response: ToolCallResponse): readonly string[] {
    const { request, events } = call;
    const { name } = request;
    const isOwn = name === ASK_USER && this.#options.tools.get(name)?.source.type === "builtin";
    const isAsked = events.some(({ type }) => type === "inquiry_request");
    if (!this.#options.showsCalls || !isOwn || !response.isError || isAsked) {
      return [];
    }
    const options = this.#lineOptions();
    return [
      ...renderCallLines(request, "failed", { ...options, title: INVALID_QUESTION }),
      ...renderResultLines(response, { ...options, resultLines: MAX_CHANGE_LINES }),
    ];
  }

  /** The heading of a file change, shown instead of the call. */
  #titleOf({ request }: RecordedCall, change: FileChange | undefined): string | undefined {
    if (change !== undefined) return change.heading;
    const isOwn = this.#options.tools.get(request.name)?.source.type === "builtin";
    return isOwn ? changeTitle(request) : undefined;
  }

  /** Text for the user that the call speaks on the assistant's behalf; empty if none. */
  speech({ id, blocks = [] }: ToolCallResponse): string {
    const name = this.#find(id)?.call.request.name ?? "";
    const { isHidden = false, inlineLines } = this.#styleOf(name) ?? {};
    if (isHidden || inlineLines?.isChat !== true) return "";
    return textOfBlocks(blocks.filter(isForUserAlone));
  }

  /** Whether the status line names the tool, also while the model writes the call. */
  isInStatus(tool: string): boolean {
    return !this.#isHidden(tool) && this.#styleOf(tool)?.hasHeader !== false;
  }

  #isHidden(tool: string): boolean {
    return this.#styleOf(tool)?.isHidden === true;
  }

  #styleOf(tool: string): ToolStyle | undefined {
    return this.#options.tools.get(tool)?.style;
  }

  /** Returns the lines for calls that were stopped without a result. They can be continued. */
  leave(): readonly string[] {
    const lines = this.#shown.flatMap(({ call, lines: ended }) => {
      const isStopped = this.#running.get(call)?.isStopped === true;
      if (ended !== undefined || !isStopped || !this.#isShown(call.request.name)) {
        return ended ?? [];
      }
      const { ran, change } = readCall(call);
      const options = { ...this.#lineOptions(), title: this.#titleOf(call, change) };
      return renderCallLines(ran, "stopped", options);
    });
    this.#shown = [];
    return lines;
  }

  /** The call about to ask the user; undefined if calls of that tool are hidden. */
  findAsker(inquiryId: InquiryId): AskingCall | undefined {
    const { toolCallId = "" } = this.#inquiries.get(inquiryId) ?? {};
    const call = this.#find(toolCallId)?.call;
    if (call === undefined || !this.#isShown(call.request.name)) return undefined;
    return readCall(call).ran;
  }

  /** Prints the call once, even if it asks several questions in a row. */
  announce(call: AskingCall): void {
    if (describeCall(call) === this.#announced) return;
    this.noteAnnounced(call);
    const { output } = this.#options;
    // A prompt owns the screen now: the status line must stay off it.
    for (const line of renderAskerLines(call, this.#lineOptions())) output.notice(line);
  }

  /** Decision prompts show the call themselves, and questions about a change show its diff. */
  noteAnnounced(call: AskingCall, inquiryId?: InquiryId): void {
    this.#announced = describeCall(call);
    const { toolCallId } = this.#inquiries.get(inquiryId ?? "") ?? {};
    this.#change(this.#find(toolCallId)?.call, (asking) => ({ ...asking, isChangeSeen: true }));
  }

  #find(id: string | undefined): RunningCall | undefined {
    return [...this.#running.values()].find(({ call }) => call.request.id === id);
  }

  #change(call: RecordedCall | undefined, change: (running: RunningCall) => RunningCall): void {
    const running = call && this.#running.get(call);
    if (running !== undefined) this.#running.set(running.call, change(running));
  }

  #isShown(tool: string): boolean {
    return this.#options.showsCalls && this.#styleOf(tool)?.isHidden !== true;
  }

  #lineOptions(indent = 0) {
    const { output } = this.#options;
    return { paint: output.paintNotice, width: output.noticeWidth - indent };
  }
}

function isAnsweredHere(last: InquiryResponse | undefined): boolean {
  if (last === undefined) return false;
  if (last.outcome === "cancelled") return last.reason === "user";
  return last.answeredBy?.kind === "user" && last.answeredBy.channel === "terminal";
}

/** Excludes the time until nothing about the call is open any more, which is not the tool's. */
function withoutWaiting(running: RunningCall, at: number): RunningCall {
  const { call, since, waitingSince = at } = running;
  const isWaiting = pairDecisions(call.events).some(
    ({ response, madeVoid }) => response === undefined && madeVoid === undefined,
  );
  if (isWaiting) return running;
  return { ...running, since: since + at - waitingSince, waitingSince: undefined };
}

/** The percentage of the prompt that a model has read. */
export function percentRead(progress: {
  readonly processed: number;
  readonly total: number;
}): number {
  return Math.floor((100 * progress.processed) / progress.total);
}
