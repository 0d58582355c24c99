/** What the web process and the workers share: the store, and what turns run with. */
import process from "node:process";
import { type ConversationStore, defineTool, migrateStore, openStore, selectQuestion } from "jp-ts";
import { z } from "zod";
import { model } from "../web-service/model.ts";
import { ACCOUNTS, payBack } from "../web-service/payments.ts";

const refund = defineTool({
  name: "refund",
  description: "Refunds an order.",
  parameters: z.object({ order: z.string(), amount: z.number() }),
  async run(order, { ask }) {
    // The call ends here. Once there is an answer, it runs again with it, at any of the workers.
    const account = await ask(selectQuestion("account", "Which account?", { options: ACCOUNTS }));
    return payBack({ ...order, account });
  },
});

export const turn = { model, tools: [refund] };

/** Also makes the tables, once: processes that start together wait for each other. */
export async function openSharedStore(): Promise<ConversationStore> {
  const url = process.env["DATABASE_URL"] ?? "postgres://localhost/refunds";
  await migrateStore(url);
  return openStore(url, { workspace: "refunds" });
}
