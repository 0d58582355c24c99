/**
 * A builtin tool's question, up to the tool's next attempt, with both events on disk. Compares a short conversation
 * with a long one, a question with the two appends it needs, and a question with one that is not chained.
 */
import { statSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { parseConversationId } from "../src/record/conversation/index.ts";
import { booleanQuestion } from "../src/record/tool/index.ts";
import { toolCall } from "../src/record/conversation/events.fixture.ts";
import { questioner } from "../src/core/agent/questioner.fixture.ts";
import { ToolTurn } from "../src/core/agent/tool-turn.fixture.ts";
import { ChainFile } from "../src/stores/fs/chain-file.ts";
import { writeRecord } from "./data.ts";
import {
  against,
  type Bench,
  compared,
  type Result,
  takeTurns,
  timeOf,
  type Times,
} from "./measure.ts";
import { sized } from "./small.ts";
import { ratioOf } from "./statistics.ts";
import { openBenchWorkspace, recordFolder } from "./workspace.ts";

const ROUNDS = 60;
/** Questions per call. Few, because each attempt repeats all earlier ones. */
const QUESTIONS = 10;
const TEXT = "Apply these changes?";
const CONTEXT = "-const old = 1;\n+const fresh = 2;\n".repeat(4);
/** An append overwrites the bytes that close the list. */
const CLOSING_BYTES = 3;

const QUESTION = {
  time: "a question, answered and synced to disk, at 100,000 events",
  length: "a question at 100,000 events",
  bytes: "bytes that a question adds to the record",
  chain: "CPU time of a question with the chain of decisions",
  chainBytes: "bytes that a question adds to the chain of decisions",
};

export const question: Bench = {
  rows: Object.values(QUESTION),
  run: async (folder) => {
    await using none = await openConversation(folder, { id: "10000000011", events: 0 });
    await using many = await openConversation(folder, {
      id: "10000000013",
      events: sized(100_000, 104),
    });
    const bytes = Math.max(await none.bytes("events.json"), await many.bytes("events.json"));
    const chainBytes = await none.bytes("decisions.jsonl");
    await using appends = await openAppends(path.join(folder, "appends"), bytes);
    const took = await takeTurns(
      {
        none: () => timeOf(none.ask),
        many: () => timeOf(many.ask),
        unchained: () => withoutChain(() => timeOf(none.ask)),
        silent: () => timeOf(none.silent),
        appends: () => timeOf(appends.write),
      },
      ROUNDS,
    );
    const atNone = perQuestion(took.none, took.silent);
    const atMany = perQuestion(took.many, took.silent);
    const own = Buffer.byteLength(TEXT + CONTEXT);
    return [
      {
        name: QUESTION.time,
        unit: "× two synced appends",
        goal: { most: 2 },
        ...compared(atMany, perQuestion(took.appends)),
      },
      {
        name: QUESTION.length,
        unit: "× at 0 events",
        goal: { most: 1.2 },
        ...compared(atMany, atNone),
      },
      {
        name: QUESTION.bytes,
        unit: "bytes",
        goal: { most: 1_000 },
        figures: { size: { value: bytes - own, noise: 0 } },
        detail: "without its own text",
      },
      { name: QUESTION.chain, unit: "× without it", goal: { most: 1.2 }, ...cpuOf(took) },
      {
        name: QUESTION.chainBytes,
        unit: "× its record",
        goal: { most: 1 },
        figures: { size: { value: chainBytes / bytes, noise: 0 } },
        detail: `${Math.round(chainBytes)} bytes against ${Math.round(bytes)}`,
      },
    ];
  },
};

/** There is no switch for this, so extending the chain is disabled meanwhile. */
async function withoutChain<Any>(work: () => Promise<Any>): Promise<Any> {
  isChained = false;
  try {
    return await work();
  } finally {
    isChained = true;
  }
}

let isChained = true;
const append = Object.getOwnPropertyDescriptor(ChainFile.prototype, "append")?.value as (
  ...given: Parameters<ChainFile["append"]>
) => void;
// Replaced only once, so that both sides run the same compiled code.
ChainFile.prototype.append = function (this: ChainFile, ...given) {
  if (isChained) append.apply(this, given);
};

type Took = Readonly<Record<"none" | "unchained" | "silent", readonly Times[]>>;

function cpuOf({ none, unchained, silent }: Took): Pick<Result, "figures" | "detail"> {
  const [ours, theirs] = [none, unchained].map((took) =>
    perQuestion(took, silent).map(({ cpu }) => cpu),
  ) as [number[], number[]];
  return { figures: { cpu: ratioOf(ours, theirs) }, detail: against(ours, theirs) };
}

/** The cost per question: calls that ask all questions, minus the same calls without questions. */
function perQuestion(calls: readonly Times[], rest?: readonly Times[]): readonly Times[] {
  return calls.map(({ time, cpu }, round) => ({
    time: (time - (rest?.[round]?.time ?? 0)) / QUESTIONS,
    cpu: (cpu - (rest?.[round]?.cpu ?? 0)) / QUESTIONS,
  }));
}

interface Opened extends AsyncDisposable {
  /** Makes a call that asks all questions; `silent` makes one that asks none. */
  readonly ask: () => Promise<void>;
  readonly silent: () => Promise<void>;
  /** The number of bytes that one question adds to a file of the conversation. */
  readonly bytes: (file: "events.json" | "decisions.jsonl") => Promise<number>;
}

async function openConversation(
  folder: string,
  { id, events }: { readonly id: string; readonly events: number },
): Promise<Opened> {
  const workspace = openBenchWorkspace(folder);
  const record = recordFolder(folder, id);
  writeRecord(record, events, "questions");
  const conversation = await workspace.conversations.open(parseConversationId(`jp-c${id}`));
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
  const written = async (tool: string, name: string) => {
    const size = () => statSync(path.join(record, name), { throwIfNoEntry: false })?.size ?? 0;
    const before = size();
    await call(tool);
    return size() - before;
  };
  return {
    ask: () => call("asking"),
    silent: () => call("silent"),
    bytes: async (file) => {
      const all = await written("asking", file);
      if (file !== "events.json") return all / QUESTIONS;
      // The results also differ, by the list of answers.
      const results =
        encodedLength(JSON.stringify(questions.map(() => true))) - encodedLength("[]");
      return (all - (await written("silent", file)) - results) / QUESTIONS + 2 * CLOSING_BYTES;
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
