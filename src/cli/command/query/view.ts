/** What a turn looks like from outside while it runs. */
import type {
  InterruptMenu,
  Observer,
  PermissionRequest,
  Prompter,
  TurnEnd,
} from "../../../agent/index.ts";
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
