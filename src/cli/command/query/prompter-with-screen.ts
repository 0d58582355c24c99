/** A prompter that has the screen to itself while it asks. */
import type { InterruptMenu, Prompter } from "../../../agent/index.ts";
import type { TurnView } from "./view.ts";

export function withScreen(prompter: Prompter, view: TurnView): Prompter {
  const askForm = prompter.askForm?.bind(prompter);
  return {
    channel: prompter.channel,
    canAsk: () => prompter.canAsk(),
    ask: (request) =>
      view.aside(() => {
        view.showAsker(request.inquiryId);
        return prompter.ask(request);
      }),
    ...(askForm !== undefined && {
      askForm: (request) =>
        view.aside(() => {
          const [first] = request.fields;
          if (first !== undefined) view.showAsker(first.inquiryId);
          return askForm(request);
        }),
    }),
    askPermission: (request) =>
      view.aside(() => {
        view.showCall(request);
        return prompter.askPermission(request);
      }),
    askDelivery: (request) => view.aside(() => prompter.askDelivery(request)),
  };
}

export function menuWithScreen(menu: InterruptMenu, view: TurnView): InterruptMenu {
  return {
    choose: async (request) => {
      const choice = await view.aside(() => menu.choose(request));
      if (choice.type !== "continue" && choice.type !== "restart") view.noteStop();
      return choice;
    },
  };
}
