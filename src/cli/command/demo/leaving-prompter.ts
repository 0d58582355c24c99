/** A person who may have seen enough: from the first question without an answer, no other is asked. */
import type { Prompter, PromptResult } from "../../../agent/index.ts";

export interface LeavingPrompter extends Prompter {
  readonly hasLeft: boolean;
}

export function createLeavingPrompter(person: Prompter): LeavingPrompter {
  let left: Exclude<PromptResult["type"], "answered"> | undefined;
  return {
    channel: person.channel,
    get hasLeft() {
      return left !== undefined;
    },
    canAsk: () => person.canAsk(),
    ask: async (request) => {
      const { inquiryId } = request;
      if (left !== undefined) return { type: left, inquiryId };
      const result = await person.ask(request);
      if (result.type !== "answered") left = result.type;
      return result;
    },
    askPermission: (request) => person.askPermission(request),
    askDelivery: (request) => person.askDelivery(request),
  };
}
