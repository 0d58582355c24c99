/** Takes the calls of `ask_user`: whoever makes them, and on whatever way they reach a person. */
import { randomBytes, randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type {
  CallToolResult,
  InputRequiredResult,
  RequestStateCodec,
  ServerContext,
} from "@modelcontextprotocol/server";
import { type Prompter, PromptQueue } from "../agent/index.ts";
import type { ToolCallResponse } from "../conversation/index.ts";
import { runToolCall } from "../runtime/index.ts";
import { abortable, type Clock, type JsonObject, MAX_TIMER_MS } from "../util/index.ts";
import type { ClientRecord } from "./client-record.ts";
import {
  createElicitationPrompter,
  type Elicit,
  type ElicitReply,
  type Form,
} from "./elicitation.ts";
import type { Client } from "./server.ts";
import { ASK_USER, type Sdk, type ServeSetup } from "./setup.ts";

export interface AskedCall {
  readonly client: Client;
  readonly record: ClientRecord;
  readonly arguments: JsonObject;
  readonly context: ServerContext;
}

/** What a client holds between two requests: signed, so that it can neither be made up nor changed. */
interface RequestState {
  readonly call: string;
}

/** The one question of a result that asks. */
const INPUT = "question";

export class QuestionDesk {
  readonly #sdk: Sdk;
  readonly #setup: ServeSetup;
  readonly #states: RequestStateCodec<RequestState>;
  readonly #paused: PausedCalls;
  readonly #open = new Set<Promise<unknown>>();
  readonly #stop = new AbortController();
  /** There is one terminal, however many clients there are. */
  readonly #prompts = new PromptQueue();

  constructor(sdk: Sdk, setup: ServeSetup) {
    this.#sdk = sdk;
    this.#setup = setup;
    this.#paused = new PausedCalls(setup.clock);
    this.#states = sdk.createRequestStateCodec<RequestState>({
      key: randomBytes(32),
      ttlSeconds: PATIENCE_MS / 1000,
      bind: ({ mcpReq: { envelope = {} } }) =>
        JSON.stringify((envelope as JsonObject)[sdk.CLIENT_INFO_META_KEY] ?? null),
    });
  }

  /** For a server that passes states on: refused are those that are not ours, or too old. */
  get requestState() {
    return {
      verify: (state: string, context: ServerContext) => this.#states.verify(state, context),
    };
  }

  /** Throws what the store throws. */
  async ask(asked: AskedCall): Promise<CallToolResult | InputRequiredResult> {
    const { client, record } = asked;
    if (client.era === "modern" && client.hasForms) return this.#askByResult(asked);
    const way = client.hasForms
      ? { prompter: this.#clientPrompter(client, elicitBy(asked.context)), prompts: record.prompts }
      : { prompter: namingClient(this.#setup.person, client), prompts: this.#prompts };
    return toResult(await this.#run(asked, { ...way, signal: signalOf(asked.context) }));
  }

  /** Ends everything that is open, and waits until that is on record and its results are sent. */
  async close(): Promise<void> {
    this.#stop.abort();
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
    await setImmediate(); // The SDK sends a result a few promises later.
  }

  async #askByResult(asked: AskedCall): Promise<CallToolResult | InputRequiredResult> {
    const { context } = asked;
    const paused = this.#findPaused(context);
    const reply = this.#sdk.inputResponse(context.mcpReq.inputResponses, INPUT);
    // A request without the answer gets the question once more; an answer without a question nothing.
    if (reply.kind === "elicit") paused?.answer(reply);
    const call = paused ?? this.#startRoundTrip(asked);
    const step = await call.next(signalOf(context));
    if (step.type === "ended") return toResult(step.response);
    const requestState = await this.#states.mint({ call: this.#paused.pause(call) }, context);
    const inputRequests = { [INPUT]: this.#sdk.inputRequired.elicit(step.form) };
    return this.#sdk.inputRequired({ inputRequests, requestState });
  }

  /** Undefined for a request that starts a call. Throws if it continues one that is not waiting. */
  #findPaused({ mcpReq }: ServerContext): RoundTripCall | undefined {
    const state = mcpReq.requestState<RequestState>();
    if (state === undefined) return undefined;
    const call = this.#paused.take(state.call);
    if (call !== undefined) return call;
    const { ProtocolError, ProtocolErrorCode } = this.#sdk;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState");
  }

  #startRoundTrip(asked: AskedCall): RoundTripCall {
    return new RoundTripCall((elicit, signal) => {
      const prompter = this.#clientPrompter(asked.client, elicit);
      // What is shown when is the client's business: it has all questions, and we only their answers.
      return this.#run(asked, { prompter, prompts: new PromptQueue(), signal });
    });
  }

  async #run(asked: AskedCall, way: Way): Promise<ToolCallResponse> {
    const { client, record, arguments: args } = asked;
    const { tools, clock } = this.#setup;
    const signal = AbortSignal.any([way.signal, this.#stop.signal]);
    const running = record.during(client.name, (open) =>
      runToolCall({ ...way, ...open, tool: ASK_USER, arguments: args, tools, clock, signal }),
    );
    this.#open.add(running);
    try {
      return await running;
    } finally {
      this.#open.delete(running);
    }
  }

  #clientPrompter({ name, knowsEnumNamesOnly }: Client, elicit: Elicit): Prompter {
    return createElicitationPrompter({
      channel: `mcp:${name}`,
      elicit,
      notation: knowsEnumNamesOnly ? "enumNames" : "titles",
    });
  }
}

/** How a person is reached. */
interface Way {
  readonly prompter: Prompter;
  readonly prompts: PromptQueue;
  readonly signal: AbortSignal;
}

/** In the middle of a request, as it was until 2026. A person may take any time to answer. */
function elicitBy({ mcpReq }: ServerContext): Elicit {
  return (params, signal) =>
    mcpReq.send({ method: "elicitation/create", params }, { signal, timeout: MAX_TIMER_MS });
}

/** Whoever is asked at our terminal cannot know by itself where the question comes from. */
function namingClient(person: Prompter, { name }: Client): Prompter {
  const labelOf = (label: string | undefined) =>
    label === undefined ? name : `${label} of ${name}`;
  return {
    channel: person.channel,
    canAsk: () => person.canAsk(),
    ask: (request) => person.ask({ ...request, label: labelOf(request.label) }),
    ...(person.askForm !== undefined && {
      askForm: ({ fields, signal }) => {
        const named = fields.map((field) => ({ ...field, label: labelOf(field.label) }));
        return (
          person.askForm?.({ fields: named, signal }) ?? Promise.resolve({ type: "interrupted" })
        );
      },
    }),
    askPermission: (request) => person.askPermission(request),
    askDelivery: (request) => person.askDelivery(request),
  };
}

/** Aborted when the client cancels the request, or when the line over which it came is cut. */
function signalOf({ mcpReq, http }: ServerContext): AbortSignal {
  const line = http?.req?.signal;
  return line === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, line]);
}

