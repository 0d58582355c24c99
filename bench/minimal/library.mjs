// Programs that embed the built library, for library.ts: `node library.mjs <scenario> <folder> [id or count]`. Each prints
// its measurements as JSON. In JavaScript, because Node takes time to strip types.
import { answerAndResume, booleanQuestion, defineTool, openStore, runTurn } from "jp-ts";

/** CPU milliseconds since the process started. */
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
};

/** The tool runs once to ask, and again with the answer. */
let whenAsked;
let whenRun = 0;
const pay = defineTool({
  name: "pay",
  description: "Pays back.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => {
    whenAsked ??= cpu();
    const isMeant = await ask(booleanQuestion("ok", "Pay it back?"));
    whenRun = cpu();
    return `Paid: ${isMeant}`;
  },
});

/** As a model of the AI SDK: it calls the tool, and is done once it has the result. */
let calls = 0;
const usage = { inputTokens: {}, outputTokens: {} };
const model = {
  specificationVersion: "v4",
  provider: "own",
  modelId: "double",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("it streams")),
  doStream: async ({ prompt }) => {
    const isDone = prompt.at(-1)?.role === "tool";
    calls += 1;
    const toolCallId = `call_${process.pid}_${calls}`;
    const parts = isDone
      ? [
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "It is paid." },
          { type: "text-end", id: "1" },
        ]
      : [{ type: "tool-call", toolCallId, toolName: "pay", input: "{}" }];
    const unified = isDone ? "stop" : "tool-calls";
    parts.push({ type: "finish", finishReason: { unified, raw: undefined }, usage });
    return { stream: ReadableStream.from(parts) };
  },
};

const options = { model, tools: [pay], compaction: false };

/** Asks, and lets go of the conversation. Returns the id of the question. */
async function leaveQuestion(store, id) {
  await using conversation = await store.open(id);
  const message = "Pay it back.";
  const { type, events } = await runTurn({ conversation, ...options, defer: true }, message);
  const asked = events.find((event) => event.type === "inquiry_request");
  if (type !== "waiting" || asked === undefined) throw new Error(`The turn is ${type}.`);
  return `${id}/${asked.id}`;
}

async function answer(store, question) {
  const { type, turn } = await answerAndResume(store, question, { answer: true }, options);
  if (type !== "recorded" || turn?.type !== "done") throw new Error(`The answer: ${type}`);
}

const ROUNDS = 60;
/** The first rounds also compile. */
const WARM_UP = 20;

const SCENARIOS = {
  /** For the others: leaves a question open, and prints its id. */
  ask: async (folder, id) => leaveQuestion(await openStore(folder), id),
  /** Answers it in a process that has done nothing else. */
  resume: async (folder, question) => {
    await answer(await openStore(folder), question);
    return { cpu: whenRun };
  },
  /** A service: each question waits for an answer while no one has the conversation open. */
  defer: async (folder, id) => {
    const store = await openStore(folder);
    const used = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = cpu();
      await answer(store, await leaveQuestion(store, id));
      used.push(cpu() - before);
    }
    return { cpu: used.slice(WARM_UP) };
  },
  /** Someone answers at once, in the process that asks. */
  here: async (folder, id) => {
    const store = await openStore(folder);
    const prompter = {
      channel: "bench",
      canAsk: () => true,
      ask: async ({ inquiryId }) => ({
        type: "answered",
        inquiryId,
        answer: true,
        isRemembered: false,
      }),
    };
    const used = [];
    await using conversation = await store.open(id);
    for (let round = 0; round < ROUNDS; round += 1) {
      whenAsked = undefined;
      await runTurn({ conversation, ...options, prompter }, "Pay it back.");
      used.push(whenRun - whenAsked);
    }
    return { cpu: used.slice(WARM_UP) };
  },
  /** Turns that wait for a person, all at once. */
  wait: async (folder, text) => {
    const count = Number(text);
    const store = await openStore(folder);
    const allAsked = Promise.withResolvers();
    let asked = 0;
    const prompter = {
      channel: "bench",
      canAsk: () => true,
      ask: ({ signal }) => {
        asked += 1;
        if (asked === count) allAsked.resolve();
        const aborted = Promise.withResolvers();
        signal.addEventListener("abort", () => aborted.resolve({ type: "later" }));
        return aborted.promise;
      },
    };
    const stopped = new AbortController();
    const { signal } = stopped;
    const start = async () => {
      await using conversation = await store.create({});
      await runTurn({ conversation, ...options, prompter, signal }, "Pay it back.");
    };
    const [before, opened] = [cpu(), openFiles()];
    const turns = Array.from({ length: count }, start);
    await Promise.race([allAsked.promise, Promise.all(turns)]);
    const each = { cpu: (cpu() - before) / count, files: (openFiles() - opened) / count };
    stopped.abort();
    await Promise.all(turns);
    return each;
  },
};

/** Not imported: an import of it takes a tenth of Node's own start, and programs are measured from their start on. */
function openFiles() {
  return process.getBuiltinModule("node:fs").readdirSync("/proc/self/fd").length;
}

const [, , name, folder, argument] = process.argv;
// Only then is standard output loaded, which is no part of what is measured.
const report = await SCENARIOS[name](folder, argument);
process.stdout.write(`${JSON.stringify(report)}\n`);
