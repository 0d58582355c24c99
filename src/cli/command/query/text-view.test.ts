import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/conformance/manifest.ts";
import { counters } from "../../../../test/security/threats.ts";
import type { TurnUpdate } from "../../../core/agent/index.ts";
import { parseConfigOrThrow, resolveTools } from "../../../settings/config/index.ts";
import {
  answered,
  closed,
  decisionVoid,
  inquiry,
  message as reply,
  permission,
  permissionRequest,
  replyFile,
  replySources,
  toolCall,
  toolResult,
} from "../../../record/conversation/events.fixture.ts";
import type { ConversationEvent, Decider, InquiryId } from "../../../record/conversation/index.ts";
import type { InquiryUpdate } from "../../../core/answer-model/index.ts";
import { ProviderError } from "../../../reach/provider/index.ts";
import { plain } from "../../../surfaces/render/index.ts";
import { FakeClock } from "../../../testing/index.ts";
import type { JsonObject } from "../../../util/index.ts";
import { TextView, type TextViewOptions } from "./text-view.ts";
import { viewSettings } from "./view-settings.ts";

type Style = Parameters<typeof viewSettings>[0];

function toolsNamed(tools: JsonObject) {
  return resolveTools(parseConfigOrThrow("test", { conversation: { tools } }));
}

function plainTools(...names: readonly string[]) {
  return toolsNamed(Object.fromEntries(names.map((name) => [name, { source: "builtin" }])));
}

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

test("the sources of a reply are listed after it", async () => {
  const { view, shown } = createView();
  await view.load();
  view.observe({ type: "message_delta", text: "Rock." });
  view.observe({ type: "event", event: reply("Rock.") });
  const sources = replySources({ url: "https://moon.example/", title: "The moon" });
  view.observe({ type: "event", event: sources });
  await view.end({ type: "done", reason: "stop" });
  expect(shown.filter((line) => !line.startsWith("status")).map((line) => line.trim())).toEqual([
    "Rock.",
    "Sources:",
    "- The moon: https://moon.example/",
  ]);
});

test("a file of the model is named after the text before it, with the command that copies it", async () => {
  const { view, shown } = createView();
  await view.load();
  view.observe({ type: "message_delta", text: "Look." });
  view.observe({ type: "event", event: reply("Look.") });
  view.observe({ type: "event", event: replyFile(12_345) });
  await view.end({ type: "done", reason: "stop" });
  expect(shown.filter((line) => !line.startsWith("status")).map((line) => line.trim())).toEqual([
    "Look.",
    "File: image/png, 12 kB. To copy it: jp conversation file 5555555555555555 -o …",
  ]);
});

