/** A prompter that has the screen to itself while it asks. */
import type { InterruptMenu, Prompter } from "../../../agent/index.ts";
import type { TurnView } from "./view.ts";

export function withScreen(
  prompter: Prompter & InterruptMenu,
  view: TurnView,
): Prompter & InterruptMenu {
  return {
    channel: prompter.channel,
    canAsk: () => prompter.canAsk(),
    ask: (request) => view.aside(() => prompter.ask(request)),
    askPermission: (request) => view.aside(() => prompter.askPermission(request)),
    askDelivery: (request) => view.aside(() => prompter.askDelivery(request)),
    choose: (request) => view.aside(() => prompter.choose(request)),
  };
}
