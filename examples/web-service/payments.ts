/** The payment provider of the service: it appends to a file, so that a second refund would show. */
import { appendFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

export const ACCOUNTS = ["savings", "checking"] as const;

export interface Refund {
  readonly order: string;
  readonly amount: number;
  readonly account: (typeof ACCOUNTS)[number];
}

/** `PAYMENT_MS` makes it slow, to kill the service on the way. */
export async function payBack({ order, amount, account }: Refund): Promise<string> {
  await appendFile("payments.txt", `${order}: ${amount} to ${account}\n`);
  await setTimeout(Number(process.env["PAYMENT_MS"] ?? 0));
  return `Refunded ${amount} to ${account}.`;
}
