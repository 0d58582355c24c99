/** Two turns that share an MCP server, which asks before it replaces a file. The model and the person are scripted. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { env, stdout } from "node:process";
import { MemoryConversationStore, openMcpServers, runTurn } from "jp-ts";
import { ScriptedModel, ScriptedPrompter } from "jp-ts/testing";

const folder = await mkdtemp(path.join(tmpdir(), "example-"));
const file = path.join(folder, "notes.txt");
await writeFile(file, "Buy milk.");

const backup = {
  type: "tool_call",
  id: "call_1",
  name: "backup",
  arguments: { path: file },
} as const;
const model = new ScriptedModel({
  replies: [[backup], "It is saved.", [backup], "It is replaced."],
});
const prompter = new ScriptedPrompter({
  permissions: () => ({ type: "run", isRemembered: false }),
  answers: [{ answer: true }],
});
const server = path.join(import.meta.dirname, "tools", "backup-server.mts");
const store = new MemoryConversationStore();

// The server starts when a turn first needs it, and ends with the program.
await using mcpServers = openMcpServers(
  { backup: { command: "node", arguments: [server] } },
  { variables: env },
);
for (const message of ["Back up my notes.", "Once more."]) {
  await using conversation = await store.create({});
  const options = { conversation, model, prompter, mcpServers, askUser: true };
  const { text, events } = await runTurn(options, message);
  const asked = events.filter(({ type }) => type === "inquiry_request").length;
  stdout.write(`${message} ${text} Questions: ${asked}\n`);
}
await rm(folder, { recursive: true });
