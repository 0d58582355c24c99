/**
 * A question of a builtin tool, up to the tool's next attempt, with both events on disk. Compares different
 * lengths of the conversation, and the two appends that every question needs.
 */
import { statSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { parseConversationId } from "../src/conversation/index.ts";
import { booleanQuestion } from "../src/tool/index.ts";
import { toolCall } from "../src/conversation/events.fixture.ts";
import { questioner } from "../src/agent/questioner.fixture.ts";
import { ToolTurn } from "../src/agent/tool-turn.fixture.ts";
import { writeRecord } from "./data.ts";
import { medians, ratioOf, type Result, type Side } from "./measure.ts";
import { openBenchWorkspace } from "./workspace.ts";

const ROUNDS = 60;
/** Per call. Few, because each attempt repeats all earlier ones. */
const QUESTIONS = 10;
const TEXT = "Apply these changes?";
const CONTEXT = "-const old = 1;\n+const fresh = 2;\n".repeat(4);
/** An append overwrites the bytes that close the list. */
const CLOSING_BYTES = 3;

export async function benchQuestion(folder: string): Promise<Result[]> {
  await using none = await openConversation(folder, { id: "10000000011", events: 0 });
  await using some = await openConversation(folder, { id: "10000000012", events: 1_000 });
  await using many = await openConversation(folder, { id: "10000000013", events: 100_000 });
  const bytes = [await none.bytes(), await many.bytes()];
  await using appends = await openAppends(path.join(folder, "appends"), bytes[0] ?? 0);
  const { silent } = none;
  const sides = { none: none.ask, some: some.ask, many: many.ask, silent, appends: appends.write };
  const took = await medians(sides, ROUNDS);
  const each = (time: number) => (time - took.silent) / QUESTIONS;
  const own = Buffer.byteLength(TEXT + CONTEXT);
  const most = Math.max(...bytes) - own;
  return [
    {
      name: "question at 1,000 events / at 0",
      aim: 1.2,
      ...ratioOf(each(took.some), each(took.none)),
    },
    {
      name: "question at 100,000 events / at 0",
      aim: 1.2,
      ...ratioOf(each(took.many), each(took.none)),
    },
    {
      name: "question / two synced appends",
      aim: 2,
      ...ratioOf(each(took.many), took.appends / QUESTIONS),
    },
    {
      name: "bytes of a question / 1000",
      aim: 1,
      ratio: most / 1000,
      detail: `${bytes.map((count) => count - own).join(" and ")} bytes beside its text, at 0 and at 100,000`,
    },
  ];
}

interface Opened extends AsyncDisposable {
  /** Makes a call that asks all questions; `silent` makes one that asks none. */
  readonly ask: Side;
  readonly silent: Side;
  /** The number of bytes that one question writes. */
  readonly bytes: () => Promise<number>;
}

async function openConversation(
  folder: string,
  { id, events }: { readonly id: string; readonly events: number },
): Promise<Opened> {
  const workspace = openBenchWorkspace(folder);
  const record = path.join(folder, ".jp", "conversations", id);
  writeRecord(record, events, "questions");
  const conversation = await workspace.conversations.open(parseConversationId(id));
  const questions = Array.from({ length: QUESTIONS }, (_, index) =>
    booleanQuestion(`apply_changes_${index + 10}`, TEXT, { context: CONTEXT }),
  );
  const turn = await ToolTurn.start({
    conversation,
    tools: [questioner("asking", ...questions), questioner("silent")],
    script: { answers: () => ({ answer: true }) },
  });
  let calls = 0;
  const call = async (tool: string) => {
    calls += 1;
    const request = toolCall(`call_${String(calls).padStart(4, "0")}`, tool);
    const [response] = await turn.run(request);
    if (response?.isError !== false) throw new Error(`The tool failed: ${response?.content}`);
  };
  const written = async (tool: string) => {
    const file = path.join(record, "events.json");
    const before = statSync(file).size;
    await call(tool);
    return statSync(file).size - before;
  };
  return {
    ask: () => call("asking"),
    silent: () => call("silent"),
    bytes: async () => {
      const all = await written("asking");
      // The results also differ, by the list of answers.
      const results =
        encodedLength(JSON.stringify(questions.map(() => true))) - encodedLength("[]");
      return (all - (await written("silent")) - results) / QUESTIONS + 2 * CLOSING_BYTES;
    },
    [Symbol.asyncDispose]: () => conversation[Symbol.asyncDispose](),
  };
}

/** The length of a result in the record. */
function encodedLength(content: string): number {
  return Buffer.from(content).toString("base64").length;
}

/** The minimum for the same durability: two appends to a file, each synced before the next. */
async function openAppends(file: string, bytes: number) {
  const handle = await open(file, "w");
  const half = Buffer.alloc(Math.ceil(bytes / 2), "x");
  return {
    write: async () => {
      for (let count = 0; count < 2 * QUESTIONS; count += 1) {
        await handle.write(half);
        await handle.datasync();
      }
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}
