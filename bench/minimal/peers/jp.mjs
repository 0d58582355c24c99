import { answerInquiry, booleanQuestion, defineTool, openStore, resumeTurn, runTurn } from "jp-ts";
import { count, folder, measure, TEXT } from "./measured.mjs";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => `Sure: ${await ask(booleanQuestion("sure", "Deploy it?"))}`,
});
let isCalling = true;
let calls = 0;
const model = {
  id: "bench/two-replies",
  async *stream() {
    if (isCalling) {
      calls += 1;
      const id = `call_${calls}`;
      yield { type: "tool_call_request", id, name: "deploy", arguments: {} };
      yield { type: "response_end", reason: "tool_calls", usage: {} };
    } else {
      yield { type: "message_delta", text: "Done." };
      yield { type: "message_end" };
      yield { type: "response_end", reason: "stop", usage: {} };
    }
    isCalling = !isCalling;
  },
};
const options = { model, tools: [deploy], defer: true };

const store = await openStore(folder);
const { id } = await fill();
await measure(async () => {
  const first = await store.open(id);
  await runTurn({ conversation: first, ...options }, "Deploy it.");
  await first.release();
  const given = { answer: true, channel: "bench", userName: "Ana" };
  await answerInquiry(store, `${id}/call_${calls}.sure.1`, given);
  const second = await store.open(id);
  const { type } = await resumeTurn(second, options);
  await second.release();
  if (type !== "done") throw new Error(`The turn ended with ${type}.`);
});

async function fill() {
  const conversation = await store.create({});
  const timestamp = "2026-01-02 03:04:05.0";
  const turn = [
    { type: "turn_start", timestamp },
    { type: "chat_request", timestamp, content: TEXT },
    { type: "chat_response", timestamp, content: { type: "message", text: TEXT } },
  ];
  await conversation.append(...Array.from({ length: count / 2 }, () => turn).flat());
  await conversation.release();
  return conversation;
}
