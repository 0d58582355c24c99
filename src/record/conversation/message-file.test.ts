import { describe, expect, test } from "vitest";
import { chatRequest } from "./events.fixture.ts";
import { eventToJson, eventToPlainJson, parseEvent } from "./event-codec.ts";
import { MAX_FILE_BYTES, type MessageFile, recordFiles } from "./message-file.ts";
import { savedByOriginal } from "./original-record.fixture.ts";

const png = { mediaType: "image/png", data: "iVBORw==", filename: "cat.png" };
const linked = { mediaType: "application/pdf", data: "https://example.com/a.pdf" };
const request = { ...chatRequest("What is it?"), files: [png, linked] };

describe("a file of a message", () => {
  test.each<[string, MessageFile["data"], string]>([
    ["bytes", new Uint8Array([9, 0x89, 0x50, 0x4e, 0x47]).subarray(1), "iVBORw=="],
    ["base64", "iVBORw==", "iVBORw=="],
    ["a URL", new URL("https://example.com/a.png"), "https://example.com/a.png"],
    ["the text of a URL", "http://example.com/a.png", "http://example.com/a.png"],
    ["nothing", new Uint8Array(), ""],
  ])("can be %s", (_kind, data, recorded) => {
    expect(recordFiles([{ mediaType: "image/png", data }])).toEqual([
      { mediaType: "image/png", data: recorded },
    ]);
  });

  test.each([
    ["image/png", "file:///etc/passwd"],
    ["image/png", new URL("file:///etc/passwd")],
    ["image/png", "data:image/png;base64,iVBORw=="],
    ["image/png", "iVBORw"],
    ["image/png", "not base64!!"],
    ["image/png", "https://"],
  ])("is refused as %s with the data %s", (mediaType, data) => {
    expect(() => recordFiles([{ mediaType, data, filename: "a" }])).toThrow(
      expect.objectContaining({
        code: "invalid_file",
        message:
          'The file "a" cannot be sent: its data is neither bytes, nor base64, nor an http or https URL.',
      }),
    );
  });

  test.each([null, 1234, new ArrayBuffer(3)])("is refused as data of another kind: %s", (given) => {
    const data = given as unknown as string; // As a program without types may pass it.
    expect(() => recordFiles([{ ...png, data }])).toThrow("its data is neither bytes");
  });

  test("is refused with a name that is not text", () => {
    const filename = 5 as unknown as string; // As a program without types may pass it.
    expect(() => recordFiles([{ ...png, filename }])).toThrow("its filename is not text");
  });

  test("is refused without a media type", () => {
    expect(() => recordFiles([{ ...png, mediaType: "png" }])).toThrow('"png" is not a media type.');
  });

  test("is refused if the files of the message are too large together", () => {
    const half = { mediaType: "image/png", data: new Uint8Array(MAX_FILE_BYTES / 2) };
    expect(recordFiles([half, half])).toHaveLength(2);
    expect(() => recordFiles([half, half, png])).toThrow(
      expect.objectContaining({
        code: "invalid_file",
        message: "The files of a message may have 20971520 bytes together; these have 20971524.",
      }),
    );
  });
});

describe("the record of a message with files", () => {
  const stored = eventToJson(request);

  test("has them once, where the Rust original keeps them", () => {
    expect(stored).toEqual({
      timestamp: request.timestamp,
      type: "chat_request",
      content: "What is it?",
      metadata: {
        jp_ts: JSON.stringify({
          files: [
            { media_type: "image/png", filename: "cat.png", data: "iVBORw==" },
            { media_type: "application/pdf", data: "https://example.com/a.pdf" },
          ],
        }),
      },
    });
  });

  test("is read as it was written, also after the Rust original has saved it", () => {
    const [saved = {}] = savedByOriginal([stored]);
    expect([stored, saved].map(parseEvent)).toStrictEqual([request, request]);
  });

  test("keeps other metadata apart", () => {
    const event = { ...request, metadata: { cache_breakpoint: true } };
    expect(parseEvent(eventToJson(event))).toStrictEqual(event);
  });

  test.each([
    { media_type: "image/png", data: "file:///etc/passwd" },
    { media_type: "image", data: "iVBORw==" },
    { media_type: "image/png" },
    "cat.png",
  ])("from elsewhere is not read with a file such as %j", (file) => {
    const metadata = { jp_ts: JSON.stringify({ files: [file] }) };
    expect(() => parseEvent({ ...stored, metadata })).toThrow(expect.any(Error));
  });

  test("shows sizes and URLs to other programs, but no data", () => {
    expect(eventToPlainJson(request)["files"]).toEqual([
      { media_type: "image/png", filename: "cat.png", size: 4 },
      { media_type: "application/pdf", url: "https://example.com/a.pdf" },
    ]);
  });
});
