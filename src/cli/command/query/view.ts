/** How a running turn is shown, and how prompts share the screen with it. */
import type {
  InterruptChoice,
  InterruptMenu,
  Observer,
  Prompter,
  RequestBase,
  TurnEnd,
} from "../../../core/agent/index.ts";
import {
  type CallProgress,
  eventToPlainJson,
  type InquiryId,
} from "../../../record/conversation/index.ts";
import type { MenuRequest, Output } from "../../../surfaces/terminal/index.ts";
import { jsonLine } from "../../../util/index.ts";

export interface TurnView extends Observer {
  /** Loads the code that shows replies; otherwise the first reply would wait for it. Throws `module_not_loaded`. */
  load(): Promise<void>;
  /** The calls that an incomplete turn continues with. */
  resume(calls: readonly CallProgress[]): void;
  /**
   * Leaves the screen to a prompt while the action runs. `endReply` ends the reply here and prints the rest of it.
   */
  aside<Value>(action: (endReply: () => Promise<void>) => Promise<Value>): Promise<Value>;
  /** Called before a prompt that shows the call itself. */
  showCall(request: ShownCall): void;
  /** Called before a prompt with a call's question. */
  showAsker(inquiryId: InquiryId): void;
  /** Called when the turn is being stopped, by the user or from outside. */
  noteStop(): void;
  /** Shows the last result that was shortened, or else reasoning: in full, or folded, from now on. */
  expand(): void;
  /** Resolves when everything is printed. Undefined after an error, which the caller reports. */
  end(end: TurnEnd | undefined): Promise<void>;
}

/** A request whose prompt shows the call. */
export type ShownCall = Pick<RequestBase, "tool" | "arguments" | "inquiryId">;

/** `--format json`: one event per line, as in the record but with nothing base64-encoded. */
export function createJsonView(output: Output): TurnView {
  return {
    observe: (update) => {
      if (update.type === "event") output.write(`${jsonLine(eventToPlainJson(update.event))}\n`);
    },
    load: async () => {},
    resume: () => {},
    aside: (action) => action(async () => {}),
    showCall: () => {},
    showAsker: () => {},
    noteStop: () => {},
    expand: () => {},
    end: async () => {},
  };
}

/** A prompter that owns the screen while it asks, about any call or only about this one. */
export function withScreen(prompter: Prompter, view: TurnView, onlyCall?: string): Prompter {
  const { channel, auth, unavailableBecause, showsForms, showsPermissions } = prompter;
  return {
    channel,
    ...(auth !== undefined && { auth }),
    ...(unavailableBecause !== undefined && { unavailableBecause }),
    ...(showsForms !== undefined && { showsForms }),
    ...(showsPermissions !== undefined && { showsPermissions }),
    canAsk: (call) => (onlyCall === undefined || call === onlyCall) && prompter.canAsk(call),
    ask: (request) =>
      view.aside(() => {
        if (request.kind === "permissions") request.calls.forEach((call) => view.showCall(call));
        else if (request.acts) view.showCall(request);
        else if (request.kind !== "delivery") view.showAsker(request.inquiryId);
        return prompter.ask(request);
      }),
  };
}

/** The terminal's menu, which can also ask just for a reply. */
export interface PersonMenu {
  choose(request: MenuRequest): Promise<InterruptChoice>;
}

/** Prints all that the assistant has said before a reply to it is written. */
export function menuWithScreen(menu: PersonMenu, view: TurnView): InterruptMenu {
  return {
    choose: async (request) => {
      const choice = await view.aside((endReply) => {
        const stopNow = () => {
          request.stopNow?.();
          return endReply();
        };
        return menu.choose({ ...request, stopNow });
      });
      if (choice.type !== "continue" && choice.type !== "restart") view.noteStop();
      return choice;
    },
  };
}
