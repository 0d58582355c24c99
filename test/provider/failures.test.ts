import { describe, expect, test, vi } from "vitest";
import {
  createHttpFetch,
  type Fetch,
  PROVIDER_NAMES,
  ProviderError,
  type ProviderName,
} from "../../src/reach/provider/index.ts";
import { chatRequest } from "../../src/record/conversation/events.fixture.ts";
import { type Answer, CaptureServer } from "./capture-server.ts";
import { collect, KEY, modelAt, MODELS, providersAt, requestOf } from "./support.ts";
import { WIRE } from "./wire.ts";

const request = requestOf([chatRequest("Hi")]);

async function failureOf(
  provider: ProviderName,
  answer: Answer,
  fetch?: Fetch,
): Promise<ProviderError> {
  await using server = await CaptureServer.start();
  server.answer(answer);
  const model = await modelAt(server.url, provider, fetch && { fetch });
  const outcome = await collect(model.stream(request)).catch((error: unknown) => error);
  if (!(outcome instanceof ProviderError)) throw new Error("It did not fail.", { cause: outcome });
  return outcome;
}

const json = { "content-type": "application/json" };

/** The error format of each provider. */
function errorBody(provider: ProviderName, message: string, type = "some_error"): string {
  const errors = {
    anthropic: { type: "error", error: { type, message } },
    google: { error: { code: 400, message, status: "INVALID_ARGUMENT" } },
    openai: { error: { message, type, code: type } },
    openrouter: { error: { message, code: 400 } },
    ollama: { error: message },
    llamacpp: { error: { message, type, code: 400 } },
  };
  return JSON.stringify(errors[provider]);
}

const TOO_LONG: Readonly<Record<ProviderName, readonly [message: string, type?: string]>> = {
  anthropic: ["prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"],
  google: [
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
  ],
  openai: ["Your input exceeds the context window of this model.", "context_length_exceeded"],
  openrouter: ["This endpoint's maximum context length is 128000 tokens. You requested 130000."],
  ollama: ["the input exceeds the context length"],
  llamacpp: ["the request exceeds the available context size", "exceed_context_size_error"],
};

const TOO_LONG_HINT =
  "Shorten the message, compact the conversation with `jp conversation compact --summarize`, or use a model " +
  "with a larger context window.";
const TOO_LONG_FOR_OLLAMA =
  "Ollama runs the model with a small context window unless told otherwise. Ask for a larger one, for " +
  "example `jp config set assistant.model.parameters.num_ctx 32768`, or start a new conversation with -n.";

function summarize({ kind, isRetryable, retryAfterMs }: ProviderError) {
  return { kind, isRetryable, retryAfterMs };
}

