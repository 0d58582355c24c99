import { readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import path from "node:path";
import { generateText, jsonSchema, tool } from "ai";
import { count, folder, measure, TEXT } from "./measured.mjs";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
let calls = 0;
const model = {
  specificationVersion: "v3",
  provider: "bench",
  modelId: "two-replies",
  supportedUrls: {},
  doGenerate: async ({ prompt }) => {
    if (prompt.at(-1).role === "tool") {
      const content = [{ type: "text", text: "Done." }];
      return { content, finishReason: { unified: "stop" }, usage, warnings: [] };
    }
    calls += 1;
    const call = {
      type: "tool-call",
      toolCallId: `call_${calls}`,
      toolName: "deploy",
      input: "{}",
    };
    return { content: [call], finishReason: { unified: "tool-calls" }, usage, warnings: [] };
  },
};
const tools = {
  deploy: tool({
    description: "Deploys the site.",
    inputSchema: jsonSchema({ type: "object", properties: {} }),
    needsApproval: true,
    execute: async () => "Sure: true",
  }),
};

// It has no record of its own: a file that is replaced as a whole, as in its documentation.
const file = path.join(folder, "messages.json");
await store(
  Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: TEXT,
  })),
);
await measure(async () => {
  const asked = await generate({ role: "user", content: "Deploy it." });
  const { approvalId } = asked.find(({ type }) => type === "tool-approval-request");
  const content = [{ type: "tool-approval-response", approvalId, approved: true }];
  const replied = await generate({ role: "tool", content });
  if (!replied.some(({ text }) => text === "Done.")) throw new Error("It is not done.");
});

/** Adds the message and the reply to the record. */
async function generate(message) {
  const messages = [...load(), message];
  const { content, responseMessages } = await generateText({ model, tools, messages });
  await store([...messages, ...responseMessages]);
  return content;
}

function load() {
  return JSON.parse(readFileSync(file, "utf8"));
}

async function store(messages) {
  const handle = await open(`${file}.tmp`, "w");
  await handle.writeFile(JSON.stringify(messages));
  await handle.sync();
  await handle.close();
  await rename(`${file}.tmp`, file);
}
