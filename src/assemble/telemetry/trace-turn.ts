/**
 * Traces a turn: a span for the turn, each request to a model, each attempt of a tool, and each decision. The turn's
 * parts are wrapped to open a span around their work, so that whatever is traced inside finds its parent; decisions
 * are read from the events that the turn observes. See docs/telemetry.md for names and attributes.
 */
import { type Attributes, type Context, context, SpanKind } from "@opentelemetry/api";
import {
  type CallableTool,
  type Observer,
  type Toolbox,
  type TurnEnd,
  type TurnSetup,
  type TurnUpdate,
} from "../../core/agent/index.ts";
import type { InquiryBackend } from "../../core/answer-model/index.ts";
import { addUsage, traceparentOf, type Usage, lastTurn } from "../../record/conversation/index.ts";
import type { AttemptRequest, AttemptResult } from "../../reach/executor/index.ts";
import type { Model, ModelEvent, ModelRequest } from "../../reach/provider/index.ts";
import {
  finishAttributes,
  inputContent,
  modelAttributes,
  requestAttributes,
  usageAttributes,
  WrittenReply,
} from "./attributes.ts";
import { DecisionSpans } from "./decision-spans.ts";
import { continueFrom, linkTo, type OpenSpan, Spans } from "./spans.ts";

export interface TracedTurn {
  readonly isResumed: boolean;
  readonly tracesContent: boolean;
}

/** See `TraceTurn`. */
export async function traceTurn(
  setup: TurnSetup,
  turn: TracedTurn,
  work: (traced: TurnSetup) => Promise<TurnEnd>,
): Promise<TurnEnd> {
  const trace = new TurnTrace(setup, turn);
  try {
    return trace.end(await context.with(trace.context, () => work(trace.setup())));
  } catch (error) {
    trace.fail(error);
    throw error;
  }
}

class TurnTrace {
  readonly #setup: TurnSetup;
  readonly #hasContent: boolean;
  readonly #spans = new Spans();
  readonly #decisions: DecisionSpans;
  /** On every span: a span may be viewed without those around it. */
  readonly #attributes: Attributes;
  /** The program's active context when it runs the turn. */
  readonly #around = context.active();
  /** The last attempt of each call, which is the parent of requests about the call. */
  readonly #attempts = new Map<string, Context>();
  /** The number of attempts of each call, those of earlier processes included. */
  readonly #counts = new Map<string, number>();
  #turn: OpenSpan;
  #hasStarted: boolean;
  #usage: Usage = {};

  constructor(setup: TurnSetup, { isResumed, tracesContent }: TracedTurn) {
    this.#setup = setup;
    this.#hasContent = tracesContent;
    this.#attributes = { "gen_ai.conversation.id": setup.conversation.id };
    const events = isResumed ? lastTurn(setup.conversation) : [];
    const left = traceparentOf(events);
    const parent = left === undefined ? this.#around : continueFrom(left);
    // Belongs to the trace in which the turn started. The process continuing it has another trace, which is linked.
    this.#turn = this.#start(parent, {
      isResumed,
      links: left === undefined ? [] : linkTo(this.#around),
    });
    this.#hasStarted = isResumed;
    const parents = {
      of: (call: string | undefined) => this.#attempts.get(call ?? "") ?? this.#turn.context,
      turn: () => this.#turn.context,
    };
    const about = { attributes: this.#attributes, hasContent: tracesContent };
    this.#decisions = new DecisionSpans(this.#spans, parents, about);
    this.#decisions.resume(events);
    for (const event of events) if (event.type === "attempt_start") this.#count(event.toolCallId);
  }

  get context(): Context {
    return this.#turn.context;
  }

