import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/conformance/manifest.ts";
import type { TurnUpdate } from "../../../agent/index.ts";
import { parseConfigOrThrow, resolveTools } from "../../../config/index.ts";
import {
  answered,
  inquiry,
  permission,
  permissionRequest,
  toolCall,
  toolResult,
} from "../../../conversation/events.fixture.ts";
import type { ConversationEvent, InquiryId } from "../../../conversation/index.ts";
import type { InquiryUpdate } from "../../../answer-model/index.ts";
import { ProviderError } from "../../../provider/index.ts";
import { plain } from "../../../render/index.ts";
import { FakeClock } from "../../../testing/index.ts";
import type { JsonObject } from "../../../util/index.ts";
import { TextView, type TextViewOptions } from "./text-view.ts";
import { viewSettings } from "./view-settings.ts";

type Style = Parameters<typeof viewSettings>[0];

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

test("the time of a call is without the time that it waited for people", async () => {
  const { view, shown, clock } = createView();
  const steps: readonly (readonly [number, ConversationEvent])[] = [
    [0, toolCall("call_1", "asker")],
    [60_000, permission("call_1")],
    [1000, { ...inquiry("call_1.a.1"), toolCallId: "call_1" }],
    [0, { ...inquiry("call_1.b.1"), toolCallId: "call_1" }],
    [60_000, answered("call_1.a.1")],
    [60_000, answered("call_1.b.1")],
    [500, permissionRequest("call_1", "deliver")],
    [60_000, { ...permission("call_1"), action: "deliver" }],
    [0, toolResult("call_1")],
  ];
  for (const [milliseconds, event] of steps) {
    clock.advance(milliseconds);
    view.observe({ type: "event", event });
  }
  await view.end(undefined);
  expect(shown.filter((line) => line.startsWith("✓"))).toEqual(["✓ asker() 1.5s"]);
});

describe("reasoning", () => {
  const text = "First the files, then\nthe *tests*, and not the other way round.\n\nDone.";
  const show = async (options: Parameters<typeof createView>[0]) => {
    const { view, shown } = createView(options);
    for (const piece of text.match(/.{1,7}/gs) ?? []) {
      view.observe({ type: "reasoning_delta", text: piece });
    }
    view.observe({ type: "message_delta", text: "Hello." });
    await view.end(undefined);
    return shown.filter((line) => !line.startsWith("status")).join("");
  };

  test("has a bar at the start of each line, also without colours", async () => {
    expect(await show({ noticeWidth: 30 })).toBe(
      "│ First the files, then\n│ the *tests*, and not the \n│ other way round.\n│ \n│ Done.\nHello.\n",
    );
  });

  test("has a word above it and a blank line below it for screen readers", async () => {
    expect(await show({ isPlain: true })).toBe(`Reasoning:\n${text}\n\nHello.\n`);
  });

  test("continues on a new line after a warning", () => {
    const { view, shown } = createView();
    view.observe({ type: "reasoning_delta", text: "First the" });
    view.observe({ type: "notice", message: "Careful." });
    view.observe({ type: "reasoning_delta", text: " files" });
    const printed = shown.filter((line) => !line.startsWith("status"));
    expect(printed.join("|")).toBe("│ |First |the|\n|warning: Careful.|│ | ");
  });
});

const toolsWith = (style: JsonObject) =>
  resolveTools(
    parseConfigOrThrow("test", {
      conversation: {
        tools: {
          tell_user: {
            source: "builtin",
            style: {
              header: "off",
              inline_results: { user: "chat", assistant: "off" },
              ...style,
            },
          },
        },
      },
    }),
  );

describe("what a tool says to the user", () => {
  const heading = "# Half done\n\nFourteen *files*.";
  const blocks = [
    {
      type: "text",
      text: heading,
      mimeType: "text/markdown",
      annotations: { audience: ["user"] },
    },
    { type: "text", text: "Shown.", annotations: { audience: ["assistant"] } },
  ] as const;
  const result = { ...toolResult("call_1", "Shown."), blocks };
  const tell = (options: Parameters<typeof createView>[0]) => {
    const created = createView(options);
    created.view.observe({ type: "tool_call_start", id: "call_1", name: "tell_user" });
    created.view.observe({ type: "event", event: toolCall("call_1", "tell_user") });
    created.view.observe({ type: "event", event: result });
    return created;
  };

  test("is shown as the assistant's words, without a line for the call", async () => {
    verifies("094/view/shown-as-chat");
    const { view, shown } = tell({ tools: toolsWith({}) });
    await view.end(undefined);
    const printed = shown.filter((text) => !text.startsWith("status")).join("");
    expect(printed).toBe("# Half done\n\nFourteen *files*.\n");
  });

  test("is a notice where the output is one document", async () => {
    const { view, shown } = tell({ tools: toolsWith({}), isStructured: true });
    await view.end(undefined);
    expect(shown.filter((text) => !text.startsWith("status"))).toEqual([heading]);
  });

  test("is not shown if the tool is hidden", async () => {
    const { view, shown } = tell({ tools: toolsWith({ hidden: true }) });
    await view.end(undefined);
    expect(shown.filter((text) => !text.startsWith("status"))).toEqual([]);
  });

  test("is part of the result, by whom it is for, if the style says so", async () => {
    verifies("094/style/by-audience");
    const style = { header: true, inline_results: { user: 1, assistant: "full" } };
    const { view, shown } = tell({ tools: toolsWith(style) });
    await view.end(undefined);
    expect(shown.filter((text) => !text.startsWith("status"))).toEqual([
      "✓ tell_user() 0.0s",
      "  │ # Half done",
      "  │ … 1 more line",
      "  │ Shown.",
    ]);
  });
});

