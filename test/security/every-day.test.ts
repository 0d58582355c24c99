import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/util/index.ts";
import { ModelServer } from "../cli/model-server.ts";
import { queryProject } from "../cli/query-project.ts";
import { call, message, request, result, time, turnStart } from "../cli/records.ts";
import { Screen } from "../cli/screen.ts";
import type { Project } from "../cli/support.ts";
import { foreignIn, HOSTILE, LONG } from "./hostile.ts";
import { counters } from "./threats.ts";

function usage(count: number) {
  return { input: count, output: count, cost: count, requests: count };
}

/** A conversation with hostile text in what records have besides turns: usage, compactions, replaced turns, labels. */
function placeHostile(project: Project) {
  const compaction = { type: "compaction", timestamp: time(9), from_turn: 0 };
  const placed = project.place({
    second: 0,
    title: LONG,
    metadata: { labels: { [HOSTILE]: LONG, __proto__x: "y" } },
    config: { conversation: { attachments: [HOSTILE, `cmd:${HOSTILE}`] } },
    events: [
      turnStart(0),
      request(1, LONG),
      call(2, "call_1", HOSTILE, { a: HOSTILE }),
      { ...result(3, "call_1", HOSTILE), blocks: [{ type: "resource_link", uri: HOSTILE }] },
      message(4, LONG),
      { timestamp: time(5), type: "token_usage", model: HOSTILE, purpose: HOSTILE, ...usage(9e15) },
      {
        timestamp: time(5),
        type: "token_usage",
        model: "__proto__",
        purpose: "reply",
        ...usage(9e15),
      },
      { timestamp: time(5), type: "token_usage", model: "m", purpose: "reply", ...usage(1e308) },
      turnStart(6),
      { ...request(7, HOSTILE), replaces: true },
      message(8, HOSTILE),
      { ...compaction, to_turn: 9e15, summary: { summary: HOSTILE } },
      { ...compaction, to_turn: -5, reasoning: "strip" },
    ] as JsonObject[],
  });
  project.activate(placed);
  return placed;
}

const COMMANDS = [
  ["usage"],
  ["usage", "--by", "conversation"],
  ["usage", "--from", HOSTILE],
  ["conversation", "show"],
  ["conversation", "ls", "--label", HOSTILE],
  ["conversation", "ls", "--from", HOSTILE],
  ["conversation", "print", "--full"],
  ["conversation", "compact", "--dry-run"],
  ["conversation", "label", "add", HOSTILE],
  ["attachment", "ls"],
  ["attachment", "print", HOSTILE.replaceAll("/", "")],
  ["query", "--show-prompt", "--replay"],
  ["query", "--show-prompt", "--fork", "--", "one"],
  ["resume", `${HOSTILE}?`],
  ["mcp", "add", HOSTILE, "x"],
  ["mcp", "add", "a", `http://${HOSTILE}`],
  ["mcp", "rm", HOSTILE],
];

describe("hostile text in a record, or on the command line,", () => {
  test("never reaches the terminal raw in any command that shows it", async () => {
    counters("T-TERM-5");
    const project = queryProject({ config: 'assistant.model.id = "anthropic/some-model"' });
    placeHostile(project);
    const found: string[] = [];
    for (const words of COMMANDS) {
      const { bytes } = await new Screen(project, words).end();
      const foreign = foreignIn(bytes) ?? /internal error|Infinity|NaN/.exec(bytes)?.[0];
      if (foreign !== undefined) found.push(`${words.slice(0, 2).join(" ")}: ${foreign}`);
    }
    expect(found).toEqual([]);
  });

  test("never reaches the terminal raw in the picker and in a session, whose notices stay short", async () => {
    counters("T-TERM-5");
    await using server = await ModelServer.start([HOSTILE]);
    const project = queryProject({ server });
    placeHostile(project);
    const screen = new Screen(project, ["resume"]);
    await screen.answer(
      ["Which conversation?", "\r"],
      ["/new starts another.", "/cost\r"],
      ["__proto__", "/title\r"],
      ["> /title", "/attach\r"],
      ["> /attach", "/replay\r"],
    );
    await screen.untilShown((lines) => /Asking again(.*\n)*> ?$/m.test(lines.join("\n")));
    screen.type("\u0004"); // Ctrl-D
    const { bytes, lines } = await screen.end();
    expect([foreignIn(bytes), lines.filter((line) => line.includes("zzz")).length]).toEqual([
      null,
      expect.toSatisfy((count: number) => count < 10),
    ]);
  });
});

/** A clone whose last message mentions a file of the user, and what the editor saw of that. */
async function sendEdited(mention: (file: string) => string) {
  const server = await ModelServer.start(["Hi."]);
  const project = queryProject({ server });
  writeFileSync(path.join(project.home, "diary.txt"), "dear diary");
  const text = mention(path.join(project.home, "diary.txt"));
  const events = [turnStart(0), request(1, text)];
  const { id } = project.place({ second: 0, title: "T", config: {}, events });
  const variables = project.editor('echo " now" >> "$1"');
  const screen = new Screen(project, ["query", "--id", id], { variables });
  await screen.answer(["What now?", "edit"], ["❯ Edit", "\r"]);
  const { status } = await screen.end();
  const sent = JSON.stringify(server.requests[0]?.messages);
  await server[Symbol.asyncDispose]();
  return { status, hasMention: sent.includes("diary.txt"), isRead: sent.includes("dear diary") };
}

describe("the message of a cloned turn without a reply", () => {
  test.each([
    ["attaches nothing that it mentions", (file: string) => `See @${file}`],
    ["is not read from a file", (file: string) => `@${file}`],
  ])("reads no file when it is edited and sent: it %s", async (_does, mention) => {
    counters("T-ATT-3");
    expect(await sendEdited(mention)).toEqual({ status: 0, hasMention: true, isRead: false });
  });
});
