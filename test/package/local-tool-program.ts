/** A second program of someone who installed the package: it runs a command whose words are templates. */
import process from "node:process";
import { createLocalExecutor } from "jp-ts/executor";

const executor = createLocalExecutor(
  {
    name: "greet",
    source: { type: "local" },
    command: { program: "echo", args: ["Hello {{tool.arguments.name}}"], shell: false },
    options: {},
  },
  { workspaceRoot: process.cwd(), workspaceId: "w", conversationId: "1", variables: process.env },
);
const { signal } = new AbortController();
const request = { answers: {}, secretAnswers: [], notes: {}, call: {}, signal };
const result = await executor.attempt({ arguments: { name: "world" }, ...request });
if (result.type === "success") process.stdout.write(result.content);
