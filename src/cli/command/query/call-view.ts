/** The calls of a turn and their questions, on standard error, a line each. */
import type { ToolSettings } from "../../../config/index.ts";
import type {
  InquiryId,
  InquiryRequest,
  InquiryResponse,
  PermissionDecision,
  ToolCallRequest,
  ToolCallResponse,
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

export interface CallViewOptions {
  readonly output: Output;
  readonly tools: ReadonlyMap<string, ToolSettings>;
  readonly showsCalls: boolean;
}

interface RunningCall extends CallEvents {
  readonly request: ToolCallRequest;
  readonly since: number;
  /** What was under way is being ended. */
  readonly isStopped: boolean;
}

/** With what it is run, which need not be what the model asked for. */
type AskingCall = Pick<ToolCallRequest, "name" | "arguments">;

/** What is under way, for the line that says so. */
export interface Running {
  readonly names: string;
  readonly since: number;
}

export class CallView {
  readonly #options: CallViewOptions;
  readonly #calls = new Map<string, RunningCall>();
  readonly #inquiries = new Map<string, InquiryRequest>();
  /** The call of which was said last that it wants something. */
  #announced = "";

  constructor(options: CallViewOptions) {
    this.#options = options;
  }

  /** Undefined if nothing is. */
  get running(): Running | undefined {
    const calls = [...this.#calls.values()];
    if (calls.length === 0) return undefined;
    const names = calls.map(({ request }) => oneLine(request.name)).join(", ");
    return { names, since: Math.min(...calls.map(({ since }) => since)) };
  }

  start(request: ToolCallRequest, at: number): void {
    const call = { request, since: at, decisions: [], answers: [], isStopped: false };
    this.#calls.set(request.id, call);
  }

  /** Lines to be shown of it: a call that nobody was asked about is there whole. */
  decide(decision: PermissionDecision, at: number): readonly string[] {
    // The time somebody took to decide is not the tool's.
    this.#change(decision.toolCallId, ({ decisions, since, ...call }) => ({
      ...call,
      decisions: [...decisions, decision],
      since: decision.action === "run" ? at : since,
    }));
    const call = this.#calls.get(decision.toolCallId);
    if (call === undefined || decision.decidedBy.kind !== "remembered") return [];
    const { paint, width } = this.#lineOptions();
    const asked = callText(call.request).split("\n");
    return [
      ...asked.flatMap((line) => wrapCode(line, width)),
      ...renderPermissionLines(decision, { paint, width }),
    ];
  }

  ask(request: InquiryRequest): void {
    this.#inquiries.set(request.id, request);
  }

  /** Lines to be shown of it. */
  answer(response: InquiryResponse): readonly string[] {
    const request = this.#inquiries.get(response.id);
    if (request === undefined) return [];
    this.#change(request.toolCallId, ({ answers, ...call }) => ({
      ...call,
      answers: [...answers, response],
    }));
    // Whoever was asked has seen it.
    const isSeen =
      response.outcome === "cancelled"
        ? response.reason === "user"
        : response.answeredBy?.kind === "user";
    // An answer that was given to another question is shown with this one, wherever calls are hidden.
    const isReused = response.outcome !== "cancelled" && response.answeredBy?.kind === "remembered";
    if (isSeen || (this.#isHidden(request) && !isReused)) return [];
    return renderInquiryLines(request, response, this.#lineOptions(2)).map((line) => `  ${line}`);
  }

  /** Calls that are under way did not come to an end of their own. */
  stop(): void {
    for (const id of this.#calls.keys()) {
      this.#change(id, (call) => ({ ...call, isStopped: true }));
    }
  }

  /** Lines to be shown of it. */
  end(response: ToolCallResponse, at: number): readonly string[] {
    const call = this.#calls.get(response.id);
    this.#calls.delete(response.id);
    this.#announced = "";
    if (call === undefined || !this.#isShown(call.request.name)) return [];
    const end = callEnd(response, call);
    const isOver = end === "done" || end === "failed";
    const note = `${((at - call.since) / 1000).toFixed(1)}s`;
    const style = this.#options.tools.get(call.request.name)?.style;
    const resultLines = (response.isError ? style?.errorLines : style?.inlineLines) ?? 0;
    const options = this.#lineOptions();
    const ran = editedArguments(call.decisions);
    const { request } = call;
    return [
      ...renderCallLines(
        { ...request, arguments: ran ?? request.arguments },
        isOver && call.isStopped ? "stopped" : end,
        { ...options, note },
      ),
      ...call.decisions
        .filter(({ decision }) => decision === "edited")
        .flatMap((edited) =>
          renderPermissionLines(edited, { ...options, requested: request.arguments }),
        ),
      ...(resultLines === 0 ? [] : renderResultLines(response, { ...options, resultLines })),
    ];
  }

  /** Whose question somebody is about to be asked; undefined if it is not to be shown. */
  findAsker(inquiryId: InquiryId): AskingCall | undefined {
    const { toolCallId = "" } = this.#inquiries.get(inquiryId) ?? {};
    const call = this.#calls.get(toolCallId);
    if (call === undefined || !this.#isShown(call.request.name)) return undefined;
    const { request, decisions } = call;
    return { name: request.name, arguments: editedArguments(decisions) ?? request.arguments };
  }

  /** Once for what follows: several questions of a call may come one after the other. */
  announce(call: AskingCall): void {
    if (describeCall(call) === this.#announced) return;
    this.noteAnnounced(call);
    const { output } = this.#options;
    // The screen is somebody else's for now: what is going on must not come back onto it.
    for (const line of renderAskerLines(call, this.#lineOptions())) output.notice(line);
  }

  /** Whoever asks for permission shows the call. */
  noteAnnounced(call: AskingCall): void {
    this.#announced = describeCall(call);
  }

  #change(id: string | undefined, change: (call: RunningCall) => RunningCall): void {
    const call = this.#calls.get(id ?? "");
    if (call !== undefined) this.#calls.set(call.request.id, change(call));
  }

  #isShown(tool: string): boolean {
    return this.#options.showsCalls && this.#options.tools.get(tool)?.style.isHidden !== true;
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
