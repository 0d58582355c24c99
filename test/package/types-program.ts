/**
 * Uses the types as other programs do, and shows which mistakes the compiler finds. It is only type-checked, against the
 * declarations that are shipped: with and without `exactOptionalPropertyTypes`, and without the types of browsers.
 */
import {
  booleanQuestion,
  defineTool,
  type McpServerConfigs,
  openMcpServers,
  resumeTurn,
  runTurn,
  selectQuestion,
  streamTurn,
  textQuestion,
  type Tool,
  type ToolConfigs,
  type TurnOptions,
} from "jp-ts";
import {
  DeskClient,
  type DeskClientOptions,
  DeskError,
  type DecisionJson,
  type InquiryQuery,
} from "jp-ts/client";

export type * as AiSdk from "jp-ts/ai-sdk";
export type * as ServeTool from "jp-ts/serve-tool";
export type * as Storage from "jp-ts/storage";
export type * as Testing from "jp-ts/testing";
export type * as ToolEntry from "jp-ts/tool";

type Others = Pick<TurnOptions, "conversation" | "model">;

const ASK = { run: "ask" } as const;
const deploy = defineTool({
  name: "deploy",
  description: "Deploys.",
  parameters: { type: "object" },
  run: () => "Done.",
});
const undo = defineTool({
  name: "undo",
  description: "Undoes it.",
  parameters: { type: "object" },
  run: () => "Done.",
});

export async function configureTools(others: Others, some: readonly Tool[]): Promise<void> {
  const tools = [deploy, undo];
  await runTurn({ ...others, tools, toolConfig: { deploy: ASK, undo: ASK, "*": ASK } }, "Hi.");
  await runTurn(
    { ...others, tools: [deploy], askUser: true, toolConfig: { ask_user: ASK } },
    "Hi.",
  );
  // @ts-expect-error The name of a tool is misspelled.
  await runTurn({ ...others, tools, toolConfig: { deploy: ASK, deplyo: ASK } }, "Hi.");
  // @ts-expect-error
  await resumeTurn(others.conversation, { ...others, tools: [deploy], toolConfig: { undo: ASK } });
  // @ts-expect-error
  streamTurn({ ...others, tools: [deploy], toolConfig: { undo: ASK } }, "Hi.");
  // @ts-expect-error A role is a name.
  await runTurn({ ...others, tools, toolConfig: { deploy: { target: { role: 5 } } } }, "Hi.");
  // @ts-expect-error A key is misspelled.
  await runTurn({ ...others, tools, toolConfig: { deploy: { target: { quorm: 2 } } } }, "Hi.");
  // @ts-expect-error The name of an option is misspelled.
  await runTurn({ ...others, tols: [deploy] }, "Hi.");

  // Names that the compiler does not know.
  const toolConfig: ToolConfigs = { any: ASK };
  await runTurn({ ...others, tools: some, toolConfig: { any: ASK } }, "Hi.");
  await runTurn({ ...others, tools, toolConfig }, "Hi.");
  const options: TurnOptions = { ...others, tools, toolConfig: { any: ASK } };
  await runTurn(options, "Hi.");
}

export async function configureToolsOfServers(others: Others, configs: McpServerConfigs) {
  const tools = [deploy];
  const toolConfig = { fetch: ASK };
  await using mcpServers = openMcpServers(configs);
  await runTurn({ ...others, tools, mcpServers, toolConfig: { fetch: ASK } }, "Hi.");
  await runTurn({ ...others, tools, mcpServers: configs, toolConfig: { fetch: ASK } }, "Hi.");
  const web = { type: "stdio", command: "web" } as const;
  await runTurn({ ...others, tools, mcpServers: { web }, toolConfig }, "Hi.");
  const { data } = await runTurn<{ type: "object" }>(
    { ...others, tools, mcpServers: configs, toolConfig },
    { content: "Hi.", schema: { type: "object" } },
  );
  return data;
}

export const questions = [
  booleanQuestion("sure", "Sure?", { default: true }),
  textQuestion("name", "Name?", { default: "x" }),
  selectQuestion("one", "One?", { options: ["a", "b"], default: "b" }),
  selectQuestion("other", "One?", { options: ["a", "b"], allowsOther: true, default: "c" }),
  selectQuestion("some", "Some?", { options: ["a", "b"], isMultiple: true, default: ["a"] }),
  // @ts-expect-error These defaults do not fit.
  booleanQuestion("sure", "Sure?", { default: "yes" }),
  // @ts-expect-error
  textQuestion("name", "Name?", { default: 3 }),
  // @ts-expect-error
  selectQuestion("one", "One?", { options: ["a", "b"], default: "c" }),
  // @ts-expect-error
  selectQuestion("one", "One?", { options: [{ value: "a", title: "A" }], default: "b" }),
  // @ts-expect-error
  selectQuestion("some", "Some?", { options: ["a", "b"], isMultiple: true, default: ["c"] }),
];

export const asking = defineTool({
  name: "asking",
  description: "Asks.",
  parameters: { type: "object" },
  questions: {
    sure: booleanQuestion("sure", "Sure?"),
    level: selectQuestion("level", "How bad?", { options: ["low", "high"] }),
  },
  async run(_args, { ask }) {
    const isSure: boolean = await ask.sure({ context: "All of it.", default: true });
    const level: "low" | "high" = await ask.level();
    // @ts-expect-error The id of a question is misspelled.
    await ask.sur();
    // @ts-expect-error
    await ask(booleanQuestion("sur", "Sure?"));
    // @ts-expect-error The default does not fit.
    await ask.level({ default: "medium" });
    return `${isSure} ${level}`;
  },
});

export const misnamed = defineTool({
  name: "misnamed",
  description: "Asks.",
  parameters: { type: "object" },
  // @ts-expect-error The key is not the id.
  questions: { isSure: booleanQuestion("sure", "Sure?") },
  run: () => "Done.",
});

export async function answerAll(options: DeskClientOptions): Promise<readonly string[]> {
  const client = new DeskClient({ ...options, fetch });
  const waiting: readonly DecisionJson[] = await client.pending();
  for (const decision of waiting) {
    await client.answer(decision, true, { note: "Fine.", idempotencyKey: decision.id });
  }
  const query: InquiryQuery = { by: "user", limit: 10 };
  const { items, next } = await client.inquiries(query).catch((error: unknown) => {
    throw error instanceof DeskError ? new Error(error.code) : error;
  });
  for await (const { type } of client.events()) if (type === "reset") break;
  return [...items.map(({ id }) => id), ...(next === undefined ? [] : [next])];
}