function toResult({ content, isError }: ToolCallResponse): CallToolResult {
  return { content: [{ type: "text", text: content }], ...(isError && { isError }) };
}

type Step =
  | { readonly type: "asks"; readonly form: Form }
  | { readonly type: "ended"; readonly response: ToolCallResponse };

type RunWithForms = (elicit: Elicit, signal: AbortSignal) => Promise<ToolCallResponse>;

class RoundTripCall {
  readonly #stop = new AbortController();
  #step = Promise.withResolvers<Step>();
  #answer = Promise.withResolvers<ElicitReply>();

  constructor(run: RunWithForms) {
    const elicit: Elicit = (form, signal) => {
      this.#step.resolve({ type: "asks", form });
      return abortable(this.#answer.promise, signal);
    };
    void this.#follow(run(elicit, this.#stop.signal));
  }

  /** Aborted once it is over, or about to be. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** What it comes to; the same until it gets an answer. Aborting ends the call. Throws what it threw. */
  async next(signal: AbortSignal): Promise<Step> {
    const stop = () => this.stop();
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    try {
      return await this.#step.promise;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  answer(reply: ElicitReply): void {
    const { resolve } = this.#answer;
    this.#step = Promise.withResolvers<Step>();
    this.#answer = Promise.withResolvers<ElicitReply>();
    resolve(reply);
  }

  stop(): void {
    this.#stop.abort();
  }

  async #follow(run: Promise<ToolCallResponse>): Promise<void> {
    try {
      const response = await run;
      this.#step.resolve({ type: "ended", response });
    } catch (error) {
      this.#step.reject(error);
      await this.#step.promise.catch(() => undefined); // Nobody may be left to hear of it.
    } finally {
      this.stop();
    }
  }
}

/** A client that has gone does not say so: after this it is taken for gone. */
export const PATIENCE_MS = 60 * 60 * 1000;

interface PausedCall {
  readonly call: RoundTripCall;
  readonly taken: AbortController;
}

class PausedCalls {
  readonly #clock: Clock;
  readonly #paused = new Map<string, PausedCall>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What it is taken up by. A call that is being ended is not kept. */
  pause(call: RoundTripCall): string {
    const key = randomUUID();
    if (call.signal.aborted) return key;
    const taken = new AbortController();
    this.#paused.set(key, { call, taken });
    const waiting = AbortSignal.any([taken.signal, call.signal]);
    void this.#clock.sleep(PATIENCE_MS, waiting).then(
      () => call.stop(),
      () => undefined, // It was taken up, or has ended by itself.
    );
    call.signal.addEventListener("abort", () => this.#paused.delete(key), { once: true });
    return key;
  }

  /** Undefined if it was taken up before, or has ended. */
  take(key: string): RoundTripCall | undefined {
    const { call, taken } = this.#paused.get(key) ?? {};
    this.#paused.delete(key);
    taken?.abort();
    return call;
  }
}
