import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import {
  answered,
  at,
  cancelled,
  chatRequest,
  closed,
  inquiry,
  message,
  permission,
  reasoning,
  REASONS,
  replyFile,
  replySources,
  toolCall,
  toolResult,
  toolStep,
  turnStart,
} from "../../record/conversation/events.fixture.ts";
import type { ConversationEvent } from "../../record/conversation/index.ts";
import { renderMarkdown } from "./markdown.ts";

/** The document of one turn, without its title. */
function markdown(...events: readonly ConversationEvent[]): string {
  return renderMarkdown({ turns: [{ index: 0, events }] });
}

function heading(text: string): string {
  return `## ${text} on ${at(0)}`;
}

/** A document of one section with this heading. */
function section(title: string, body: string): string {
  return `${heading(title)}\n\n${body}\n`;
}

describe("a conversation as Markdown", () => {
  test("names the files of a message, and shows none of their data", () => {
    const files = [{ mediaType: "image/png", data: "iVBORw==", filename: "\u001b[31mcat.png" }];
    expect(markdown({ ...chatRequest("What is it?"), files })).toBe(
      section("You", "[image: ␛[31mcat.png, image/png, 4 B]\n\nWhat is it?"),
    );
  });

  test("says which messages were sent while the turn was running", () => {
    expect(markdown({ ...chatRequest("In Rust."), isSteering: true })).toBe(
      section("You", "_Sent while the turn was running._\n\nIn Rust."),
    );
  });

  test("lists the sources of a reply, one per line, whatever they are named", () => {
    const sources = replySources(
      { url: "https://moon.example/", title: "The moon\n- not a source" },
      { title: "Log", filename: "log.txt" },
      {},
    );
    expect(markdown(sources)).toBe(
      section(
        "Sources",
        "- The moon - not a source: https://moon.example/\n- Log: log.txt\n- unnamed",
      ),
    );
  });

  test("names a file of the model, and the command that copies it", () => {
    expect(markdown(replyFile(900))).toBe(
      section(
        "File",
        "File: image/png, 900 B. To copy it: jp conversation file 5555555555555555 -o …",
      ),
    );
  });

  test("shows the finished steps of a tool, with their results", () => {
    expect(markdown(toolStep("call_1", "pay\u001b", { receipt: "```" }))).toBe(
      section(
        "Tool Step",
        '````json\n{\n  "name": "pay\\u001b",\n  "result": {\n    "receipt": "```"\n  }\n}\n````',
      ),
    );
  });

  test("has its title and every event with content, oldest first", () => {
    const document = renderMarkdown({
      title: "Release 1.2",
      turns: [
        { index: 0, events: [turnStart(), chatRequest("Publish it."), reasoning("Hm.")] },
        {
          index: 1,
          events: [
            turnStart(),
            { ...chatRequest("Again."), author: "Ada" },
            toolCall("call_1", "publish", { tag: "next" }),
            permission("call_1"),
            inquiry("call_1.go.1", { context: "-a\n+b" }),
            answered("call_1.go.1"),
            toolResult("call_1", "No.\n", true),
            message("Done."),
          ],
        },
      ],
    });
    expect(document.split("\n\n")).toEqual([
      "# Release 1.2",
      heading("You"),
      "Publish it.",
      heading("Assistant (reasoning)"),
      "Hm.",
      heading("Ada"),
      "Again.",
      heading("Tool Call Request"),
      '```json\n{\n  "id": "call_1",\n  "name": "publish",\n  "arguments": {\n    "tag": "next"\n  }\n}\n```',
      heading("Permission"),
      "a_tool approved by user (tty)",
      heading("Inquiry Request (a_tool)"),
      "```\n-a\n+b\n```",
      "Go on?",
      heading("Inquiry Response"),
      "Answer: true",
      heading("Tool Call **Error**"),
      "```\nNo.\n```",
      heading("Assistant"),
      "Done.\n",
    ]);
  });

  test("distinguishes results from errors, and shows structured answers as JSON", () => {
    const structured: ConversationEvent = {
      type: "chat_response",
      timestamp: at(0),
      content: { type: "structured", data: { ok: true } },
    };
    expect([markdown(toolResult("call_1")), markdown(structured)]).toEqual([
      section("Tool Call Result", "```\ndone\n```"),
      section("Assistant (structured)", '```json\n{\n  "ok": true\n}\n```'),
    ]);
  });

  test("leaves out reasoning that only carries a signature", () => {
    expect(markdown(reasoning(" \n"), message("Hi."))).toBe(section("Assistant", "Hi."));
  });

  test("gives the reason of a permission", () => {
    expect(markdown({ ...permission("call_1"), decision: "denied", reason: "not today" })).toBe(
      section("Permission", "a_tool denied by user (tty): not today"),
    );
  });

  test("puts a fence around a result that nothing inside can close", () => {
    expect(markdown(toolResult("call_1", "```sh\nls\n```\n`````"))).toBe(
      section("Tool Call Result", "``````\n```sh\nls\n```\n`````\n``````"),
    );
  });
});

