/** Handles `ask_user` calls from all clients, and chooses how each reaches a person. */
import { randomBytes, randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type {
  CallToolResult,
  InputRequiredResult,
  RequestStateCodec,
  ServerContext,
} from "@modelcontextprotocol/server";
import {
  defaultLabel,
  type Prompter,
  PromptQueue,
  type RequestBase,
  type Toolbox,
} from "../../core/agent/index.ts";
import type { ToolCallResponse } from "../../record/conversation/index.ts";
import { runToolCall } from "../../assemble/index.ts";
import { abortable, type Clock, type JsonObject, MAX_TIMER_MS } from "../../util/index.ts";
import type { ClientRecord } from "./client-record.ts";
import {
  createElicitationPrompter,
  type Elicit,
  type ElicitReply,
  type Form,
} from "./elicitation.ts";
import type { Client } from "./client.ts";
import { ASK_USER, type Sdk, type ServeSetup } from "./setup.ts";

export interface AskedCall {
  readonly client: Client;
  readonly record: ClientRecord;
  readonly arguments: JsonObject;
  readonly context: ServerContext;
  /** Aborted when the client's connection closes. Absent if the server ends with it. */
  readonly connection?: AbortSignal | undefined;
}

/** Held by the client between two requests. Signed, so a client can neither invent nor change it. */
interface RequestState {
  readonly call: string;
}

/** The key of the only question in an input-required result. */
const INPUT = "question";

/** All clients' open questions. */
export class ClientQuestions {
  readonly #sdk: Sdk;
  readonly #setup: ServeSetup;
  readonly #states: RequestStateCodec<RequestState>;
  readonly #paused: PausedCalls;
  readonly #open = new Set<Promise<unknown>>();
  readonly #stop = new AbortController();
  /** Shared, because all clients use one terminal. */
  readonly #prompts = new PromptQueue();

  constructor(sdk: Sdk, setup: ServeSetup) {
    this.#sdk = sdk;
    this.#setup = setup;
    this.#paused = new PausedCalls(setup.clock);
    this.#states = sdk.createRequestStateCodec<RequestState>({
      key: randomBytes(32),
      ttlSeconds: PAUSE_TIMEOUT_MS / 1000,
      bind: ({ mcpReq: { envelope = {} } }) =>
        JSON.stringify((envelope as JsonObject)[sdk.CLIENT_INFO_META_KEY] ?? null),
    });
  }

  /** For the server: rejects states that are not ours or have expired. */
  get requestState() {
    return {
      verify: (state: string, context: ServerContext) => this.#states.verify(state, context),
    };
  }

  /** Throws what the store throws. */
  async ask(asked: AskedCall): Promise<CallToolResult | InputRequiredResult> {
    const { client, record } = asked;
    if (client.era === "modern" && client.hasForms) return this.#askByResult(asked);
    const route = client.hasForms
      ? { prompter: this.#clientPrompter(client, elicitBy(asked.context)), prompts: record.prompts }
      : { prompter: namingClient(this.#setup.person, client), prompts: this.#prompts };
    return toResult(await this.#run(asked, { ...route, signal: signalOf(asked.context) }));
  }

  /** Ends all open calls, and waits until they are recorded and their results sent. */
  async close(): Promise<void> {
    this.#stop.abort();
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
    await setImmediate(); // The SDK sends results a few promises later.
  }

  async #askByResult(asked: AskedCall): Promise<CallToolResult | InputRequiredResult> {
    const { context, connection } = asked;
    const state = context.mcpReq.requestState<RequestState>();
    const call =
      state === undefined ? this.#startRoundTrip(asked) : await this.#resume(asked, state.call);
    const step = await call.next(signalOf(context));
    if (step.type === "ended") return toResult(step.response);
    const key = this.#paused.pause(call, step.form, connection);
    const requestState = await this.#states.mint({ call: key }, context);
    const inputRequests = { [INPUT]: this.#sdk.inputRequired.elicit(step.form) };
    return this.#sdk.inputRequired({ inputRequests, requestState });
  }

  /**
   * A request without an answer gets the question again. If the client was away for too long, its call restarts, and
   * the answer counts if the new call asks the same. Throws if no call has this key.
   */
  async #resume(asked: AskedCall, key: string): Promise<RoundTripCall> {
    const { mcpReq } = asked.context;
    const reply = this.#sdk.inputResponse(mcpReq.inputResponses, INPUT);
    const paused = this.#paused.take(key);
    const left = paused === undefined ? this.#paused.takeLeft(key) : undefined;
    if (paused === undefined && left === undefined) {
      const { ProtocolError, ProtocolErrorCode } = this.#sdk;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState");
    }
    const call = paused ?? this.#startRoundTrip(asked);
    const isSame = left === undefined || (await this.#asks(call, left, signalOf(asked.context)));
    if (isSame && reply.kind === "elicit") call.answer(reply);
    return call;
  }

  async #asks(call: RoundTripCall, form: Form, signal: AbortSignal): Promise<boolean> {
    const step = await call.next(signal);
    return step.type === "asks" && isDeepStrictEqual(step.form, form);
  }

  #startRoundTrip(asked: AskedCall): RoundTripCall {
    return new RoundTripCall((elicit, signal) => {
      const prompter = this.#clientPrompter(asked.client, elicit);
      // The client has all the questions and decides when to show them.
      return this.#run(asked, { prompter, prompts: new PromptQueue(), signal });
    });
  }

  async #run(asked: AskedCall, route: PromptRoute): Promise<ToolCallResponse> {
    const { client, record, arguments: args } = asked;
    const { clock } = this.#setup;
    const tools = withoutDetails(this.#setup.tools);
    const signal = AbortSignal.any([route.signal, this.#stop.signal]);
    const running = record.during(client.name, (open) =>
      runToolCall({ ...route, ...open, tool: ASK_USER, arguments: args, tools, clock, signal }),
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

/** Clients do not have `describe_tools`, so errors must not refer to it. */
function withoutDetails(tools: Toolbox): Toolbox {
  return {
    ...tools,
    find: async (name, signal) => {
      const tool = await tools.find(name, signal);
      return tool && { ...tool, description: { ...tool.description, hasDetails: false } };
    },
  };
}

/** How a call reaches a person. */
interface PromptRoute {
  readonly prompter: Prompter;
  readonly prompts: PromptQueue;
  readonly signal: AbortSignal;
}

/** Asks during a request, as in the protocol before 2026. A person may take any time to answer. */
function elicitBy({ mcpReq }: ServerContext): Elicit {
  return (params, signal) =>
    mcpReq.send({ method: "elicitation/create", params }, { signal, timeout: MAX_TIMER_MS });
}

/** Labels questions at our terminal with the client's name. */
function namingClient(person: Prompter, { name }: Client): Prompter {
  const naming = <Request extends RequestBase>(request: Request): Request => {
    const isDefault = request.label === defaultLabel(request);
    return { ...request, label: isDefault ? name : `${request.label} of ${name}` };
  };
  const { channel, auth, unavailableBecause, showsForms } = person;
  return {
    channel,
    ...(auth !== undefined && { auth }),
    ...(unavailableBecause !== undefined && { unavailableBecause }),
    ...(showsForms !== undefined && { showsForms }),
    canAsk: () => person.canAsk(),
    ask: (request) =>
      request.kind === "form"
        ? person.ask({ ...naming(request), fields: request.fields.map(naming) })
        : person.ask(naming(request)),
  };
}

/** Aborted when the client cancels the request or disconnects. */
function signalOf({ mcpReq, http }: ServerContext): AbortSignal {
  const connection = http?.req?.signal;
  return connection === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, connection]);
}

function toResult({ content, isError }: ToolCallResponse): CallToolResult {
  return { content: [{ type: "text", text: content }], ...(isError && { isError }) };
}

type Step =
  | { readonly type: "asks"; readonly form: Form }
  | { readonly type: "ended"; readonly response: ToolCallResponse };

type RunWithForms = (elicit: Elicit, signal: AbortSignal) => Promise<ToolCallResponse>;

/** A call whose questions are sent as results, and whose answers arrive with later requests. */
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

  /** Aborted when the call has ended or is ending. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The open question or the result; unchanged until `answer`. Aborting ends the call. Throws what the call throws. */
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
      await this.#step.promise.catch(() => undefined); // The client may never ask again; an unhandled rejection ends jp.
    } finally {
      this.stop();
    }
  }
}

/** Timeout of a paused call: its client may have left without notice. */
export const PAUSE_TIMEOUT_MS = 60 * 60 * 1000;

/**
 * Timeout of a paused call without a connection. A client that has exited has none; others may close an idle connection
 * and open a new one when their user has answered.
 */
export const AWAY_MS = 30_000;

/** How many calls that timed out like this can be restarted. */
const MAX_LEFT = 100;

interface PausedCall {
  readonly call: RoundTripCall;
  readonly resumed: AbortController;
}

class PausedCalls {
  readonly #clock: Clock;
  readonly #paused = new Map<string, PausedCall>();
  /** Forms that were unanswered when their client left. */
  readonly #left = new Map<string, Form>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the key to resume the call. A call that is ending is not kept. */
  pause(call: RoundTripCall, form: Form, connection?: AbortSignal): string {
    const key = randomUUID();
    if (call.signal.aborted) return key;
    const resumed = new AbortController();
    this.#paused.set(key, { call, resumed });
    const waiting = AbortSignal.any([resumed.signal, call.signal]);
    const stop = (isAway: boolean) => {
      if (waiting.aborted) return;
      if (isAway) this.#leave(key, form);
      call.stop();
    };
    this.#untilGone(waiting, connection).then(stop, () => undefined); // Rejects if the call was resumed or has ended.
    call.signal.addEventListener("abort", () => this.#paused.delete(key), { once: true });
    return key;
  }

  /** Undefined if it was already resumed or has ended. */
  take(key: string): RoundTripCall | undefined {
    const { call, resumed } = this.#paused.get(key) ?? {};
    this.#paused.delete(key);
    resumed?.abort();
    return call;
  }

  /** The form that was open when the client left. Undefined if it was already taken. */
  takeLeft(key: string): Form | undefined {
    const form = this.#left.get(key);
    this.#left.delete(key);
    return form;
  }

  #leave(key: string, form: Form): void {
    this.#left.set(key, form);
    const [oldest] = this.#left.keys();
    if (this.#left.size > MAX_LEFT && oldest !== undefined) this.#left.delete(oldest);
  }

  /** True if the connection was lost for too long, false on timeout. Rejects if `waiting` is aborted first. */
  #untilGone(waiting: AbortSignal, connection: AbortSignal | undefined): Promise<boolean> {
    const expired = this.#clock.sleep(PAUSE_TIMEOUT_MS, waiting).then(() => false);
    if (connection === undefined) return expired;
    const away = untilAborted(connection, waiting)
      .then(() => this.#clock.sleep(AWAY_MS, waiting))
      .then(() => true);
    return Promise.race([expired, away]);
  }
}

/** Never resolves if `waiting` is aborted first. */
function untilAborted(signal: AbortSignal, waiting: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true, signal: waiting });
  if (signal.aborted) resolve();
  return promise;
}
