/** Tools of the test server that ask, in the protocol that the client uses. */
import { setTimeout as delay } from "node:timers/promises";
import {
  type CallToolResult,
  type InputRequiredResult,
  type Server,
  type ServerContext,
  UrlElicitationRequiredError,
} from "@modelcontextprotocol/server";

interface Call {
  readonly server: Server;
  readonly given: Readonly<Record<string, unknown>>;
  readonly context: ServerContext;
  readonly log: (line: string) => void;
}

export type Run = (call: Call) => Promise<CallToolResult | InputRequiredResult> | CallToolResult;

type Params = Readonly<Record<string, unknown>>;

/** How long the tools wait before they ask, withdraw, exit or return. */
const DELAY_MS = 100;

const WHICH_MOON: Params = {
  message: "Which moon?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } },
};

const MODEL_PROMPT = {
  messages: [{ role: "user" as const, content: { type: "text" as const, text: "Name a moon." } }],
  maxTokens: 100,
};

/** The URLs of `visit_first` that were required before. */
const visited = new Set<unknown>();

export const ASKING_TOOLS: Readonly<Record<string, Run>> = {
  /**
   * `rounds` is a list of requests by key. The result is the list of responses. Requests with messages
   * are for a model.
   */
  ask: async (call) => {
    const rounds = (call.given["rounds"] ?? [{ moon: WHICH_MOON }]) as Record<string, Params>[];
    return isOlder(call) ? askOlder(call, rounds) : askNewer(call, rounds);
  },
  /** Waits forever once it has its answer. Older protocol only. */
  ask_and_wait: async ({ context, log }) => {
    context.mcpReq.signal.addEventListener("abort", () => log("cancelled"));
    log(`answered ${JSON.stringify(await send(context, WHICH_MOON))}`);
    return new Promise(() => undefined);
  },
  /** Waits before it asks, and forever after. */
  wait_ask_wait: async (call) => {
    const { context, log } = call;
    if (context.mcpReq.inputResponses === undefined) {
      log("waiting");
      await delay(DELAY_MS);
      if (!isOlder(call)) return askNewer(call, [{ moon: WHICH_MOON }]);
      await send(context, WHICH_MOON);
    }
    log("waiting again");
    return new Promise(() => undefined);
  },
  /** `form` is the question. */
  ask_and_withdraw: async ({ context, given }) => {
    const signal = AbortSignal.timeout(DELAY_MS);
    const form = (given["form"] ?? WHICH_MOON) as Params;
    await send(context, form, signal).catch(() => undefined);
    return text("never mind");
  },
  ask_and_crash: async ({ context }) => {
    void send(context, WHICH_MOON).catch(() => undefined);
    await delay(DELAY_MS);
    process.exit(7);
  },
  /** Returns without waiting for the answer. */
  ask_and_return: async ({ context, log }) => {
    void send(context, WHICH_MOON).then((answer) => log(`answered ${JSON.stringify(answer)}`));
    await delay(DELAY_MS);
    return text("returned");
  },
  /** Asks outside of a call. */
  ask_later: ({ server, log }) => {
    setTimeout(() => {
      const request = { method: "elicitation/create" as const, params: WHICH_MOON };
      void server.request(request).then((answer) => log(`answered ${JSON.stringify(answer)}`));
    }, DELAY_MS);
    return text("later");
  },
  /** Asks when its call is cancelled. */
  ask_when_cancelled: ({ server, context, log }) => {
    log("waiting");
    context.mcpReq.signal.addEventListener("abort", () => {
      const request = { method: "elicitation/create" as const, params: WHICH_MOON };
      void server.request(request).then((answer) => log(`answered ${JSON.stringify(answer)}`));
    });
    return new Promise(() => undefined);
  },
  /** Fails once for each `url`, because it has to be visited. */
  visit_first: ({ given: { url } }) => {
    if (visited.has(url)) return text("visited");
    visited.add(url);
    const elicitation = { mode: "url" as const, message: "Sign in.", elicitationId: "e1" };
    throw new UrlElicitationRequiredError([{ ...elicitation, url: String(url) }]);
  },
  /** Marked as read-only, so that several calls run at once. */
  ask_reading: async (call) => askOlder(call, [{ moon: WHICH_MOON }]),
  ask_model_reading: async (call) => askOlder(call, [{ moon: MODEL_PROMPT }]),
  ask_and_return_reading: async ({ context, log }) => {
    void send(context, WHICH_MOON).then((answer) => log(`answered ${JSON.stringify(answer)}`));
    await delay(DELAY_MS);
    return text("returned");
  },
  ask_model: async ({ context, log }) => {
    await send(context, MODEL_PROMPT).catch((error: unknown) => log(String(error)));
    return text("no model");
  },
  ask_model_and_withdraw: async ({ context }) => {
    const signal = AbortSignal.timeout(DELAY_MS);
    await send(context, MODEL_PROMPT, signal).catch(() => undefined);
    return text("never mind");
  },
  ask_model_later: ({ server, log }) => {
    setTimeout(() => {
      const request = { method: "sampling/createMessage" as const, params: MODEL_PROMPT };
      void server.request(request).catch((error: unknown) => log(String(error)));
    }, DELAY_MS);
    return text("later");
  },
  /** Returns the capabilities of the client. */
  capabilities: ({ server, context }) => {
    const { envelope } = context.mcpReq;
    return text(JSON.stringify(envelope ?? server.getClientCapabilities()));
  },
  /** Asks to be called again three times before it returns a result. */
  ask_again: async ({ context }) => {
    const count = Number(context.mcpReq.requestState() ?? 0);
    if (count === 3) return text("enough");
    return { resultType: "input_required", requestState: String(count + 1) };
  },
};

