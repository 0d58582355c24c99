import { describe, expect, test } from "vitest";
import {
  chatRequest,
  message,
  toolCall,
  toolResult,
} from "../../src/record/conversation/events.fixture.ts";
import type { RecordedFile } from "../../src/record/conversation/index.ts";
import type { ProviderName } from "../../src/reach/provider/index.ts";
import type { ContentBlock } from "../../src/record/tool/index.ts";
import { CaptureServer } from "./capture-server.ts";
import { bodySentTo, collect, modelAt, requestOf } from "./support.ts";

const png: RecordedFile = { mediaType: "image/png", data: "iVBORw==", filename: "cat.png" };
const pdf: RecordedFile = { mediaType: "application/pdf", data: "JVBERg==", filename: "a.pdf" };
const linked: RecordedFile = { mediaType: "image/png", data: "https://example.com/cat.png" };

const asImageUrl = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw==" } };
const asChat = { messages: [{ content: [asImageUrl, { type: "text", text: "What is it?" }] }] };

/** What the API of each provider takes. */
const BODIES: Readonly<Record<ProviderName, object>> = {
  anthropic: {
    messages: [
      {
        role: "user",
        content: [
          { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw==" } },
          { type: "text", text: "What is it?" },
        ],
      },
    ],
  },
  google: {
    contents: [
      {
        parts: [
          { inlineData: { mimeType: "image/png", data: "iVBORw==" } },
          { text: "What is it?" },
        ],
      },
    ],
  },
  openai: {
    input: [
      {
        content: [
          { type: "input_image", image_url: "data:image/png;base64,iVBORw==" },
          { type: "input_text", text: "What is it?" },
        ],
      },
    ],
  },
  openrouter: asChat,
  llamacpp: asChat,
  ollama: { messages: [{ role: "user", content: "What is it?", images: ["iVBORw=="] }] },
};

describe("an image in a message", () => {
  test.each(Object.entries(BODIES))("goes to %s before the text", async (name, body) => {
    // An entry of the table.
    const provider = name as ProviderName;
    const request = requestOf([{ ...chatRequest("What is it?"), files: [png] }]);
    expect(await bodySentTo(provider, request)).toMatchObject(body);
  });

  test("goes along again when the conversation continues", async () => {
    const events = [
      { ...chatRequest("What is it?"), files: [png] },
      message("A cat."),
      chatRequest("Which?"),
    ];
    expect(await bodySentTo("anthropic", requestOf(events))).toMatchObject({
      messages: [{ content: [{ type: "image" }, {}] }, {}, { content: [{ text: "Which?" }] }],
    });
  });

  test("shares a cache point with its text", async () => {
    const event = { ...chatRequest("Hi"), files: [png], metadata: { cache_breakpoint: true } };
    const body = await bodySentTo("anthropic", requestOf([event], { cache: "short" }));
    expect(body).toEqual(
      expect.objectContaining({
        messages: [
          {
            role: "user",
            content: [
              expect.not.objectContaining({ cache_control: expect.anything() }),
              { type: "text", text: "Hi", cache_control: { type: "ephemeral" } },
            ],
          },
        ],
      }),
    );
  });

  test("needs no text", async () => {
    const request = requestOf([{ ...chatRequest(""), files: [png] }]);
    expect(await bodySentTo("anthropic", request)).toMatchObject({
      messages: [{ content: [{ type: "image" }] }],
    });
  });

  test.each([
    ["anthropic", { messages: [{ content: [{ source: { type: "url", url: linked.data } }, {}] }] }],
    ["openai", { input: [{ content: [{ type: "input_image", image_url: linked.data }, {}] }] }],
  ] as const)("goes to %s as a URL if it is one", async (provider, body) => {
    const request = requestOf([{ ...chatRequest("What is it?"), files: [linked] }]);
    expect(await bodySentTo(provider, request)).toMatchObject(body);
  });
});

describe("another file in a message", () => {
  test("goes to a provider that takes it, with its name", async () => {
    const request = requestOf([{ ...chatRequest("Sum it up."), files: [pdf] }]);
    expect(await bodySentTo("openai", request)).toMatchObject({
      input: [{ content: [{ type: "input_file", filename: "a.pdf" }, {}] }],
    });
  });

  test.each([
    ["ollama", pdf, "Ollama does not accept files of type application/pdf."],
    ["ollama", linked, "Ollama does not accept images by their URL."],
    ["anthropic", { ...pdf, mediaType: "audio/wav" }, "audio/wav"],
  ] as const)("is an error of %s if it does not take it: %j", async (provider, file, words) => {
    await using server = await CaptureServer.start();
    const model = await modelAt(server.url, provider);
    const request = requestOf([{ ...chatRequest("What is it?"), files: [file] }]);
    await expect(collect(model.stream(request))).rejects.toMatchObject({
      isRetryable: false,
      message: expect.stringContaining(words),
    });
    expect(server.requests).toEqual([]);
  });
});

describe("an image in the result of a call", () => {
  const data = "iVBORw0KGgo=";
  const image = { type: "image", mimeType: "image/png", data } as const;
  const fake = { ...image, mimeType: "image/jpeg" } as const;
  const sent = { type: "base64", media_type: "image/png", data };

  test.each([
    [
      "anthropic",
      { messages: [{}, {}, { content: [{ content: [{ text: "[image]" }, { source: sent }] }] }] },
    ],
    [
      "openai",
      {
        input: [
          {},
          {},
          { output: [{ text: "[image]" }, { image_url: `data:image/png;base64,${data}` }] },
        ],
      },
    ],
  ] as const)("goes to %s with the text", async (provider, body) => {
    expect(await bodyWith(provider, [image])).toMatchObject(body);
  });

  test("goes to google", async () => {
    expect(JSON.stringify(await bodyWith("google", [image]))).toContain(data);
  });

  test.each(["openrouter", "llamacpp", "ollama"] as const)("is named to %s", async (provider) => {
    const body = JSON.stringify(await bodyWith(provider, [image]));
    expect(body).toContain("[1 of its files cannot be shown to you.]");
    expect(body).not.toContain(data);
  });

  test.each([
    ["is not what it says", [fake], false],
    ["is for the user alone", [{ ...image, annotations: { audience: ["user"] } }], false],
    ["is part of an error", [image], true],
  ] as const)("is not sent if it %s", async (_name, blocks, isError) => {
    expect(JSON.stringify(await bodyWith("anthropic", blocks, isError))).not.toContain(data);
  });
});

function bodyWith(provider: ProviderName, blocks: readonly ContentBlock[], isError = false) {
  const result = { ...toolResult("call_1", "[image]", isError), blocks };
  return bodySentTo(provider, requestOf([chatRequest("Go."), toolCall("call_1"), result]));
}
