import { describe, expect, test } from "vitest";
import { type Message, resumeTurn, runTurn, type TurnOptions } from "../../src/index.ts";
import { FakeClock, ScriptedModel } from "../../src/testing/index.ts";
import { EVERY_STORE } from "../storage/every-store.ts";

const bytes = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);
const message: Message = {
  content: "What is it?",
  files: [{ mediaType: "image/png", data: bytes, filename: "cat.png" }],
};
const recorded = [{ mediaType: "image/png", data: "iVBORw==", filename: "cat.png" }];
const clock = new FakeClock();

/** The files of each of the user's messages in the last request. */
function filesSent(model: ScriptedModel) {
  const events = model.requests.at(-1)?.parts.events ?? [];
  return events.flatMap((event) => (event.type === "chat_request" ? [event.files] : []));
}

describe.each(EVERY_STORE)("files of a message, with $name", ({ create }) => {
  test("are recorded, and sent with every later turn, of a fork too", async () => {
    const { store } = await create();
    const model = new ScriptedModel({ replies: ["A cat.", "A tabby.", "Three."] });
    const conversation = await store.create({});
    const { events } = await runTurn({ conversation, model, clock }, message);
    expect(events).toContainEqual(expect.objectContaining({ files: recorded }));
    await conversation.release();

    await using loaded = await store.open(conversation.id);
    await runTurn({ conversation: loaded, model, clock }, "Which kind?");
    expect(filesSent(model)).toEqual([recorded, undefined]);

    await using fork = await store.open(await store.fork(conversation.id));
    await runTurn({ conversation: fork, model, clock }, "How many?");
    expect(filesSent(model)).toEqual([recorded, undefined, undefined]);
  });

  test("are sent when another process resumes the turn", async () => {
    const { store } = await create();
    const error = new Error("The network is down.");
    const model = new ScriptedModel({ replies: [[{ type: "error", error }], "A cat."] });
    const conversation = await store.create({});
    await expect(runTurn({ conversation, model, clock }, message)).rejects.toThrow(error);
    await conversation.release();
    await using loaded = await store.open(conversation.id);
    const options: Omit<TurnOptions, "conversation"> = { model, clock };
    expect(await resumeTurn(loaded, options)).toMatchObject({ text: "A cat." });
    expect(filesSent(model)).toEqual([recorded]);
  });

  test("that cannot be sent are refused before anything is recorded", async () => {
    const { store } = await create();
    await using conversation = await store.create({});
    const files = [{ mediaType: "image/png", data: "/home/me/cat.png" }];
    const model = new ScriptedModel({ replies: ["A cat."] });
    await expect(
      runTurn({ conversation, model, clock }, { content: "What is it?", files }),
    ).rejects.toMatchObject({ code: "invalid_file" });
    expect({ entries: conversation.stream.entries, requests: model.requests }).toEqual({
      entries: [],
      requests: [],
    });
  });

  test("of some megabytes come back as they were", async () => {
    const { store } = await create();
    const model = new ScriptedModel({ replies: ["Large.", "Still."] });
    const data = new Uint8Array(3 * 1024 * 1024).fill(0xa5);
    const conversation = await store.create({});
    const files = [{ mediaType: "image/png", data }];
    await runTurn({ conversation, model, clock }, { content: "What is it?", files });
    await conversation.release();
    await using loaded = await store.open(conversation.id);
    await runTurn({ conversation: loaded, model, clock }, "And now?");
    const [sent] = filesSent(model)[0] ?? [];
    expect(Buffer.from(sent?.data ?? "", "base64").equals(data)).toBe(true);
  });
});
