import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../mcp/support.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import { queryProject, recordOf, type ScriptedTool } from "./query-project.ts";
import { openSession as open, shows } from "./screen.ts";
import type { Project } from "./support.ts";
import { savedByOriginal } from "../../src/record/conversation/original-record.fixture.ts";
import { laidOut } from "../../src/stores/record-elements.fixture.ts";
import type { JsonObject } from "../../src/util/index.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const ESCAPE = "\u001b";
const TAB = "\t";
const UP = "\u001b[A";

/** Works until there is a file `end`. */
const SLOW: ScriptedTool = {
  name: "slow",
  program: `(() => {
    const wait = () => require("node:fs").existsSync("end") ? process.exit() : setTimeout(wait, 20);
    wait();
    return "";
  })()`,
};
const ASKER: ScriptedTool = {
  name: "asker",
  questions: [{ id: "q", text: "Go on?", answer_type: { type: "boolean" } }],
};
const CALL_SLOW: Reply = { text: "I call it.", calls: [{ name: "slow" }] };

async function start(replies: readonly Reply[], tools: readonly ScriptedTool[] = [SLOW]) {
  const server = await ModelServer.start(replies);
  const project = queryProject({ server, tools });
  return {
    server,
    project,
    endTool: () => writeFileSync(path.join(project.root, "end"), ""),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The messages of the user in the order of the record, with the mark of those for a running turn. */
function said(project: Project): readonly string[] {
  return recordOf(project).entries.flatMap((entry) => {
    const { type, content, steering } = entry as Record<string, unknown>; // As far as it is used.
    return type === "chat_request" ? [`${steering === true ? "~" : ""}${String(content)}`] : [];
  });
}

/** The types of the events between the first call and the end, without decisions and attempts. */
function outline(project: Project): readonly unknown[] {
  const shown = new Set(["turn_start", "chat_request", "tool_call_request", "tool_call_response"]);
  return recordOf(project).entries.flatMap(({ type }) =>
    typeof type === "string" && shown.has(type) ? [type] : [],
  );
}

function drafts({ data }: Project): string {
  const folder = path.join(data, "drafts");
  if (!existsSync(folder)) return "";
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), "utf8"))
    .join("");
}

/** A conversation whose only turn took a message. */
async function steered(replies: readonly Reply[]) {
  const parts = await start([CALL_SLOW, ...replies]);
  const screen = await open(parts.project);
  screen.type("write it\r");
  await shows(screen, /^\S slow /m);
  screen.type("in Rust\r");
  await shows(screen, "  next: in Rust");
  parts.endTool();
  await shows(screen, /> in Rust\n.+\n(.*\n)*> ?$/m);
  return { ...parts, screen };
}