describe.each(
  PROVIDER_NAMES.flatMap((provider) => [
    { provider, through: "node:http", fetch: createHttpFetch() },
    { provider, through: "fetch", fetch },
  ]),
)("$provider through $through", ({ provider, fetch: used }) => {
  test("reports a rate limit with status and header", async () => {
    const headers = { ...json, "retry-after": "7" };
    const chunks = [errorBody(provider, "Slow down.", "rate_limit_error")];
    const error = await failureOf(provider, { status: 429, headers, chunks }, used);
    expect(summarize(error)).toEqual({
      kind: "rate_limited",
      isRetryable: true,
      retryAfterMs: 7000,
    });
    expect(error.message).toBe(
      `${provider}/${MODELS[provider]}: rate limit reached (HTTP 429): Slow down.`,
    );
  });

  test.each([529, 503, 500])("is retryable after HTTP %i", async (status) => {
    const chunks = [errorBody(provider, "Later.", "overloaded_error")];
    const error = await failureOf(provider, { status, headers: json, chunks }, used);
    expect(summarize(error)).toEqual({
      kind: "overloaded",
      isRetryable: true,
      retryAfterMs: undefined,
    });
  });

  test("reports that the conversation is too long", async () => {
    const [message, type] = TOO_LONG[provider];
    const chunks = [errorBody(provider, message, type)];
    const error = await failureOf(provider, { status: 400, headers: json, chunks }, used);
    expect({ ...summarize(error), commandHint: error.commandHint }).toEqual({
      kind: "context_too_long",
      isRetryable: false,
      retryAfterMs: undefined,
      commandHint: provider === "ollama" ? TOO_LONG_FOR_OLLAMA : TOO_LONG_HINT,
    });
  });

  test("recognizes what other servers with the same API say about it", async () => {
    const kinds = await Promise.all(
      Object.values(TOO_LONG).map(async ([message]) => {
        const chunks = [errorBody(provider, message)];
        return (await failureOf(provider, { status: 400, headers: json, chunks }, used)).kind;
      }),
    );
    expect(new Set(kinds)).toEqual(new Set(["context_too_long"]));
  });

  test("names the image that the model does not take", async () => {
    await using server = await CaptureServer.start();
    const chunks = [errorBody(provider, "This model does not support image input.")];
    server.answer({ status: 400, headers: json, chunks });
    const model = await modelAt(server.url, provider, { fetch: used });
    const content = { mediaType: "image/png", data: "AQID", filename: "shot.png" };
    const attached = requestOf([chatRequest("Hi")], {
      attachments: [{ source: "shot.png", content }],
    });
    const error: unknown = await collect(model.stream(attached)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining(
        ": the model does not accept shot.png (HTTP 400): This model",
      ),
      commandHint: expect.stringContaining("jp attachment rm"),
    });
  });

  test("reports a rejected key by the name of its variable, without its value", async () => {
    const chunks = [errorBody(provider, `Bad key ${KEY}\n\u001B[31mred`, "authentication_error")];
    const error = await failureOf(provider, { status: 401, headers: json, chunks }, used);
    expect({ kind: error.kind, message: error.message, hint: error.hint }).toEqual({
      kind: "authentication",
      message: `${provider}/${MODELS[provider]}: the API key was rejected (HTTP 401): Bad key … [31mred`,
      hint: "Check the API key in THE_KEY and its permissions.",
    });
    expect(JSON.stringify([error, error.cause, error.stack])).not.toContain(KEY);
  });

  test("reports an unknown model", async () => {
    const chunks = [errorBody(provider, "model not found", "not_found_error")];
    const error = await failureOf(provider, { status: 404, headers: json, chunks }, used);
    expect({ ...summarize(error), commandHint: error.commandHint }).toEqual({
      kind: "unknown_model",
      isRetryable: false,
      retryAfterMs: undefined,
      commandHint: `Run \`jp model ls ${provider}\` to list the available models.`,
    });
  });

  test("reports a rejected request", async () => {
    const chunks = [errorBody(provider, "x".repeat(5000), "invalid_request_error")];
    const error = await failureOf(provider, { status: 400, headers: json, chunks }, used);
    expect(summarize(error)).toEqual({
      kind: "invalid_request",
      isRetryable: false,
      retryAfterMs: undefined,
    });
    expect(error.message.length).toBeLessThan(420);
  });

  test("reports a response that is not JSON", async () => {
    const headers = { "content-type": "text/html" };
    const chunks = ["<html>Bad gateway</html>"];
    const error = await failureOf(provider, { status: 502, headers, chunks }, used);
    expect(summarize(error)).toEqual({
      kind: "overloaded",
      isRetryable: true,
      retryAfterMs: undefined,
    });
  });

  test.each(["break", "end"] as const)("reports a reply that breaks off: %s", async (ending) => {
    const [first = "", second = ""] = WIRE[provider]({ text: "Hello there." });
    const chunks = [first, second.slice(0, 20)];
    const error = await failureOf(provider, { chunks, ending }, used);
    expect(summarize(error)).toEqual({
      kind: "network",
      isRetryable: true,
      retryAfterMs: undefined,
    });
  });

  test("reports that it cannot be reached", async () => {
    const server = await CaptureServer.start();
    const { url } = server;
    await server[Symbol.asyncDispose]();
    const model = await modelAt(url, provider, { fetch: used });
    const error: unknown = await collect(model.stream(request)).catch((thrown: unknown) => thrown);
    const isLocal = provider === "ollama" || provider === "llamacpp";
    expect(error).toMatchObject({
      kind: "network",
      isRetryable: false,
      hint: isLocal
        ? `Is ${provider} running at ${url}? The address comes from \`providers.llm.${provider}.base_url\`.`
        : "Check your network connection and try again.",
    });
  });
});

