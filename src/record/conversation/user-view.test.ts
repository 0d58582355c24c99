import { expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { counters } from "../../../test/security/threats.ts";
import { parseBlock } from "../tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { parseEvent } from "./event-codec.ts";
import {
  chatRequest,
  inquiry,
  message,
  reasoning,
  toolCall,
  toolResult,
  turnStart,
} from "./events.fixture.ts";
import { eventToJson, eventToPlainJson } from "./index.ts";
import { spokenText, userView, withoutSpoken } from "./user-view.ts";

const said = {
  type: "text",
  text: "# Half done",
  mimeType: "text/markdown",
  annotations: { audience: ["user"] },
};
const done = { type: "text", text: "Shown.", annotations: { audience: ["assistant"] } };
const both = { type: "text", text: "A table.", mimeType: "text/markdown" };

function resultOf(...blocks: readonly JsonObject[]) {
  return { ...toolResult("call_1", "Shown."), blocks: blocks.map(parseBlock) };
}

test("the user's view has the messages of both sides, and what results have for the user", () => {
  verifies("094/view/user-view");
  const spoken = resultOf(said, done, both);
  const events = [
    turnStart(),
    chatRequest("Go."),
    reasoning("Hm."),
    toolCall("call_1"),
    inquiry("call_1.q.1"),
    spoken,
    resultOf(done),
    toolResult("call_2", "plain"),
    message("Done."),
  ];
  expect(userView(events)).toEqual([
    turnStart(),
    chatRequest("Go."),
    { ...spoken, content: "# Half done\n\nA table.", blocks: [said, both] },
    toolResult("call_2", "plain"),
    message("Done."),
  ]);
});

test("Markdown for the user alone is said by the assistant, and the rest is a result", () => {
  const text = { ...said, mimeType: "text/plain" };
  expect([
    spokenText(resultOf(said, done), "tell_user"),
    spokenText(resultOf(both, text, done), "tell_user"),
  ]).toEqual(["# Half done", undefined]);
  expect([
    withoutSpoken(resultOf(said, done)),
    withoutSpoken(resultOf(said, both)),
    withoutSpoken(resultOf(done)),
    withoutSpoken(toolResult("call_1")),
  ]).toEqual([undefined, resultOf(both), resultOf(done), toolResult("call_1")]);
});

test("no other tool speaks for the assistant", () => {
  counters("T-PROV-9");
  expect([spokenText(resultOf(said), "fetch"), spokenText(resultOf(said), undefined)]).toEqual([
    undefined,
    undefined,
  ]);
});

test("the record keeps blocks that the original does not know, and gives it the text", () => {
  verifies("058/record/blocks");
  const hologram = { type: "hologram", beams: [1] };
  const event = resultOf(said, done, hologram);
  const json = eventToJson(event);
  const { metadata, ...known } = json;
  expect(known).toEqual({
    timestamp: event.timestamp,
    type: "tool_call_response",
    id: "call_1",
    content: "Shown.",
    is_error: false,
  });
  expect(metadata).toEqual({ jp_ts: JSON.stringify({ blocks: [said, done, hologram] }) });
  expect(parseEvent(json)).toEqual(event);
  expect(eventToPlainJson(event)["blocks"]).toEqual([said, done, hologram]);
});

test("JSON for people says how large images and files are", () => {
  const image = { type: "image", mimeType: "image/png", data: "AAAA" };
  const file = { type: "resource", resource: { uri: "file:///a", blob: "AA==" }, formatted: "a" };
  expect(eventToPlainJson(resultOf(image, file))["blocks"]).toEqual([
    { type: "image", mimeType: "image/png", size: 3 },
    { type: "resource", resource: { uri: "file:///a", size: 1 }, formatted: "a" },
  ]);
});

test("a record with the blocks as content is read", () => {
  const json = { ...eventToJson(toolResult("call_1")), content: [said, done, both] };
  expect(parseEvent(json)).toEqual({
    ...toolResult("call_1", "Shown.\n\nA table."),
    blocks: [said, done, both],
  });
});
