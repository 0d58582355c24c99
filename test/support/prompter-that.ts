/** A prompter of which only the questions of tools matter. */
import type { Prompter } from "../../src/agent/index.ts";

export function prompterThat(ask: Prompter["ask"], canAsk = () => true): Prompter {
  return { channel: "test", canAsk, ask, askPermission: refuse, askDelivery: refuse };
}

function refuse(): Promise<never> {
  return Promise.reject(new Error("Nobody should ask that."));
}