  /** The turn's parts, each wrapped in a span. */
  setup(): TurnSetup {
    const setup = this.#setup;
    const { compaction } = setup;
    const summarizer = compaction?.summarizer;
    const ofTurn = () => this.#turn.context;
    return {
      ...setup,
      model: this.#traceModel(setup.model, ofTurn),
      tools: this.#traceTools(setup.tools),
      inquiries: this.#traceInquiries(setup.inquiries),
      observer: this.#traceUpdates(setup.observer),
      traceparent: () => this.#turn.traceparent,
      ...(compaction !== undefined &&
        summarizer !== undefined && {
          compaction: {
            ...compaction,
            summarizer: async (rule) => {
              const found = await summarizer(rule);
              return { ...found, model: this.#traceModel(found.model, ofTurn) };
            },
          },
        }),
    };
  }

  end(end: TurnEnd): TurnEnd {
    // The turn failed, although nothing was thrown.
    if (end.type === "invalid_data" || end.type === "cycle_limit") this.#turn.fail(end.type);
    if (end.type === "done") this.#turn.set(finishAttributes(end.reason));
    this.#finish(end.type);
    return end;
  }

  fail(error: unknown): void {
    this.#turn.failWith(error, this.#hasContent);
    this.#finish("failed");
  }

  #start(
    parent: Context,
    { isResumed, links }: { readonly isResumed: boolean; readonly links: OpenSpan["link"] },
  ): OpenSpan {
    return this.#spans.start({
      name: "invoke_agent",
      kind: SpanKind.INTERNAL,
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        ...modelAttributes(this.#setup.model.id),
        ...this.#attributes,
        "jp.turn.resumed": isResumed,
      },
      parent,
      links,
    });
  }

  #finish(outcome: TurnEnd["type"] | "failed" | "redirected"): void {
    this.#decisions.endPending();
    this.#turn.end({ "jp.turn.outcome": outcome, ...usageAttributes(this.#usage) });
    this.#spans.endAll();
  }

  #traceUpdates(observer: Observer | undefined): Observer {
    return {
      observe: (update) => {
        this.#observe(update);
        observer?.observe(update);
      },
    };
  }

  #observe(update: TurnUpdate): void {
    if (update.type !== "event") return;
    const { event } = update;
    if (event.type === "turn_start") this.#startTurn();
    // Decisions left open by an earlier incomplete turn are closed first, and are not part of this one.
    else if (this.#hasStarted) this.#decisions.observe(event);
  }

  /** Instead of approving, the user said what to do, which starts the next turn. */
  #startTurn(): void {
    if (this.#hasStarted) {
      const { link: links } = this.#turn;
      this.#finish("redirected");
      this.#usage = {};
      this.#attempts.clear();
      this.#counts.clear();
      this.#turn = this.#start(this.#around, { isResumed: false, links });
    }
    this.#hasStarted = true;
  }

  /** Traces each request, including retries. */
  #traceModel(model: Model, parent: () => Context): Model {
    const { id, isLocal } = model;
    return {
      id,
      ...(isLocal !== undefined && { isLocal }),
      ...(model.acceptsFile !== undefined && { acceptsFile: model.acceptsFile.bind(model) }),
      ...(model.properties !== undefined && { properties: model.properties.bind(model) }),
      stream: (request) => this.#traceReply(model, request, parent()),
    };
  }

  async *#traceReply(
    model: Model,
    request: ModelRequest,
    parent: Context,
  ): AsyncGenerator<ModelEvent, void, undefined> {
    const span = this.#startRequest(model, request, parent);
    const begun = performance.now();
    const written = this.#hasContent ? new WrittenReply() : undefined;
    let end: Extract<ModelEvent, { readonly type: "response_end" }> | undefined;
    let isFirst = true;
    const events = context.with(span.context, () =>
      model.stream(observing(request, span))[Symbol.asyncIterator](),
    );
    try {
      for (;;) {
        const next = await context.with(span.context, () => events.next());
        if (next.done === true) return;
        const event = next.value;
        const seconds = (performance.now() - begun) / 1000;
        if (isFirst) span.set({ "gen_ai.response.time_to_first_chunk": seconds });
        isFirst = false;
        written?.add(event);
        if (event.type === "response_end") end = event;
        yield event;
      }
    } catch (error) {
      const isAborted = request.signal.aborted && error === request.signal.reason;
      if (!isAborted) span.failWith(error, this.#hasContent);
      throw error;
    } finally {
      if (end !== undefined) this.#usage = addUsage(this.#usage, end.usage);
      span.end({
        ...finishAttributes(end?.reason),
        ...(end !== undefined && usageAttributes(end.usage)),
        ...written?.toAttributes(end?.reason),
      });
      await events.return?.();
    }
  }

  #startRequest(model: Model, request: ModelRequest, parent: Context): OpenSpan {
    const named = modelAttributes(model.id);
    return this.#spans.start({
      name: `chat ${String(named["gen_ai.request.model"])}`,
      kind: SpanKind.CLIENT,
      attributes: {
        "gen_ai.operation.name": "chat",
        ...named,
        ...this.#attributes,
        ...requestAttributes(request),
        ...(this.#hasContent && inputContent(request.parts)),
      },
      parent,
    });
  }

  #traceInquiries(inquiries: InquiryBackend): InquiryBackend {
    return {
      inquire: (call) => {
        const parent = () => this.#decisions.contextOf(call.inquiryId) ?? this.#turn.context;
        const watchModel = (model: Model) => this.#traceModel(model, parent);
        return context.with(parent(), () => inquiries.inquire({ ...call, watchModel }));
      },
    };
  }

  #traceTools(tools: Toolbox): Toolbox {
    return {
      ...tools,
      find: async (name, signal) => {
        const tool = await tools.find(name, signal);
        if (tool === undefined) return undefined;
        const attempt = (request: AttemptRequest) => this.#traceAttempt(tool, request);
        const { executor } = tool;
        const check = executor.check?.bind(executor);
        return { ...tool, executor: { attempt, ...(check !== undefined && { check }) } };
      },
    };
  }

  #count(toolCallId: string): number {
    const count = (this.#counts.get(toolCallId) ?? 0) + 1;
    this.#counts.set(toolCallId, count);
    return count;
  }

  async #traceAttempt(tool: CallableTool, request: AttemptRequest): Promise<AttemptResult> {
    const { name } = tool.settings;
    const { toolCallId = "" } = request;
    const number = this.#count(toolCallId);
    const span = this.#spans.start({
      name: `execute_tool ${name}`,
      kind: SpanKind.INTERNAL,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": request.toolCallId,
        ...this.#attributes,
        "jp.tool.attempt": number,
        ...(this.#hasContent && {
          "gen_ai.tool.call.arguments": JSON.stringify(request.arguments),
        }),
      },
      parent: this.#turn.context,
    });
    this.#attempts.set(toolCallId, span.context);
    const result = await context.with(span.context, () => tool.executor.attempt(request));
    const content = "content" in result && this.#hasContent ? result.content : undefined;
    if (result.type === "error") span.fail("tool_error", content);
    span.end({ "jp.tool.outcome": result.type, "gen_ai.tool.call.result": content });
    return result;
  }
}

/** Picks up the names of the reply and its model, if the provider reports them. */
function observing(request: ModelRequest, span: OpenSpan): ModelRequest {
  return {
    ...request,
    observe: (update) => {
      if (update.type === "response_start") {
        const { id, model } = update;
        span.set({ "gen_ai.response.id": id, "gen_ai.response.model": model });
      }
      request.observe?.(update);
    },
  };
}
