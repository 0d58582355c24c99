/** Where there is nobody: none of this is ever called, because `canAsk` says so. */
import type { Prompter } from "./ports.ts";

/** A prompter for programs without anybody to ask. */
export const NOBODY: Prompter = {
  channel: "none",
  canAsk: () => false,
  ask: nobodyAnswers,
  askPermission: nobodyAnswers,
  askDelivery: nobodyAnswers,
};

async function nobodyAnswers(): Promise<never> {
  throw new Error("nobody is there to be asked");
}
