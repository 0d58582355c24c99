import { expect, test } from "vitest";
import { inquiry, toolCall } from "../../../conversation/events.fixture.ts";
import type { InquiryId } from "../../../conversation/index.ts";
import { plain } from "../../../render/index.ts";
import { FakeClock } from "../../../testing/index.ts";
import { TextView } from "./text-view.ts";

test("the status line is hidden while a prompt is open", async () => {
  const shown: string[] = [];
  const view = new TextView({
    output: {
      isTerminal: true,
      lineWidth: 80,
      noticeWidth: 80,
      hasColors: false,
      paint: plain,
      paintNotice: plain,
      write: (text) => shown.push(text),
      print: (line) => shown.push(line),
      notice: (line) => shown.push(line),
      noticePiece: (text) => shown.push(text),
      flush: () => {},
    },
    status: {
      set: (text) => shown.push(`status ${text}`),
      clear: () => shown.push("status cleared"),
      resume: () => shown.push("status back"),
    },
    clock: new FakeClock(),
    model: "test/scripted",
    tools: new Map(),
    showsReasoning: true,
    showsCalls: true,
    isStructured: false,
    isVerbose: false,
    isPlain: false,
  });
  view.observe({ type: "event", event: toolCall("call_1", "asker") });
  const request = { ...inquiry("call_1.q.1"), toolCallId: "call_1" };
  view.observe({ type: "event", event: request });
  await view.aside(async () => {
    view.showAsker("call_1.q.1" as InquiryId); // As the record has it.
    shown.push("asked");
  });
  expect(shown).toEqual(["status asker", "status cleared", "• asker()", "asked", "status back"]);
});
