/** What a turn looks like from outside while it runs. */
import type { Observer, PermissionRequest, TurnEnd } from "../../../agent/index.ts";
import { eventToPlainJson, type InquiryId } from "../../../conversation/index.ts";
import { jsonLine } from "../../../render/index.ts";
import type { Output } from "../../../terminal/index.ts";

export interface TurnView extends Observer {
  /** Something else is to be on the screen for as long as the action lasts. */
  aside<Value>(action: () => Promise<Value>): Promise<Value>;
  /** What somebody is about to be asked permission for. */
  showCall(request: PermissionRequest): void;
  /** The call whose question somebody is about to be asked. */
  showAsker(inquiryId: InquiryId): void;
  /** What is under way is being ended, by a person or from outside. */
  noteStop(): void;
  /** Resolves when all is printed. Undefined: it ended with an error, which others tell. */
  end(end: TurnEnd | undefined): Promise<void>;
}

/** For programs: one event a line, as it is in the record but with nothing encoded. */
export function createJsonView(output: Output): TurnView {
  return {
    observe: (update) => {
      if (update.type === "event") output.write(`${jsonLine(eventToPlainJson(update.event))}\n`);
    },
    aside: (action) => action(),
    showCall: () => {},
    showAsker: () => {},
    noteStop: () => {},
    end: async () => {},
  };
}