test("a reply that ends while a prompt is open is printed before the prompt goes on", async () => {
  const { view, shown } = createView();
  await view.load();
  view.observe({ type: "message_delta", text: "The beginning of it" });
  await view.aside(async (endReply) => {
    view.observe({ type: "message_delta", text: " and more" });
    await endReply();
    view.observe({ type: "message_delta", text: "The next." });
    shown.push("asked\n");
  });
  await view.end({ type: "done", reason: "stop" });
  const text = shown.filter((line) => !line.startsWith("status")).join("");
  expect(text).toBe("The beginning of\nit and more\nasked\nThe next.\n");
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

test("the status line counts the time of a call since it was permitted", () => {
  const { view, clock, statusTimes } = createView();
  view.observe({ type: "event", event: toolCall("call_1", "asker") });
  clock.advance(60_000);
  view.observe({ type: "event", event: permission("call_1") });
  expect(statusTimes.at(-1)).toBe(clock.now().getTime());
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

test("a decision that no longer counts changes neither the arguments nor the time of a call", async () => {
  const { view, shown, clock } = createView();
  const request = permissionRequest("call_1");
  const [first, second, third] = ["1", "2", "3"].map((count) => `call_1:run:${count}` as InquiryId); // As the record has them.
  const edited = { decision: "edited", arguments: { to: "b" } } as const;
  const steps: readonly (readonly [number, ConversationEvent])[] = [
    [0, toolCall("call_1", "asker", { to: "a" })],
    [0, { ...request, id: first ?? request.id }],
    [0, { ...permission("call_1"), id: first ?? request.id, ...edited }],
    [0, decisionVoid(first ?? "", "file")],
    [0, { ...request, id: second ?? request.id }],
    [60_000, decisionVoid(second ?? "", "file")],
    [0, { ...request, id: third ?? request.id, action: "deliver" }],
    [60_000, { ...permission("call_1"), id: third ?? request.id, action: "deliver" }],
    [500, toolResult("call_1")],
  ];
  for (const [milliseconds, event] of steps) {
    clock.advance(milliseconds);
    view.observe({ type: "event", event });
  }
  await view.end(undefined);
  expect(shown.filter((line) => line.startsWith("✓"))).toEqual(['✓ asker(to: "a") 0.5s']);
});

test("results are shown in the order of their calls, whichever ends first", async () => {
  const { view, shown } = createView({ tools: plainTools("slow", "quick", "last") });
  const calls = ["slow", "quick", "last"].map((name) => toolCall(name, name));
  const results = ["last", "quick", "slow"].map((id) => toolResult(id, `${id} is done`));
  for (const event of [...calls, ...results]) view.observe({ type: "event", event });
  await view.end(undefined);
  expect(shown.filter((line) => !line.startsWith("status"))).toEqual([
    "✓ slow() 0.0s",
    "  │ slow is done",
    "✓ quick() 0.0s",
    "  │ quick is done",
    "✓ last() 0.0s",
    "  │ last is done",
  ]);
});

test("a result that waits for an earlier call is shown at the end of the turn", async () => {
  const { view, shown } = createView();
  for (const event of [toolCall("a", "a"), toolCall("b", "b"), toolResult("b")]) {
    view.observe({ type: "event", event });
  }
  const before = shown.filter((line) => line.startsWith("✓"));
  await view.end(undefined);
  expect([before, shown.filter((line) => line.startsWith("✓"))]).toEqual([[], ["✓ b() 0.0s"]]);
});

test("a tool that style.hidden hides is not named in the status line", () => {
  const style = { hidden: true };
  const tools = toolsNamed({ secret: { source: "builtin", style }, other: { source: "builtin" } });
  const { view, shown } = createView({ tools });
  view.observe({ type: "tool_call_start", id: "call_1", name: "secret" });
  view.observe({ type: "event", event: toolCall("call_1", "secret") });
  view.observe({ type: "tool_progress", toolCallId: "call_1", tool: "secret", message: "step 1" });
  view.observe(about("a.q.1", "secret", { type: "asked", model: "test/small" }));
  view.observe({ type: "event", event: answered("a.q.1") });
  view.observe({ type: "event", event: toolCall("call_2", "other") });
  expect(shown.filter((line) => line !== "status undefined")).toEqual([
    "status Waiting for test/small to answer a question",
    "status other",
  ]);
});

test("the progress of a tool is shown with the time since that tool was called", () => {
  const { view, shown, clock, statusTimes } = createView();
  const start = clock.now().getTime();
  const say = (toolCallId: string, tool: string, message: string) =>
    view.observe({ type: "tool_progress", toolCallId, tool, message });
  view.observe({ type: "event", event: toolCall("call_1", "build") });
  clock.advance(2000);
  view.observe({ type: "event", event: toolCall("call_2", "test") });
  clock.advance(3000);
  say("call_1", "build", "step 1");
  say("call_2", "test", "step 1");
  clock.advance(3000);
  say("call_1", "build", "step 2");
  view.observe({ type: "event", event: toolResult("call_1") });
  const statuses = shown.filter((line) => /^status (build|test)/.test(line));
  expect(statuses.map((line, index) => [line, (statusTimes[index] ?? 0) - start])).toEqual([
    ["status build", 0],
    ["status build, test", 0],
    ["status build: step 1", 0],
    ["status test: step 1", 2000],
    ["status build: step 2", 0],
    ["status test", 2000],
  ]);
});

describe("a question of the assistant", () => {
  const style = { hidden: true };
  const tools = toolsNamed({ ask_user: { source: "builtin", style } });
  const show = async (...events: readonly ConversationEvent[]) => {
    const { view, shown } = createView({ tools });
    for (const event of events) view.observe({ type: "event", event });
    await view.end(undefined);
    return shown.filter((line) => !line.startsWith("status"));
  };
  const call = toolCall("call_1", "ask_user", { quest: 1 });

  test("is reported if its call is invalid", async () => {
    expect(await show(call, toolResult("call_1", "`question`: missing", true))).toEqual([
      "✗ The assistant tried to ask you something, but its question is invalid.",
      "  │ `question`: missing",
    ]);
  });

  test("leaves no line of its call otherwise", async () => {
    const asked = { ...inquiry("call_1.q.1"), toolCallId: "call_1" };
    const answer = answered("call_1.q.1");
    expect([
      await show(call, toolResult("call_1", "yes")),
      await show(call, asked, answer, toolResult("call_1", "no", true)),
    ]).toEqual([[], []]);
  });
});

function person(channel: string) {
  return { kind: "user", channel } as const;
}

describe("a change to a file", () => {
  const id = "call_1.apply_changes.1" as InquiryId; // As the record has it.
  const args = { path: "a.py", patterns: [{ old: "x = 1", new: "x = 2" }] };
  const call = toolCall("call_1", "fs_modify_file", args);
  const context = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n";
  const asked = {
    ...inquiry(id, { text: "Apply these changes to a.py?", context, exclusive: true }),
    toolCallId: "call_1",
    questionId: "apply_changes",
    origin: { type: "builtin" },
  } as const;
  const DIFF = ["  @@ -1 +1 @@", "  -x = 1", "  +x = 2"];
  const remembered = { kind: "remembered", from: "call_0.apply_changes.1" as InquiryId } as const;
  const tools = plainTools("fs_modify_file");

  /** Without what the prompt prints itself. */
  async function show(
    response: ConversationEvent,
    { isShown = false, result = toolResult("call_1", "Changed a.py: 1 replacement.") } = {},
  ) {
    const { view, shown } = createView({ tools });
    const events = [call, asked, response, result];
    for (const event of events.slice(0, 2)) view.observe({ type: "event", event });
    if (isShown) view.showCall({ tool: "fs_modify_file", arguments: args, inquiryId: id });
    for (const event of events.slice(2)) view.observe({ type: "event", event });
    await view.end(undefined);
    return shown.filter((line) => !line.startsWith("status"));
  }

  const answer = (said: boolean, answeredBy: Decider) =>
    closed(id, { outcome: "answered", answer: said, answeredBy });

  test("is not shown again after its prompt, whatever the answer", async () => {
    expect([
      await show(answer(true, person("terminal")), { isShown: true }),
      await show(answer(false, person("terminal")), { isShown: true }),
      await show(closed(id, { outcome: "cancelled", reason: "user" }), { isShown: true }),
    ]).toEqual([[], [], []]);
  });

  test("is shown whole if an earlier answer lets it pass, once", async () => {
    counters("T-TERM-9");
    expect(await show(answer(true, remembered))).toEqual([
      "✓ Edit a.py +1 −1 0.0s",
      ...DIFF,
      "  → yes (you said so earlier in this turn)",
    ]);
  });

  test("that is declined has no tick", async () => {
    expect([
      await show(answer(false, person("desk"))),
      await show(answer(false, person("desk")), { isShown: true }),
    ]).toEqual([
      ["✗ Edit a.py +1 −1 not applied", ...DIFF, "  → no (you, via desk)"],
      ["✗ Edit a.py +1 −1 not applied", "  → no (you, via desk)"],
    ]);
  });

  test("that fails after a yes says why", async () => {
    const result = toolResult("call_1", "a.py has changed.", true);
    expect(await show(answer(true, person("terminal")), { isShown: true, result })).toEqual([
      "✗ Edit a.py +1 −1 0.0s",
      "  → yes (you, via terminal)",
      "  │ a.py has changed.",
    ]);
  });
});
/** Everything but the status line, as it is on the screen. */
const think = async (act: (view: TextView) => void, isPlain = false) => {
  const { view, shown, clock } = createView({ isPlain });
  await view.load();
  view.observe({ type: "cycle_start", cycle: 1 });
  for (const piece of ["First the files, ", "then the tests."]) {
    clock.advance(6000);
    view.observe({ type: "reasoning_delta", text: piece });
    act(view);
  }
  view.observe({ type: "message_delta", text: "Hello." });
  act(view);
  await view.end(undefined);
  return shown.filter((line) => !line.startsWith("status")).join("");
};

describe("reasoning", () => {
  const text = "First the files, then\nthe *tests*, and not the other way round.\n\nDone.";
  const style = { reasoning: { display: "full" as const } };
  const show = async (options: Parameters<typeof createView>[0]) => {
    const { view, shown } = createView({ style, ...options });
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
    const { view, shown } = createView({ style });
    view.observe({ type: "reasoning_delta", text: "First the" });
    view.observe({ type: "notice", message: "Careful." });
    view.observe({ type: "reasoning_delta", text: " files" });
    const printed = shown.filter((line) => !line.startsWith("status"));
    expect(printed.join("|")).toBe("│ |First |the|\n|warning: Careful.|│ | ");
  });

  describe("that is folded", () => {
    test("is one line with its time and length", async () => {
      expect(await think(() => {})).toBe("Thought for 12 s · 6 wordsHello.\n");
      expect(await think(() => {}, true)).toBe("Thought for 12 s, 6 wordsHello.\n");
    });

    test("is opened by a key while it arrives, with what was folded", async () => {
      let presses = 0;
      const opened = await think((view) => {
        if (presses === 0) view.expand();
        presses += 1;
      });
      expect(opened).toBe("│ First the files, then the tests.\nHello.\n");
    });

    test("is opened by a key afterwards, and stays open", async () => {
      let updates = 0;
      const opened = await think((view) => {
        updates += 1;
        if (updates === 3) view.expand();
      });
      expect(opened).toBe("Thought for 12 s · 6 words│ First the files, then the tests.\nHello.\n");
    });

    test("again, after all of it was shown, leaves no line about its length", async () => {
      let updates = 0;
      const opened = await think((view) => {
        updates += 1;
        if (updates === 2) {
          view.expand();
          view.expand();
        }
      });
      expect(opened).toBe("│ First the files, then the tests.\nHello.\n");
    });
  });
});

describe("below the output, the status line while a reply streams", () => {
  test("names the model, counts tokens, and says how long nothing has come", async () => {
    const { view, details, clock } = createView({ isBelow: true });
    await view.load();
    view.observe({ type: "cycle_start", cycle: 1 });
    view.observe({ type: "message_delta", text: "x".repeat(400) });
    const first = details();
    clock.advance(8000);
    const stalled = details();
    const usage = { output: 90 };
    view.observe({ type: "response_end", reason: "tool_calls", usage });
    view.observe({ type: "message_delta", text: "four" });
    expect([first, stalled, details()]).toEqual([
      "test/scripted · ~100 tokens",
      "test/scripted · ~100 tokens · nothing for 8 s",
      "test/scripted · ~91 tokens",
    ]);
    await view.end(undefined);
  });

  test("ends with the turn, also if the rest of the reply waited for a prompt to close", async () => {
    const { view, details } = createView({ isBelow: true });
    await view.load();
    view.observe({ type: "cycle_start", cycle: 1 });
    const { promise: isClosed, resolve: close } = Promise.withResolvers<void>();
    const { promise: isOpen, resolve: open } = Promise.withResolvers<void>();
    const prompt = view.aside(() => {
      open();
      return isClosed;
    });
    await isOpen;
    view.observe({ type: "message_delta", text: "the rest" });
    const ended = view.end(undefined);
    close();
    await Promise.all([prompt, ended]);
    expect(details()).toBe("");
  });

  test("names the key that shows reasoning until nothing comes, which matters more then", async () => {
    const { view, details, clock } = createView({ isBelow: true });
    await view.load();
    view.observe({ type: "cycle_start", cycle: 1 });
    view.observe({ type: "reasoning_delta", text: "x".repeat(400) });
    const first = details();
    clock.advance(8000);
    expect([first, details()]).toEqual([
      "test/scripted thinks · ~100 tokens · Ctrl-O shows it",
      "test/scripted thinks · ~100 tokens · nothing for 8 s",
    ]);
    await view.end(undefined);
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

function runCommand(style: JsonObject, shortened?: { lines: readonly string[] }) {
  const tools = resolveTools(
    parseConfigOrThrow("test", {
      conversation: { tools: { shell_run: { source: "builtin", style } } },
    }),
  );
  const created = createView({ tools, ...(shortened && { shortened }) });
  created.view.observe({ type: "event", event: toolCall("call_1", "shell_run") });
  const result = toolResult("call_1", "one\ntwo\nthree\nfour\n[Exit status 0.]");
  created.view.observe({ type: "event", event: result });
  return { ...created, printed: () => created.shown.filter((text) => !text.startsWith("status")) };
}

describe("a result of jp's own tools", () => {
  const SHORT = ["✓ shell_run() 0.0s", "  │ … 1 more line", "  │ two", "  │ three", "  │ four"];

  test("is short, unless the config says how many lines to show", () => {
    expect([runCommand({}).printed(), runCommand({ inline_results: "full" }).printed()]).toEqual([
      SHORT,
      [SHORT[0], ...["one", "two", "three", "four"].map((line) => `  │ ${line}`)],
    ]);
  });

  test("that was shortened is shown whole by a key, once; then the key is for reasoning", () => {
    const shortened = { lines: [] };
    const { view, shown, printed } = runCommand({}, shortened);
    const short = [...printed()];
    shown.length = 0;
    view.expand();
    view.expand();
    expect([short[1], printed(), shortened]).toEqual([
      "  │ … 1 more line · Ctrl-O shows all",
      [SHORT[0], ...["one", "two", "three", "four"].map((line) => `  │ ${line}`)],
      { lines: [] },
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
    ["timer", "Thought for 1 s · 5 words"],
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
  isBelow = false,
  shortened,
}: Partial<
  Pick<TextViewOptions, "isVerbose" | "isStructured" | "isPlain" | "tools" | "shortened">
> & {
  readonly noticeWidth?: number;
  readonly style?: Style;
  readonly isBelow?: boolean;
} = {}) {
  let status = { text: "", details: () => "" };
  const shown: string[] = [];
  const statusTimes: (number | undefined)[] = [];
  const clock = new FakeClock();
  const view = new TextView({
    ...(shortened && { shortened }),
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
      share: () => {},
      flush: () => {},
    },
    status: {
      isBelow,
      set: (text, from, { details: given = () => "" } = {}) => {
        status = { text: text ?? "", details: given };
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
  const details = () => `${status.text}${status.details()}`;
  return { view, shown, statusTimes, warnings, details, clock };
}
