import { describe, expect, test } from "vitest";
import type { TurnUpdate } from "../../../agent/index.ts";
import { answered, inquiry, toolCall } from "../../../conversation/events.fixture.ts";
import type { InquiryId } from "../../../conversation/index.ts";
import type { InquiryUpdate } from "../../../inquiry/index.ts";
import { ProviderError } from "../../../provider/index.ts";
import { plain } from "../../../render/index.ts";
import { FakeClock } from "../../../testing/index.ts";
import { TextView } from "./text-view.ts";

test("the status line is hidden while a prompt is open", async () => {
  const { view, shown } = createView();
  view.observe({ type: "event", event: toolCall("call_1", "asker") });
  const request = { ...inquiry("call_1.q.1"), toolCallId: "call_1" };
  view.observe({ type: "event", event: request });
  await view.aside(async () => {
    view.showAsker("call_1.q.1" as InquiryId); // As the record has it.
    shown.push("asked");
  });
  expect(shown).toEqual(["status asker", "status cleared", "• asker()", "asked", "status back"]);
});

test("the status line shows how much of the prompt the model has read, since the request", () => {
  const { view, shown, clock, statusTimes } = createView();
  view.observe({ type: "cycle_start", cycle: 1 });
  clock.advance(5000);
  view.observe({ type: "prompt_progress", processed: 4399, total: 10_000 });
  clock.advance(5000);
  view.observe({ type: "prompt_progress", processed: 10_000, total: 10_000 });
  const start = clock.now().getTime() - 10_000;
  expect([shown, statusTimes]).toEqual([
    [
      "status Waiting for test/scripted",
      "status Waiting for test/scripted (43% read)",
      "status Waiting for test/scripted (100% read)",
    ],
    [undefined, start, start],
  ]);
});

describe("while a model answers the questions of tools, the status line", () => {
  const call = { type: "event", event: toolCall("call_1", "shell") } as const;
  const asked = { type: "asked", model: "test/small" } as const;
  const queued = { type: "queued", model: "test/small" } as const;

  test("names the model and the tool, how much is read, and how many wait", () => {
    const { view, shown } = createView();
    for (const update of [
      call,
      about("a.q.1", "edit", asked),
      about("b.q.1", "shell", queued),
      about("c.q.1", "shell", queued),
      about("a.q.1", "edit", { type: "prompt_progress", processed: 12, total: 100 }),
    ]) {
      view.observe(update);
    }
    expect(shown).toEqual([
      "status shell",
      "status Waiting for test/small to answer edit",
      "status Waiting for test/small to answer edit (1 more waiting)",
      "status Waiting for test/small to answer edit (2 more waiting)",
      "status Waiting for test/small to answer edit (12% read, 2 more waiting)",
    ]);
  });

  test("goes on to the next question after an answer, and back to the calls after the last", () => {
    const { view, shown } = createView();
    for (const update of [
      call,
      about("a.q.1", "edit", asked),
      about("b.q.1", "shell", queued),
      { type: "event", event: answered("a.q.1") } as const,
      about("b.q.1", "shell", asked),
      { type: "event", event: answered("b.q.1") } as const,
    ]) {
      view.observe(update);
    }
    expect(shown).toEqual([
      "status shell",
      "status Waiting for test/small to answer edit",
      "status Waiting for test/small to answer edit (1 more waiting)",
      "status shell",
      "status Waiting for test/small to answer shell",
      "status shell",
    ]);
  });
});

describe("a warning is", () => {
  const overloaded = new ProviderError("overloaded", "test/small: busy.", { isRetryable: true });
  const starting = new ProviderError("starting", "test/small: the server is starting.", {
    isRetryable: true,
  });
  const wrap: readonly [string, (update: Warning) => TurnUpdate][] = [
    ["the request of a turn", (update) => update],
    ["the question of a tool", (update) => about("a.q.1", "edit", update)],
  ];

  test.each(wrap)("a notice about %s", (_name, toUpdate) => {
    const { view, warnings } = createView();
    view.observe(toUpdate({ type: "notice", message: "test/small: calls are sent as text." }));
    expect(warnings()).toEqual(["warning: test/small: calls are sent as text."]);
  });

  test.each(wrap)("each retry of %s", (_name, toUpdate) => {
    const { view, warnings } = createView();
    for (const number of [1, 2]) view.observe(toUpdate(retryOf(overloaded, number)));
    expect(warnings()).toEqual([
      "warning: test/small: busy. Trying again in 2 s (1/30).",
      "warning: test/small: busy. Trying again in 2 s (2/30).",
    ]);
  });

  test.each(wrap)("one line if a server is starting, in %s", (_name, toUpdate) => {
    const { view, warnings } = createView();
    for (const number of [1, 2, 3]) view.observe(toUpdate(retryOf(starting, number)));
    expect(warnings()).toEqual([
      "warning: test/small: the server is starting. Waiting up to a minute.",
    ]);
  });
});

test("the usage of a turn includes the questions that a model answered", async () => {
  const { view, shown } = createView({ isVerbose: true });
  const end = { type: "response_end", reason: "stop" } as const;
  view.observe({ ...end, usage: { input: 1000, output: 5 } });
  view.observe(about("a.q.1", "edit", { ...end, usage: { input: 200, cachedInput: 150 } }));
  view.observe(about("b.q.1", "edit", { ...end, usage: { input: 30, output: 2 } }));
  await view.end({ type: "done", reason: "stop" });
  expect(shown).toContain("Tokens: 1,230 in (150 cached), 7 out");
});

type Warning = Extract<InquiryUpdate, { readonly type: "notice" | "retry_start" }>;

function retryOf(error: ProviderError, retry: number): Warning {
  return { type: "retry_start", error, retry, maxRetries: 30, delayMs: 2000 };
}

function about(id: string, tool: string, update: InquiryUpdate): TurnUpdate {
  return { type: "inquiry_update", inquiryId: id as InquiryId, tool, update }; // As the record has it.
}

/** A view, and all that it shows. */
function createView({ isVerbose = false } = {}) {
  const shown: string[] = [];
  const statusTimes: (number | undefined)[] = [];
  const clock = new FakeClock();
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
      set: (text, from) => {
        shown.push(`status ${text}`);
        statusTimes.push(from);
      },
      clear: () => shown.push("status cleared"),
      resume: () => shown.push("status back"),
    },
    clock,
    model: "test/scripted",
    tools: new Map(),
    showsReasoning: true,
    showsCalls: true,
    isStructured: false,
    isVerbose,
    isPlain: false,
  });
  const warnings = () => shown.filter((line) => line.startsWith("warning"));
  return { view, shown, statusTimes, warnings, clock };
}
