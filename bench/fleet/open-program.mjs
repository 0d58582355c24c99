// Opens a conversation whose question was answered, and continues its turn until the tool runs, again and again in one
// process. The address of the store, the number of events before the turn, and the number of rounds are arguments. Prints
// the CPU time of a round in milliseconds, the median.
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
const conversation = await store.create({});
await conversation.append(...turns(Number(events)));
await conversation.release();

let ran = 0;
const times = [];
for (let round = 0; round < WARM + Number(rounds); round += 1) {
  const time = await measureRound(conversation.id);
  if (round >= WARM) times.push(time);
}
times.sort((one, two) => one - two);
console.log(JSON.stringify({ cpu: times[Math.floor(times.length / 2)] / 1000 }));
await store.close?.();

async function measureRound(id) {
  const parts = { model: createModel(), tools: [createTool()], defer: true };
  const asking = await store.open(id);
  await runTurn({ conversation: asking, ...parts }, "Deploy it.");
  await asking.release();
  const [item] = await listPending(store);
  await answerInquiry(store, item, { answer: true });
  globalThis.gc?.();
  const before = total(process.cpuUsage());
  const opened = await store.open(id, { only: "end" });
  const { type } = await resumeTurn(opened, parts);
  await opened.release();
  if (type !== "done") throw new Error(`The turn ended with ${type}.`);
  return ran - before;
}

function createTool() {
  return defineTool({
    name: "deploy",
    description: "Deploys the site.",
    parameters: { type: "object" },
    run: async (_args, { ask }) => {
      const isSure = await ask(booleanQuestion("sure", "Deploy it?"));
      ran = total(process.cpuUsage());
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