async function askOlder(
  { context, log }: Call,
  rounds: readonly Readonly<Record<string, Params>>[],
): Promise<CallToolResult> {
  const answers: unknown[] = [];
  for (const requests of rounds) {
    const answered = Object.entries(requests).map(async ([key, params]) => {
      log(`asked ${key}`);
      const answer = await send(context, params);
      log(`answered ${JSON.stringify(answer)}`);
      return [key, answer];
    });
    answers.push(Object.fromEntries(await Promise.all(answered)));
  }
  return text(JSON.stringify(answers));
}

/** The state contains the answers so far, encoded. */
async function askNewer(
  { context, log }: Call,
  rounds: readonly Readonly<Record<string, Params>>[],
): Promise<CallToolResult | InputRequiredResult> {
  const { inputResponses } = context.mcpReq;
  const state = context.mcpReq.requestState<string>();
  const before = state === undefined ? [] : (JSON.parse(atob(state)) as unknown[]);
  const answers = inputResponses === undefined ? before : [...before, inputResponses];
  if (inputResponses !== undefined) log(`answered ${JSON.stringify(inputResponses)}`);
  const next = rounds[answers.length];
  if (next === undefined) return text(JSON.stringify(answers));
  const entries = Object.entries(next).map(([key, params]) => [
    key,
    { method: methodOf(params), params },
  ]);
  return {
    resultType: "input_required",
    inputRequests: Object.fromEntries(entries) as NonNullable<InputRequiredResult["inputRequests"]>,
    requestState: btoa(JSON.stringify(answers)),
  };
}

/** An elicitation or a sampling request, depending on the parameters. */
function send(context: ServerContext, params: Params, signal?: AbortSignal): Promise<unknown> {
  const request = { method: methodOf(params), params: { ...params } };
  return context.mcpReq.send(request, {
    timeout: 600_000,
    ...(signal !== undefined && { signal }),
  });
}

function methodOf(params: Params) {
  return "messages" in params
    ? ("sampling/createMessage" as const)
    : ("elicitation/create" as const);
}

function isOlder({ context }: Call): boolean {
  return context.mcpReq.envelope === undefined;
}

function text(value: string): CallToolResult {
  return { content: [{ type: "text", text: value }] };
}