describe("the outcome of a question in Markdown", () => {
  test("is its answer, in JSON", () => {
    verifies("082/markdown/answered-line");
    expect([true, "next", 3, null, ["a"]].map((value) => markdown(answered("a", value)))).toEqual(
      ["true", '"next"', "3", "null", '["a"]'].map((value) =>
        section("Inquiry Response", `Answer: ${value}`),
      ),
    );
  });

  test("is a placeholder if the answer is redacted", () => {
    verifies("082/markdown/redacted-line", "082/reader/every-reader-handles-all-outcomes");
    expect(markdown(closed("a", { outcome: "redacted" }))).toBe(
      section("Inquiry Response", "Answer: <redacted>"),
    );
  });

  test.each(REASONS)("is the tag of its reason if it was cancelled: %s", (reason) => {
    verifies("082/markdown/cancelled-line", "082/reader/every-reader-handles-all-outcomes");
    expect(markdown(cancelled("a", reason))).toBe(
      section("Inquiry Response", `Cancelled (${reason})`),
    );
  });

  test("is the recorded tag if the reason is unknown", () => {
    verifies("082/markdown/unknown-reason-shown-verbatim");
    expect(markdown(cancelled("a", { unknown: "Solar-Flare 7" }))).toBe(
      section("Inquiry Response", "Cancelled (Solar-Flare 7)"),
    );
  });

  test("accepts reasons it does not know", () => {
    verifies("082/markdown/new-reason-needs-no-code");
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z][a-z_]{0,20}$/), (tag) => {
        expect(markdown(cancelled("a", { unknown: tag }))).toBe(
          section("Inquiry Response", `Cancelled (${tag})`),
        );
      }),
    );
  });
});

test("nothing in a document can move the cursor or break a heading", () => {
  const evil = "a\x1b[2J\x9b31m\u202e\rb";
  const shown = "a␛[2J<U+009B>31m<U+202E>␍b";
  const line = "a␛[2J<U+009B>31m<U+202E> b";
  const request = { ...chatRequest(`${evil}\nsecond line`), author: evil };
  const asked = inquiry("a", { text: evil, context: evil });
  const source = { source: "tool", name: `${evil}\n# forged` } as const;
  expect([
    renderMarkdown({ title: `${evil}\n# forged`, turns: [] }),
    markdown(request),
    markdown({ ...asked, source }),
    markdown(toolResult("a", evil)),
    markdown(message(evil)),
    markdown(cancelled("a", { unknown: `${evil}\n# forged` })),
  ]).toEqual([
    `# ${line} # forged\n`,
    section(line, `${shown}\nsecond line`),
    section(`Inquiry Request (${line} # forged)`, `\`\`\`\n${shown}\n\`\`\`\n\n${shown}`),
    section("Tool Call Result", `\`\`\`\n${shown}\n\`\`\``),
    section("Assistant", shown),
    section("Inquiry Response", `Cancelled (${line} # forged)`),
  ]);
});
