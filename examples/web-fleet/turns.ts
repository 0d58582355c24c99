/** What the web process and the workers share: the store, and what turns run with. */
import process from "node:process";
import { defineTool, openStore, selectQuestion } from "jp-ts";
import { z } from "zod";
import { model } from "../web-service/model.ts";
import { ACCOUNTS, payBack } from "../web-service/payments.ts";

const refund = defineTool({
  name: "refund",
  description: "Refunds an order.",
  parameters: z.object({ order: z.string(), amount: z.number() }),
  questions: { account: selectQuestion("account", "Which account?", { options: ACCOUNTS }) },
  async run(order, { ask }) {
    // The call ends here. Once there is an answer, it runs again with it, at any of the workers.
    const account = await ask.account();
    return payBack({ ...order, account });
  },
});

export const turn = { model, tools: [refund] };

/** Its tables are made once, before the processes start: `jp store migrate "$DATABASE_URL"`, or `migrateStore`. */
export const store = await openStore(
  process.env["DATABASE_URL"] ?? "postgres://localhost/refunds",
  { workspace: "refunds" },
);