test.each(["anthropic", "google", "openai", "openrouter"] as const)(
  "without a key for %s no request is sent",
  async (provider) => {
    const providers = providersAt("http://127.0.0.1:9", { apiKey: "" });
    await expect(providers.model(provider, "any")).rejects.toMatchObject({
      kind: "missing_key",
      message: `No API key for ${provider}.`,
      hint: "Set THE_KEY.",
    });
  },
);

test("a key that cannot be sent is reported without showing it", async () => {
  const providers = providersAt("http://127.0.0.1:9", { apiKey: "sk-…" });
  await expect(providers.model("anthropic", "any")).rejects.toMatchObject({
    kind: "authentication",
    message: "The API key for anthropic has a character that cannot be sent in an HTTP header.",
    hint: "Check THE_KEY.",
  });
});

test.each([
  { status: 502, chunks: ["<html>Bad gateway</html>"] },
  { chunks: ['{"model":"m","message":{"role":"assi'] },
])("Ollama's client prints nothing on failure: %j", async (answer) => {
  const printed = [vi.spyOn(console, "log"), vi.spyOn(console, "warn")];
  await failureOf("ollama", answer);
  const calls = printed.flatMap((spy) => spy.mock.calls);
  for (const spy of printed) spy.mockRestore();
  expect(calls).toEqual([]);
});

test("an unknown provider is rejected", async () => {
  await expect(providersAt("http://127.0.0.1:9").model("acme", "any")).rejects.toMatchObject({
    kind: "unknown_model",
    message: 'Unknown provider "acme".',
  });
});

test("Claude may report an overload in the middle of a stream", async () => {
  const [start = "", ...rest] = WIRE.anthropic({ text: "Hello" });
  const data = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  const chunks = [start, ...rest.slice(0, 2), `event: error\ndata: ${JSON.stringify(data)}\n\n`];
  const error = await failureOf("anthropic", { chunks });
  expect(summarize(error)).toEqual({
    kind: "overloaded",
    isRetryable: true,
    retryAfterMs: undefined,
  });
});

test("Gemini rejects a key with the status of a bad request", async () => {
  const details = [{ "@type": "…/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }];
  const message = "API key not valid. Please pass a valid API key.";
  const body = { error: { code: 400, message, status: "INVALID_ARGUMENT", details } };
  const chunks = [JSON.stringify(body)];
  const error = await failureOf("google", { status: 400, headers: json, chunks });
  expect(error.kind).toBe("authentication");
});

test.each([
  ["openrouter", 402, { error: { code: 402, message: "Insufficient credits" } }],
  ["openai", 429, { error: { code: "insufficient_quota", type: "x", message: "No quota." } }],
  [
    "anthropic",
    400,
    { type: "error", error: { type: "x", message: "Your credit balance is too low" } },
  ],
] as const)("%s is out of credit: not retryable", async (provider, status, body) => {
  const error = await failureOf(provider, {
    status,
    headers: json,
    chunks: [JSON.stringify(body)],
  });
  expect({ isRetryable: error.isRetryable, hint: error.hint }).toEqual({
    isRetryable: false,
    hint: "Add credit to the account, or use another model.",
  });
});