describe("a message typed during a turn of a session", () => {
  test("goes to the model with the next results, and is shown where it was sent", async () => {
    await using parts = await start([CALL_SLOW, "In Rust, then."]);
    const { project, server } = parts;
    const screen = await open(project);
    screen.type("write it\r");
    await shows(screen, /^\S slow /m);
    screen.type("in Ru");
    await shows(screen, /^  Enter sends it with the next results · Tab queues it for the end$/m);
    screen.type("st\r");
    await shows(screen, "  next: in Rust (↑ takes it back)");
    await until(() => drafts(project).includes("in Rust"));
    parts.endTool();
    await shows(screen, /> in Rust\nIn Rust, then\.\n(.*\n)*> ?$/m);
    await until(() => drafts(project) === "");
    screen.type(UP);
    await shows(screen, /^> in Rust$/m);
    screen.type(`${CTRL_C}${CTRL_D}`);
    await screen.end();
    expect([said(project), outline(project), server.lastMessages.at(-1)]).toEqual([
      ["write it", "~in Rust"],
      ["turn_start", "chat_request", "tool_call_request", "tool_call_response", "chat_request"],
      "in Rust",
    ]);
  });

  test("is queued for the end with Tab, and Up takes back the last one until it is sent", async () => {
    await using parts = await start([CALL_SLOW, "In Go.", "Tested."]);
    const { project } = parts;
    const screen = await open(project);
    screen.type("write it\r");
    await shows(screen, /^\S slow /m);
    screen.type(`and test it${TAB}`);
    await shows(screen, "  queued: and test it (↑ takes it back)");
    screen.type("in Rust\r");
    await shows(screen, "  queued: and test it\n  next: in Rust (↑ takes it back)");
    screen.type(UP);
    await shows(screen, /^» in Rust$/m);
    screen.type("\u0015in Go\r");
    await shows(screen, "  next: in Go");
    parts.endTool();
    await shows(screen, /> in Go\nIn Go\.\n\n> and test it\nTested\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    expect(said(project)).toEqual(["write it", "~in Go", "and test it"]);
  });

  test("is sent when the turn ends if no further request follows", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using parts = await start([
      { text: "The beginning of it", after: promise, rest: " and the end." },
      CALL_SLOW,
      "Two.",
      "Three.",
    ]);
    const screen = await open(parts.project);
    screen.type("one\r");
    await shows(screen, "The beginning");
    for (const line of ["two\r", "three\r"]) screen.type(line);
    await shows(screen, "  next: two\n  next: three");
    resolve();
    // The next turn does not take what was typed for the one before.
    await shows(screen, /^  queued: three/m);
    parts.endTool();
    await shows(screen, /> two\n[^]*Two\.\n\n> three\nThree\.\n(.*\n)*> ?$/m);
    screen.type(`${CTRL_C}${CTRL_D}`);
    await screen.end();
    expect(said(parts.project)).toEqual(["one", "two", "three"]);
  });

  test("is back at the prompt after the turn was stopped", async () => {
    await using parts = await start([CALL_SLOW]);
    const screen = await open(parts.project);
    screen.type("write it\r");
    await shows(screen, /^\S slow /m);
    screen.type("in Rust\r");
    await shows(screen, "  next: in Rust");
    screen.type(ESCAPE);
    await shows(screen, /^Stopped\.\n\n> in Rust$/m);
    screen.type(`${CTRL_C}${CTRL_D}`);
    await screen.end();
    expect(said(parts.project)).toEqual(["write it"]);
  });

  test("is queued if it is a command, which no model gets", async () => {
    await using parts = await start([CALL_SLOW, "Done."]);
    const screen = await open(parts.project);
    screen.type("write it\r");
    await shows(screen, /^\S slow /m);
    screen.type("/title Work");
    await shows(screen, /^  Enter queues it for when the turn ends$/m);
    screen.type("\r");
    await shows(screen, "  queued: /title Work");
    parts.endTool();
    await shows(screen, /> \/title Work\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    expect(said(parts.project)).toEqual(["write it"]);
  });

  test("stays above a question as pending, answers nothing, and goes with the results after it", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using parts = await start(
      [{ text: "I call it", after: promise, rest: ".", calls: [{ name: "asker" }] }, "Done."],
      [ASKER],
    );
    const screen = await open(parts.project);
    screen.type("write it\r");
    await shows(screen, "I call");
    screen.type("yes\r");
    await shows(screen, "  next: yes");
    resolve();
    await shows(screen, /^  next: yes\n\? Go on\?/m);
    await shows(screen, /^(?![^]*until you pause)/);
    screen.type("n\r");
    await shows(screen, /> yes\nDone\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    const { entries } = recordOf(parts.project);
    expect([
      said(parts.project),
      entries.filter(({ type }) => type === "inquiry_response"),
    ]).toEqual([["write it", "~yes"], [expect.objectContaining({ answer: false })]]);
  });
});

describe("the message of a turn that it took", () => {
  test("is printed as such, goes with a fork, and is replayed where it was", async () => {
    await using parts = await steered(["In Rust, then."]);
    const { project, screen } = parts;
    screen.type(CTRL_D);
    await screen.end();
    const printed = await project.jp("conversation", "print");
    const verified = await project.jp("conversation", "verify");
    await project.jp("conversation", "fork", "--activate");
    const forked = await project.jp("conversation", "print", "--format", "markdown");
    expect(printed.stdout).toContain("you (while the turn was running)\nin Rust\n");
    expect(verified).toMatchObject({ status: 0 });
    expect(forked.stdout).toContain("_Sent while the turn was running._\n\nin Rust\n");
  });

  test("is restored after the Rust version has saved the conversation", async () => {
    await using parts = await steered(["In Rust, then."]);
    const { project, screen } = parts;
    screen.type(CTRL_D);
    await screen.end();
    const { folder } = recordOf(project);
    const file = path.join(folder, "events.json");
    const elements = JSON.parse(readFileSync(file, "utf8")) as JsonObject[];
    const saved = savedByOriginal(elements);
    writeFileSync(file, laidOut(saved));
    const printed = await project.jp("conversation", "print");
    expect(saved.some((element) => "steering" in element)).toBe(false);
    expect(printed.stdout).toContain("you (while the turn was running)\nin Rust\n");
  });

  test("is a part of what /edit sends again", async () => {
    await using parts = await steered(["In Rust, then.", "Again."]);
    const { project, screen, server } = parts;
    screen.type("/edit\r");
    await shows(screen, /^> write it\n\n  in Rust$/m);
    screen.type("\r");
    await shows(screen, /Again\.\n(.*\n)*> ?$/m);
    screen.type(CTRL_D);
    await screen.end();
    expect([said(project), server.lastMessages.at(-1)]).toEqual([
      ["write it", "~in Rust", "write it\n\nin Rust"],
      "write it\n\nin Rust",
    ]);
  });
});
