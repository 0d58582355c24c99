import stringWidth from "fast-string-width";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { counters } from "../../../test/security/threats.ts";
import {
  answered,
  at,
  cancelled,
  chatRequest,
  closed,
  inquiry,
  message,
  permission,
  permissionRequest,
  reasoning,
  toolCall,
  toolResult,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import type { ConversationEvent } from "../../record/conversation/index.ts";
import { type Paint, plain } from "./style.ts";
import { renderTurn, type TranscriptOptions } from "./transcript.ts";

/** Two days after all events. */
const NOW = new Date(Date.UTC(2026, 0, 4, 4, 0, 0));

const bracketed: Paint = (style, text) => `<${style}>${text}</>`;

function transcript(
  events: readonly ConversationEvent[],
  options: Partial<TranscriptOptions> = {},
): string[] {
  return renderTurn(
    { index: 0, events },
    { paint: plain, now: NOW, width: 80, resultLines: 10, showsReasoning: true, ...options },
  );
}

/** The same without the rule above it. */
function body(events: readonly ConversationEvent[], options?: Partial<TranscriptOptions>) {
  return transcript(events, options).slice(1);
}

function asked(id: string, question: Parameters<typeof inquiry>[1] = {}): ConversationEvent {
  return { ...inquiry(id, question), toolCallId: "call_1" };
}

describe("a turn on the screen", () => {
  test("shows what tell_user says as the assistant's words, and what other tools say as theirs", () => {
    counters("T-PROV-9");
    const said = {
      type: "text",
      text: "Run this.",
      mimeType: "text/markdown",
      annotations: { audience: ["user"] },
    } as const;
    const results = ["tell_user", "fetch"].map((name) =>
      body([toolCall("call_1", name), { ...toolResult("call_1"), blocks: [said] }]),
    );
    expect(results).toEqual([
      ["assistant", "Run this.", ""],
      ["✓ fetch()", "  │ Run this.", ""],
    ]);
  });

  test("starts with a rule, separates messages, and keeps calls and questions together", () => {
    const person = { kind: "user", channel: "terminal", auth: "os_user" } as const;
    const lines = transcript([
      turnStart(),
      chatRequest("Publish it.\nSoon."),
      reasoning("Hm."),
      toolCall("call_1", "publish", { tag: "next", count: 2 }),
      asked("call_1.go.1"),
      closed("call_1.go.1", { outcome: "answered", answer: true, answeredBy: person }),
      toolResult("call_1", "one\n\ntwo\n"),
      toolCall("call_2", "announce"),
      toolResult("call_2", "no", true),
      toolCall("call_3", "wait"),
      message("Done."),
    ]);
    expect(lines).toEqual([
      "── turn 1, 2 days ago ──────────────────────────────────────────────────────────",
      "you",
      "Publish it.",
      "Soon.",
      "",
      "│ Hm.",
      "",
      '✓ publish(tag: "next", count: 2)',
      "  ? a_tool asks: Go on? → yes (you, via terminal)",
      "  │ one",
      "  │ two",
      "✗ announce()",
      "  │ no",
      "… wait()",
      "",
      "assistant",
      "Done.",
      "",
    ]);
  });

  test("says which messages were sent while the turn was running", () => {
    const sent = { ...chatRequest("In Rust."), isSteering: true };
    expect(body([chatRequest("Hi."), sent])).toEqual([
      "you",
      "Hi.",
      "",
      "you (while the turn was running)",
      "In Rust.",
      "",
    ]);
  });

  test("names the author of a request", () => {
    expect(body([{ ...chatRequest("Hi."), author: "Ada" }])).toEqual(["Ada", "Hi.", ""]);
  });

  test("shows a structured answer as JSON", () => {
    const content = { type: "structured", data: { ok: true } } as const;
    expect(body([{ type: "chat_response", timestamp: at(0), content }])).toEqual([
      "assistant",
      "{",
      '  "ok": true',
      "}",
      "",
    ]);
  });

  test("names the files of a message above its text, and shows none of their data", () => {
    const files = [
      { mediaType: "image/png", data: "A".repeat(16_000), filename: "cat\n\u001b[2J.png" },
      { mediaType: "application/pdf", data: "A".repeat(2_000_000) },
      { mediaType: "image/png", data: "https://example.com/dog.png" },
    ];
    expect(body([{ ...chatRequest("What is it?"), files }])).toEqual([
      "you",
      "[image: cat ␛[2J.png, image/png, 12 kB]",
      "[file: application/pdf, 1.5 MB]",
      "[image: image/png, https://example.com/dog.png]",
      "What is it?",
      "",
    ]);
  });

  test("omits reasoning on request, and always if it is empty", () => {
    const events = [reasoning("Hm."), reasoning(" ")];
    expect([body(events), body(events, { showsReasoning: false })]).toEqual([["│ Hm.", ""], []]);
  });

  test("is only its rule without events", () => {
    expect(transcript([], { width: 20 })).toEqual(["── turn 1 ──────────"]);
  });

  test("shows who approved a call before its result", () => {
    const events = [
      toolCall("call_1"),
      permission("call_1"),
      asked("call_1.go.1"),
      answered("call_1.go.1"),
      toolResult("call_1", "done"),
    ];
    expect(body(events)).toEqual([
      "✓ a_tool()",
      "  a_tool approved by user (tty)",
      "  ? a_tool asks: Go on? → yes",
      "  │ done",
      "",
    ]);
  });
});

describe("a question on the screen", () => {
  test.each([
    ["an answer", answered("call_1.go.1", "next"), '"next"'],
    ["a secret answer", closed("call_1.go.1", { outcome: "redacted" }), "<redacted>"],
    ["no answer, and why", cancelled("call_1.go.1", "user"), "cancelled (user)"],
    ["a reason nobody knows", cancelled("call_1.go.1", { unknown: "x" }), "cancelled (x)"],
  ])("takes one line with its end: %s", (_what, response, end) => {
    verifies("082/render/terminal-view-skips-inquiries");
    verifies("082/reader/every-reader-handles-all-outcomes");
    expect(body([inquiry("call_1.go.1"), response])).toEqual([
      `? a_tool asks: Go on? → ${end}`,
      "",
    ]);
  });

  test("cancelled for an unknown reason is shown like any cancelled one", () => {
    verifies("082/reason/unknown-tag-is-opaque");
    const tags = ["solar_flare", "answered", "redacted", "interrupted_by_cat", "USER", ""];
    const shown = tags.map((unknown) =>
      body([toolCall("call_1"), asked("call_1.go.1"), cancelled("call_1.go.1", { unknown })]),
    );
    expect(shown).toEqual(
      tags.map((tag) => ["… a_tool()", `  ? a_tool asks: Go on? → cancelled (${tag})`, ""]),
    );
  });

  test("says so if it has no answer", () => {
    expect(body([inquiry("call_1.go.1")])).toEqual(["? a_tool asks: Go on? → no answer", ""]);
  });

  test("says what the model made of it if a model left it to a person", () => {
    const escalation = {
      ...closed("call_1.go.1", {
        outcome: "answered",
        answer: false,
        answerReason: "Too risky.",
        answeredBy: { kind: "assistant", model: "test/judge" },
      }),
      type: "inquiry_escalation",
    } as const;
    expect(body([inquiry("call_1.go.1"), escalation, answered("call_1.go.1")])).toEqual([
      "? a_tool asks: Go on? → yes",
      '  asked first: no, reason: "Too risky." (assistant, via test/judge)',
      "",
    ]);
  });

  test("is shown on its own in older records, which do not name the call", () => {
    const text = "Apply this patch?\n\n-old\n+new";
    const events = [toolCall("call_1"), inquiry("call_1.go", { text }), answered("call_1.go")];
    expect(body(events)).toEqual(["… a_tool()", "? a_tool asks: Apply this patch? … → yes", ""]);
  });

  test("gets its own answer where ids were used twice", () => {
    const events = [inquiry("a"), answered("a", 1), inquiry("a"), answered("a", 2)];
    expect(body(events)).toEqual(["? a_tool asks: Go on? → 1", "? a_tool asks: Go on? → 2", ""]);
  });
});

test("a question that is too long for a line is wrapped, and its answer follows", () => {
  const text = "Do you really want this to be done, now and for all of the files?";
  expect(body([inquiry("a", { text }), answered("a")], { width: 40 })).toEqual([
    "? a_tool asks: Do you really want this",
    "  to be done, now and for all of the",
    "  files?",
    "  → yes",
    "",
  ]);
});

test("a remembered answer is shown with its full question and context", () => {
  counters("T-TERM-9");
  const context = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+\tnew\u3164";
  const text = `Apply changes to src/${"deep/".repeat(20)}calc.py?`;
  const answeredBy = { kind: "remembered", from: "call_0.apply.1" } as const;
  const lines = body([
    inquiry("a", { text, context }),
    closed("a", { outcome: "answered", answer: true, answeredBy }),
  ]);
  expect([lines.slice(0, 5), lines.slice(5, -2).join(""), lines.at(-2)]).toEqual([
    ["  --- a/x", "  +++ b/x", "  @@ -1 +1 @@", "  -old", "  +⇥   new<U+3164>"],
    expect.stringMatching(/^\? a_tool asks: Apply changes to .*calc\.py\?$/),
    "  → yes (you said so earlier in this turn)",
  ]);
});

describe("a call on the screen", () => {
  test("has its long values shortened, but never a file name", () => {
    counters("T-TERM-9");
    const path = `src/${"deep/".repeat(50)}calc.py`;
    const lines = body([
      toolCall("call_1", "write", { content: "line\n".repeat(50), path }),
      toolResult("call_1", ""),
    ]);
    expect(lines.map((line) => line.trim()).join(" ")).toContain(
      'write(content: "line\\nline…, path:',
    );
    expect(lines.map((line) => line.trim()).join("")).toContain(`"${path}")`);
    expect(lines.every((line) => stringWidth(line) <= 80)).toBe(true);
  });

  test("is shown as it ran and as it was requested if its arguments were edited", () => {
    counters("T-TERM-10");
    const edited = { decision: "edited", arguments: { where: "test" } } as const;
    expect(
      body([
        toolCall("call_1", "deploy", { where: "prod" }),
        { ...permission("call_1"), tool: "deploy", ...edited },
        toolResult("call_1", "done"),
      ]),
    ).toEqual([
      '✓ deploy(where: "test")',
      '  deploy edited by user (tty); the model asked for (where: "prod")',
      "  │ done",
      "",
    ]);
  });

  test("cannot have an argument whose name passes for others", () => {
    const events = [toolCall("call_1", "run", { 'dry: true, "x': 1 }), toolResult("call_1", "")];
    expect(body(events)).toEqual([String.raw`✓ run("dry: true, \"x": 1)`, ""]);
  });
});

describe("a tool's result on the screen", () => {
  const long = Array.from({ length: 5 }, (_, index) => `line ${index}`).join("\n");

  test("shows its first lines, and how many more there are", () => {
    const events = [toolCall("call_1"), toolResult("call_1", long)];
    expect([2, 4, 5].map((resultLines) => body(events, { resultLines }))).toEqual([
      ["✓ a_tool()", "  │ line 0", "  │ line 1", "  │ … 3 more lines", ""],
      [
        "✓ a_tool()",
        "  │ line 0",
        "  │ line 1",
        "  │ line 2",
        "  │ line 3",
        "  │ … 1 more line",
        "",
      ],
      ["✓ a_tool()", "  │ line 0", "  │ line 1", "  │ line 2", "  │ line 3", "  │ line 4", ""],
    ]);
  });

  test("is cut where the screen ends", () => {
    const events = [toolCall("call_1"), toolResult("call_1", "日本語日本語日本語")];
    expect(body(events, { width: 20 })).toEqual(["✓ a_tool()", "  │ 日本語日本語日…", ""]);
  });
});

test("only the program's own words have colours, and none of them spans a line break", () => {
  expect(
    transcript([chatRequest("Hi."), reasoning("a\nb")], { paint: bracketed, width: 30 }),
  ).toEqual([
    "<dim>── turn 1, 2 days ago ────────</>",
    "<bold><green>you</></>",
    "Hi.",
    "",
    "<dim>│ a</>",
    "<dim>│ b</>",
    "",
  ]);
});

test("nothing in a turn can move the cursor or add a line", () => {
  const evil = "a\x1b[2J\x9b31m\u202e\rb\nc";
  const line = "a␛[2J<U+009B>31m<U+202E> b c";
  const block = ["a␛[2J<U+009B>31m<U+202E>␍b", "c"];
  const lines = body(
    [
      { ...chatRequest(evil), author: evil },
      toolCall("call_1", evil, { [evil]: evil }),
      { ...permission("call_1"), tool: evil },
      {
        ...inquiry("a", { text: evil }),
        source: { source: "other", name: evil },
        toolCallId: "call_1",
      },
      cancelled("a", { unknown: evil }),
      toolResult("call_1", evil),
      message(evil),
    ],
    { width: 200 },
  );
  expect(lines.toSorted()).toEqual(
    [
      line,
      ...block,
      "",
      String.raw`○ ${line}("a\u001b[2J\u009b31m\u202e\rb\nc": "a\u001b[2J\u009b31m\u202e\rb\nc") cancelled`,
      `  ? ${line} asks: a␛[2J<U+009B>31m<U+202E> b … → cancelled (${line})`,
      ...block.map((text) => `  │ ${text}`),
      `  ${line} approved by user (tty)`,
      "",
      "assistant",
      ...block,
      "",
    ].toSorted(),
  );
});

describe("a change to a file", () => {
  const args = { path: "a.py", patterns: [{ old: "x = 1", new: "x = 2" }] };
  const lines = Array.from({ length: 20 }, (_, index) => ` line ${index + 1}`);
  const diff = ["@@ -1,21 +1,21 @@", "-x = 1", "+x = 2", ...lines];
  const context = `--- a/a.py\n+++ b/a.py\n${diff.join("\n")}\n`;
  const question = {
    ...inquiry("call_1.apply_changes.1", { text: "Apply these changes to a.py?", context }),
    toolCallId: "call_1",
    questionId: "apply_changes",
    origin: { type: "builtin" },
  } as const;
  const policy: ConversationEvent = {
    ...permission("call_1"),
    decidedBy: { kind: "policy", key: "conversation.tools.fs_modify_file.run" },
  };
  const by = { kind: "user", channel: "terminal", auth: "os_user" } as const;
  const answer = { outcome: "answered", answer: false, note: "later", answeredBy: by } as const;
  const events = [
    toolCall("call_1", "fs_modify_file", args),
    policy,
    question,
    closed("call_1.apply_changes.1", answer),
    toolResult("call_1", "The user declined the changes."),
  ];

  test("is one block: what is changed, the first lines of the diff, and the answer", () => {
    expect(body(events, { resultLines: 3 })).toEqual([
      "✗ Edit a.py +1 −1 not applied",
      "  @@ -1,21 +1,21 @@",
      "  -x = 1",
      "  +x = 2",
      "  … 20 more lines",
      '  → no, note: "later" (you, via terminal)',
      "",
    ]);
  });

  test("is shown whole, with the result, where everything is", () => {
    expect(body(events, { resultLines: Number.POSITIVE_INFINITY })).toEqual([
      "✗ Edit a.py +1 −1 not applied",
      ...diff.map((line) => `  ${line}`),
      '  → no, note: "later" (you, via terminal)',
      "  │ The user declined the changes.",
      "",
    ]);
  });

  test("has a heading for each of several files, with a share of the lines", () => {
    const files = [args, { path: "b.py", content: "one\ntwo\n" }].map((file) => ({ ...file }));
    const second = "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1,2 @@\n+one\n+two\n";
    const both = { ...question, question: { ...question.question, context: context + second } };
    const several = [toolCall("call_1", "fs_edit", { files }), policy, both, ...events.slice(3)];
    expect(body(several, { resultLines: 6 })).toEqual([
      "✗ Edit 2 files +3 −1 not applied",
      "  • Edit a.py +1 −1",
      "    @@ -1,21 +1,21 @@",
      "    -x = 1",
      "    +x = 2",
      "    … 20 more lines",
      "  • Create b.py +2",
      "    +one",
      "    +two",
      '  → no, note: "later" (you, via terminal)',
      "",
    ]);
  });

  test("has a tick if it was applied, and only its title if the call never asked", () => {
    const yes = closed("call_1.apply_changes.1", { ...answer, answer: true });
    const result = toolResult("call_1", "`patterns[0].old` was not found.", true);
    expect([
      body([...events.slice(0, 3), yes, toolResult("call_1")], { resultLines: 1 })[0],
      body([toolCall("call_1", "fs_modify_file", args), policy, result]),
    ]).toEqual([
      "✓ Edit a.py +1 −1",
      [
        "✗ Edit a.py",
        "  a_tool approved by policy (conversation.tools.fs_modify_file.run)",
        "  │ `patterns[0].old` was not found.",
        "",
      ],
    ]);
  });
});

test("a program that failed shows its exit status and its last lines", () => {
  const content = { message: "Tool 'check' execution failed.", status: 1 };
  const output = { stderr: "", stdout: "1 ok\n2 ok\n3 failed\n" };
  const result = toolResult("call_1", JSON.stringify({ ...content, ...output }), true);
  expect(body([toolCall("call_1", "check"), result], { resultLines: 2 })).toEqual([
    "✗ check() exit status 1",
    "  │ … 1 more line",
    "  │ 2 ok",
    "  │ 3 failed",
    "",
  ]);
});

test("a call shows the arguments that one of several people changed and the others approved", () => {
  const request = permissionRequest("call_1");
  const edited = { ...request, arguments: { where: "prod" }, isEdited: true } as const;
  const approved = { ...permission("call_1"), id: request.id };
  const call = toolCall("call_1", "deploy", { where: "test" });
  expect(body([call, edited, approved, toolResult("call_1")])[0]).toBe('✓ deploy(where: "prod")');
});