test.each([
  [
    "announced with the time that is left",
    4000,
    ["warning: no route. Trying again in 2 s (2/30)."],
  ],
  ["not announced if it has happened meanwhile", 8000, []],
])("a retry that starts while a prompt is open is %s", async (_, openMs, warnings) => {
  const { view, shown, clock } = createView();
  const error = new ProviderError("overloaded", "no route", { isRetryable: true });
  await view.aside(async () => {
    clock.advance(1000);
    view.observe(retryOf(error, 2, 5000));
    clock.advance(openMs - 1000);
  });
  await view.end({ type: "done", reason: "stop" });
  expect(shown.filter((line) => line.startsWith("warning"))).toEqual(warnings);
});

type Warning = Extract<InquiryUpdate, { readonly type: "notice" | "retry_start" }>;

function retryOf(error: ProviderError, retry: number, delayMs = 2000): Warning {
  return { type: "retry_start", error, retry, maxRetries: 30, delayMs };
}

function about(id: string, tool: string, update: InquiryUpdate): TurnUpdate {
  return { type: "inquiry_update", inquiryId: id as InquiryId, tool, update }; // As the record has it.
}

describe("style", () => {
  const reason = async (style: Style) => {
    const { view, shown } = createView({ style });
    for (const text of ["Let me ", "think about it."]) {
      view.observe({ type: "reasoning_delta", text });
    }
    await view.end({ type: "done", reason: "stop" });
    return shown.filter((line) => !/^status (undefined|cleared|back)/.test(line)).join("");
  };

  test.each<[NonNullable<Style["reasoning"]>["display"], string]>([
    ["full", "│ Let me think about it.\n"],
    ["hidden", ""],
    ["static", "Reasoning…\n"],
    ["progress", "status Reasoningstatus Reasoning"],
    ["timer", "status Reasoningstatus Reasoning"],
    [9, "│ Let me th…\n"],
    [{ truncate: { characters: 3 } }, "│ Let…\n"],
    ["summary", "│ Let me think about it.\n"],
  ])("reasoning.display = %j", async (display, shown) => {
    expect(await reason({ reasoning: { display } })).toBe(shown);
  });

  test("the progress of each kind of wait can be hidden, delayed and paced", () => {
    const hidden = { progress: { show: false } };
    const { view, shown } = createView({ style: { streaming: hidden } });
    view.observe({ type: "cycle_start", cycle: 1 });
    view.observe({ type: "tool_call_start", id: "a", name: "deploy" });
    expect(shown).toEqual(["status undefined", "status deploy(…)"]);
    const paced = { progress: { delay_secs: 3, interval_ms: 50 }, preparing: { show: false } };
    expect(viewSettings({ tool_call: paced }).progress).toEqual({
      streaming: { isShown: true },
      preparing: { isShown: false },
      toolCall: { isShown: true, delayMs: 3000, intervalMs: 50 },
    });
  });

  test("lines are no longer than markdown.wrap_width, and code has no colors if code.color says so", () => {
    expect(viewSettings({ markdown: { wrap_width: 40 }, code: { color: false } })).toMatchObject({
      wrapWidth: 40,
      colorsCode: false,
    });
    expect(viewSettings({ markdown: { wrap_width: 0 } }).wrapWidth).toBeUndefined();
  });
});

/** A view, and all that it shows. */
function createView({
  isVerbose = false,
  isStructured = false,
  isPlain = false,
  noticeWidth = 80,
  tools = new Map(),
  style = {},
}: Partial<Pick<TextViewOptions, "isVerbose" | "isStructured" | "isPlain" | "tools">> & {
  readonly noticeWidth?: number;
  readonly style?: Style;
} = {}) {
  const shown: string[] = [];
  const statusTimes: (number | undefined)[] = [];
  const clock = new FakeClock();
  const view = new TextView({
    output: {
      isTerminal: true,
      lineWidth: 80,
      noticeWidth,
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
    tools,
    ...viewSettings(style),
    isStructured,
    isVerbose,
    isPlain,
    hasHyperlinks: false,
  });
  const warnings = () => shown.filter((line) => line.startsWith("warning"));
  return { view, shown, statusTimes, warnings, clock };
}
