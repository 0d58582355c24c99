import { expect, test } from "vitest";
import type { ProviderName } from "../../src/reach/provider/index.ts";
import { CaptureServer } from "./capture-server.ts";
import { KEY, modelAt, providersAt } from "./support.ts";

const { signal } = new AbortController();

/** The path of each request, the answer, and the models read from it. */
const LISTS: Readonly<Record<ProviderName, { path: string; body: unknown; models: unknown }>> = {
  anthropic: {
    path: "/v1/models?limit=1000",
    body: { data: [{ id: "claude-x", max_input_tokens: 1000 }, { id: "claude-y" }] },
    models: [{ name: "claude-x", contextWindow: 1000 }, { name: "claude-y" }],
  },
  google: {
    path: "/v1beta/models?pageSize=1000",
    body: {
      models: [
        {
          name: "models/gemini-x",
          inputTokenLimit: 2000,
          supportedGenerationMethods: ["generateContent"],
        },
        { name: "models/embed", supportedGenerationMethods: ["embedContent"] },
      ],
    },
    models: [{ name: "gemini-x", contextWindow: 2000 }],
  },
  openai: {
    path: "/v1/models",
    body: { data: [{ id: "gpt-x" }, "not an object", { id: 7 }] },
    models: [{ name: "gpt-x" }],
  },
  openrouter: {
    path: "/api/v1/models",
    body: { data: [{ id: "acme/x", context_length: 3000 }] },
    models: [{ name: "acme/x", contextWindow: 3000 }],
  },
  ollama: {
    path: "/api/tags",
    body: { models: [{ name: "qwen3:8b", details: { context_length: 5000 } }, { name: "old" }] },
    models: [{ name: "qwen3:8b", contextWindow: 5000 }, { name: "old" }],
  },
  llamacpp: {
    path: "/v1/models",
    body: { data: [{ id: "local", meta: { n_ctx: 4000, n_ctx_train: 131_072 } }] },
    models: [{ name: "local", contextWindow: 4000, isForAnyName: true }],
  },
};

test.each(Object.entries(LISTS))(
  "%s lists its models",
  async (provider, { path, body, models }) => {
    await using server = await CaptureServer.start();
    server.answer({
      headers: { "content-type": "application/json" },
      chunks: [JSON.stringify(body)],
    });
    expect(await providersAt(server.url).list(provider, signal)).toEqual(models);
    expect(server.requests.map((request) => request.path)).toEqual([path]);
  },
);

test("a failed listing says why", async () => {
  await using server = await CaptureServer.start();
  const chunks = [JSON.stringify({ error: { message: `No ${KEY}`, type: "x" } })];
  server.answer({ status: 401, headers: { "content-type": "application/json" }, chunks });
  await expect(providersAt(server.url).list("openai", signal)).rejects.toMatchObject({
    kind: "authentication",
    message: "openai: the API key was rejected (HTTP 401): No …",
    hint: "Check the API key in THE_KEY and its permissions.",
  });
});

test("an answer of another shape is an empty list", async () => {
  await using server = await CaptureServer.start();
  server.answer({ chunks: ["[1, 2]"] });
  expect(await providersAt(server.url).list("ollama", signal)).toEqual([]);
});

test("the context window of well-known models is known", async () => {
  const windows = await Promise.all(
    (["anthropic", "google", "openai", "openrouter"] as const).map(async (provider) => {
      const model = await modelAt("http://127.0.0.1:9", provider);
      return model.properties?.({ other: {} }, signal);
    }),
  );
  expect(windows).toEqual(
    [200_000, 1_000_000, 272_000, 200_000].map((contextWindow) => ({ contextWindow })),
  );
});
