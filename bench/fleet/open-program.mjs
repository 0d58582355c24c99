// Opens a conversation whose question was answered, and continues its turn until the tool runs, again and again in one
// process. Another process leaves and answers the questions, and asks the model. The address of the store, the number of
// events before the turn, and the number of rounds are arguments. Prints the CPU time of a round in milliseconds, the median.
import { fork } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import {
  answerInquiry,
  booleanQuestion,
  defineTool,
  listPending,
  openStore,
  resumeTurn,
  runTurn,
} from "jp-ts";

/** Until compiled code no longer changes. */
const WARM = 20;

const [address, events, rounds] = process.argv.slice(2);
const store = await openStore(address);
let ran = 0;
if (process.send === undefined) await measure();
else await leaveQuestions();
await store.close?.();

async function measure() {
  const other = fork(import.meta.filename, process.argv.slice(2));
  const [id] = await once(other, "message");
  const times = [];
  for (let round = 0; round < WARM + Number(rounds); round += 1) {
    other.send("leave");
    await once(other, "message");
    const time = await measureRound(id);
    if (round >= WARM) times.push(time);
  }
  other.send("end");
  times.sort((one, two) => one - two);
  console.log(JSON.stringify({ cpu: times[Math.floor(times.length / 2)] / 1000 }));
}

/** The turn is left before a model is asked. */
async function measureRound(id) {
  const stop = new AbortController();
  const tools = [createTool(() => stop.abort())];
  const before = total(process.cpuUsage());
  const conversation = await store.open(id, { only: "end" });
  await resumeTurn(conversation, { model: createModel(), tools, signal: stop.signal });
  await conversation.release();
  return ran - before;
}

async function leaveQuestions() {
  const made = await store.create({});
  await made.append(...turns(Number(events)));
  await made.release();
  process.send(made.id);
  for (;;) {
    const [message] = await once(process, "message");
    if (message === "end") return process.disconnect();
    const conversation = await store.open(made.id);
    const parts = { model: createModel(), tools: [createTool()], defer: true };
    await runTurn({ conversation, ...parts, discardsPending: true }, "Deploy it.");
    await conversation.release();
    const pending = await listPending(store);
    const item = pending.find((each) => each.conversation === made.id);
    await answerInquiry(store, item, { answer: true });
    process.send("left");
  }
}

function createTool(onRun) {
  return defineTool({
    name: "deploy",
    description: "Deploys the site.",
    parameters: { type: "object" },
    run: async (_args, { ask }) => {
      const isSure = await ask(booleanQuestion("sure", "Deploy it?"));
      ran = total(process.cpuUsage());
      onRun?.();
      return String(isSure);
    },
  });
}

/** Calls the tool, and says something once it has a result. */
function createModel() {
  return {
    id: "bench/one-call",
    async *stream({ parts }) {
      if (parts.events.at(-1)?.type === "tool_call_response") {
        yield { type: "message_delta", text: "It is deployed." };
        yield { type: "response_end", reason: "stop", usage: {} };
      } else {
        yield { type: "tool_call_request", id: "call_1", name: "deploy", arguments: {} };
        yield { type: "response_end", reason: "tool_calls", usage: {} };
      }
    },
  };
}

/** Complete turns of three events, of about a kilobyte. */
function turns(count) {
  return Array.from({ length: Math.ceil(count / 3) }, (_, index) => {
    const timestamp = `2026-01-01 00:00:${String(index % 60).padStart(2, "0")}.0`;
    return [
      { type: "turn_start", timestamp },
      { type: "chat_request", timestamp, content: `What about part ${index}?` },
      {
        type: "chat_response",
        timestamp,
        content: { type: "message", text: "The certificate is read at the start. ".repeat(25) },
      },
    ];
  }).flat();
}

function total({ user, system }) {
  return user + system;
}
