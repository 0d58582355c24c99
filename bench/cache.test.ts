import { expect, test } from "vitest";
import { type ChatBody, ModelServer } from "../test/cli/model-server.ts";
import { measureCache } from "./cache.ts";

const SECONDS = expect.stringMatching(/^\d+\.\d$/);

test("a turn with questions is one row per request, with what the server counted", async () => {
  await using server = await ModelServer.start(({ messages, response_format: form }) => ({
    text: form === undefined ? "Ok." : '{"answer": true}',
    usage: usageOf(messages),
  }));
  const model = "llamacpp/any";
  const table = await measureCache({ model, baseUrl: server.url, tokens: 900, questions: 2 });
  expect(table).toEqual([
    ["request", "prompt tokens", "reused", "evaluated", "seconds"],
    ["conversation", "6,000", "0", "6,000", SECONDS],
    ["question of change000", "11,000", "9,000", "2,000", SECONDS],
    ["question of change001", "11,000", "9,000", "2,000", SECONDS],
    ["next request", "9,000", "7,000", "2,000", SECONDS],
  ]);
  // Instructions, two turns and a request; after that two calls with results, and for a question two more.
  expect(server.requests.map(({ messages }) => messages.length)).toEqual([6, 11, 11, 9]);
  const beginnings = server.requests.map(({ messages }) => JSON.stringify(messages.slice(0, 6)));
  expect(new Set(beginnings).size).toBe(1);
});

test("what the server does not count is not reported", async () => {
  await using server = await ModelServer.start(() => "Ok.");
  const options = { model: "llamacpp/any", baseUrl: server.url, tokens: 0, questions: 0 };
  const unknown = ["not reported", "not reported", "not reported", SECONDS];
  expect((await measureCache(options)).slice(1)).toEqual([
    ["conversation", ...unknown],
    ["next request", ...unknown],
  ]);
});

test("a server that fails ends the measurement, whether in the conversation or in a question", async () => {
  await using server = await ModelServer.start(({ response_format: form }) =>
    form === undefined ? "Ok." : { status: 400 },
  );
  const options = { model: "llamacpp/any", baseUrl: server.url, tokens: 0, questions: 1 };
  await expect(measureCache(options)).rejects.toThrow("as scripted");
  const closed = await ModelServer.closedUrl();
  await expect(measureCache({ ...options, baseUrl: closed })).rejects.toThrow("ECONNREFUSED");
});

/** A thousand tokens for each message, all but two of them reused after the first request. */
function usageOf({ length }: ChatBody["messages"]) {
  const cached = length > 6 ? 1000 * (length - 2) : 0;
  return {
    prompt_tokens: 1000 * length,
    completion_tokens: 1,
    prompt_tokens_details: { cached_tokens: cached },
  };
}
