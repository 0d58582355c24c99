/** A person who may have seen enough: from the first question that is cancelled, no other is asked. */
import type { Prompter } from "../../../agent/index.ts";

export interface LeavingPrompter extends Prompter {
  readonly hasLeft: boolean;
}

export function createLeavingPrompter(person: Prompter): LeavingPrompter {
  let hasLeft = false;
  return {
    channel: person.channel,
    get hasLeft() {
      return hasLeft;
    },
    canAsk: () => person.canAsk(),
    ask: async (request) => {
      const { inquiryId } = request;
      const result = hasLeft
        ? ({ type: "cancelled", inquiryId } as const)
        : await person.ask(request);
      hasLeft = result.type === "cancelled";
      return result;
    },
    askPermission: (request) => person.askPermission(request),
    askDelivery: (request) => person.askDelivery(request),
  };
}
