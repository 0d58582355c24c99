/** Shows the calls of a turn and their questions on standard error. */
import type { TurnUpdate } from "../../../agent/index.ts";
import type { ToolSettings, ToolStyle } from "../../../config/index.ts";
import {
  type CallProgress,
  type InquiryId,
  type InquiryRequest,
  type InquiryResponse,
  isForUserAlone,
  type PermissionDecision,
  type ToolCallRequest,
  type ToolCallResponse,
} from "../../../conversation/index.ts";
import {
  callEnd,
  type CallEvents,
  callText,
  describeCall,
  editedArguments,
  oneLine,
  renderAskerLines,
  renderCallLines,
  renderInquiryLines,
  renderPermissionLines,
  renderResultLines,
  wrapCode,
} from "../../../render/index.ts";
import type { Output } from "../../../terminal/index.ts";
import { textOfBlocks } from "../../../tool/index.ts";

export interface CallViewOptions {
  readonly output: Output;
  /** Asked when a call is shown: what servers offer is known only by then. */
  readonly tools: Pick<ReadonlyMap<string, ToolSettings>, "get">;
  readonly showsCalls: boolean;
}

interface RunningCall extends CallEvents {
  readonly request: ToolCallRequest;
  /** Moved on by the time that the call has waited for an answer. */
  readonly since: number;
  /** When it began to wait for the answers to its open questions; undefined if it has none. */
  readonly waitingSince?: number | undefined;
  readonly openQuestions: number;
  /** The turn was stopped while the call ran. */
  readonly isStopped: boolean;
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

export class CallView {
  readonly #options: CallViewOptions;
  readonly #calls = new Map<string, RunningCall>();
  readonly #inquiries = new Map<string, InquiryRequest>();
  readonly #modelQuestions = new Map<string, ModelQuestion>();
  /** The call that was announced last. */
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
      return { text: oneLine(`Waiting for ${model} to answer ${tool}${details}`), since };
    }
    const calls = [...this.#calls.values()].filter(({ request }) => this.hasHeader(request.name));
    if (calls.length === 0) return undefined;
    const text = calls.map(({ request }) => oneLine(request.name)).join(", ");
    return { text, since: Math.min(...calls.map(({ since }) => since)) };
  }

  start(request: ToolCallRequest, at: number): void {
    const call = {
      request,
      since: at,
      openQuestions: 0,
      decisions: [],
      answers: [],
      isStopped: false,
    };
    this.#calls.set(request.id, call);
  }

  /** A call that another process has left open. What it has shown is not shown again. */
  resume({ request, permissions, questions }: CallProgress, at: number): void {
    this.start(request, at);
    for (const { decision } of Object.values(permissions)) {
      if (decision !== undefined) this.decide(decision, at);
    }
    for (const { request: asked, response } of questions) {
      this.ask(asked, at);
      if (response !== undefined) this.answer(response, at);
    }
  }

  /** The lines to show. A call allowed by an earlier answer is shown in full. */
  decide(decision: PermissionDecision, at: number): readonly string[] {
    this.#change(decision.toolCallId, (call) => {
      const decided = { ...withoutWaiting(call, at), decisions: [...call.decisions, decision] };
      return decision.action === "run" ? { ...decided, since: at } : decided;
    });
    const call = this.#calls.get(decision.toolCallId);
    if (call === undefined || decision.decidedBy.kind !== "remembered") return [];
    const { paint, width } = this.#lineOptions();
    const asked = callText(call.request).split("\n");
    return [
      ...asked.flatMap((line) => wrapCode(line, width)),
      ...renderPermissionLines(decision, { paint, width }),
    ];
  }

  ask(request: InquiryRequest, at: number): void {
    this.#inquiries.set(request.id, request);
    this.wait(request.toolCallId, at);
  }

  /** The call waits for an answer or a decision. */
  wait(toolCallId: string | undefined, at: number): void {
    this.#change(toolCallId, ({ openQuestions, waitingSince = at, ...call }) => ({
      ...call,
      openQuestions: openQuestions + 1,
      waitingSince,
    }));
  }

  /** A model was asked, or waits for its turn to be asked. */
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

  /** The lines to show. */
  answer(response: InquiryResponse, at: number): readonly string[] {
    this.#modelQuestions.delete(response.id);
    const request = this.#inquiries.get(response.id);
    if (request === undefined) return [];
    this.#change(request.toolCallId, (call) => ({
      ...withoutWaiting(call, at),
      answers: [...call.answers, response],
    }));
    // The user has just seen their own answer.
    const isSeen =
      response.outcome === "cancelled"
        ? response.reason === "user"
        : response.answeredBy?.kind === "user";
    // A remembered answer is shown with this question, even for tools whose calls are hidden.
    const isReused = response.outcome !== "cancelled" && response.answeredBy?.kind === "remembered";
    if (isSeen || (this.#isHidden(request) && !isReused)) return [];
    return renderInquiryLines(request, response, this.#lineOptions(2)).map((line) => `  ${line}`);
  }

  /** Marks the running calls as stopped. */
  stop(): void {
    for (const id of this.#calls.keys()) {
      this.#change(id, (call) => ({ ...call, isStopped: true }));
    }
  }

  /** The lines to show. */
  end(response: ToolCallResponse, at: number): readonly string[] {
    const call = this.#calls.get(response.id);
    this.#calls.delete(response.id);
    this.#announced = "";
    if (call === undefined || !this.#isShown(call.request.name)) return [];
    const end = callEnd(response, call);
    const isOver = end === "done" || end === "failed";
    const note = `${((at - call.since) / 1000).toFixed(1)}s`;
    const style = this.#styleOf(call.request.name);
    const resultLines = (response.isError ? style?.errorLines : style?.inlineLines) ?? 0;
    const options = this.#lineOptions();
    const ran = editedArguments(call.decisions);
    const { request } = call;
    const header = renderCallLines(
      { ...request, arguments: ran ?? request.arguments },
      isOver && call.isStopped ? "stopped" : end,
      { ...options, note, ...(style !== undefined && { parameters: style.parameters }) },
    );
    return [
      ...(style?.hasHeader === false ? [] : header),
      ...call.decisions
        .filter(({ decision }) => decision === "edited")
        .flatMap((edited) =>
          renderPermissionLines(edited, { ...options, requested: request.arguments }),
        ),
      ...renderResultLines(response, { ...options, resultLines }),
    ];
  }

  /** The text that the call addresses to the user in the assistant's place; empty if none. */
  speech({ id, blocks = [] }: ToolCallResponse): string {
    const name = this.#calls.get(id)?.request.name ?? "";
    const { isHidden = false, inlineLines } = this.#styleOf(name) ?? {};
    if (isHidden || inlineLines?.isChat !== true) return "";
    return textOfBlocks(blocks.filter(isForUserAlone));
  }

  /** Whether calls of the tool have a line, also while the model writes them. */
  hasHeader(tool: string): boolean {
    return this.#styleOf(tool)?.hasHeader !== false;
  }

  #styleOf(tool: string): ToolStyle | undefined {
    return this.#options.tools.get(tool)?.style;
  }

  /** The lines to show for calls that were stopped without a result. They can be continued. */
  leave(): readonly string[] {
    return [...this.#calls.values()]
      .filter(({ isStopped, request }) => isStopped && this.#isShown(request.name))
      .flatMap(({ request, decisions }) => {
        const ran = editedArguments(decisions) ?? request.arguments;
        return renderCallLines({ ...request, arguments: ran }, "stopped", this.#lineOptions());
      });
  }

  /** The call that is about to ask the user; undefined if calls of that tool are hidden. */
  findAsker(inquiryId: InquiryId): AskingCall | undefined {
    const { toolCallId = "" } = this.#inquiries.get(inquiryId) ?? {};
    const call = this.#calls.get(toolCallId);
    if (call === undefined || !this.#isShown(call.request.name)) return undefined;
    const { request, decisions } = call;
    return { name: request.name, arguments: editedArguments(decisions) ?? request.arguments };
  }

  /** Prints the call once, even if it asks several questions in a row. */
  announce(call: AskingCall): void {
    if (describeCall(call) === this.#announced) return;
    this.noteAnnounced(call);
    const { output } = this.#options;
    // A prompt owns the screen now: the status line must stay off it.
    for (const line of renderAskerLines(call, this.#lineOptions())) output.notice(line);
  }

  /** Prompts for decisions that act show the call themselves. */
  noteAnnounced(call: AskingCall): void {
    this.#announced = describeCall(call);
  }

  #change(id: string | undefined, change: (call: RunningCall) => RunningCall): void {
    const call = this.#calls.get(id ?? "");
    if (call !== undefined) this.#calls.set(call.request.id, change(call));
  }

  #isShown(tool: string): boolean {
    return this.#options.showsCalls && this.#styleOf(tool)?.isHidden !== true;
  }

  #isHidden({ toolCallId = "" }: InquiryRequest): boolean {
    const call = this.#calls.get(toolCallId);
    return call !== undefined && !this.#isShown(call.request.name);
  }

  #lineOptions(indent = 0) {
    const { output } = this.#options;
    return { paint: output.paintNotice, width: output.noticeWidth - indent };
  }
}

/** A question is answered. The time until the last of them is not the tool's. */
function withoutWaiting(call: RunningCall, at: number): RunningCall {
  const { since, waitingSince = at } = call;
  const openQuestions = Math.max(0, call.openQuestions - 1);
  if (openQuestions > 0) return { ...call, openQuestions };
  return { ...call, openQuestions, since: since + at - waitingSince, waitingSince: undefined };
}

/** How much of the prompt a model has read. */
export function percentRead(progress: {
  readonly processed: number;
  readonly total: number;
}): number {
  return Math.floor((100 * progress.processed) / progress.total);
}
