/** How a running turn is shown, as `style` in the config says, and how prompts share the screen with it. */
import type {
  InterruptMenu,
  Observer,
  PermissionRequest,
  Prompter,
  TurnEnd,
} from "../../../agent/index.ts";
import type { PartialConfig } from "../../../config/index.ts";
import {
  type CallProgress,
  eventToPlainJson,
  type InquiryId,
} from "../../../conversation/index.ts";
import { jsonLine } from "../../../render/index.ts";
import type { Output } from "../../../terminal/index.ts";
import type { ReasoningDisplay } from "./reply-view.ts";
import type { ProgressSettings } from "./text-view.ts";

export interface TurnView extends Observer {
  /** The calls that an incomplete turn continues with. */
  resume(calls: readonly CallProgress[]): void;
  /** Leaves the screen to a prompt while the action runs. */
  aside<Value>(action: () => Promise<Value>): Promise<Value>;
  /** The user is about to be asked for permission. */
  showCall(request: PermissionRequest): void;
  /** The user is about to be asked a question of a call. */
  showAsker(inquiryId: InquiryId): void;
  /** The turn is being stopped, by the user or from outside. */
  noteStop(): void;
  /** Resolves when everything is printed. Undefined after an error, which the caller reports. */
  end(end: TurnEnd | undefined): Promise<void>;
}

/** `--format json`: one event per line, as in the record but with nothing base64-encoded. */
export function createJsonView(output: Output): TurnView {
  return {
    observe: (update) => {
      if (update.type === "event") output.write(`${jsonLine(eventToPlainJson(update.event))}\n`);
    },
    resume: () => {},
    aside: (action) => action(),
    showCall: () => {},
    showAsker: () => {},
    noteStop: () => {},
    end: async () => {},
  };
}

/** A prompter that owns the screen while it asks, about any call or only about this one. */
export function withScreen(prompter: Prompter, view: TurnView, onlyCall?: string): Prompter {
  const askForm = prompter.askForm?.bind(prompter);
  const { channel, unavailableBecause } = prompter;
  return {
    channel,
    ...(unavailableBecause !== undefined && { unavailableBecause }),
    canAsk: (call) => (onlyCall === undefined || call === onlyCall) && prompter.canAsk(call),
    ask: (request) =>
      view.aside(() => {
        view.showAsker(request.inquiryId);
        return prompter.ask(request);
      }),
    ...(askForm !== undefined && {
      askForm: (request) =>
        view.aside(() => {
          view.showAsker(request.inquiryId);
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

type Style = NonNullable<PartialConfig["style"]>;
type Progress = NonNullable<Style["mcp_startup"]>;

export function viewSettings(style: Style, { hideReasoning = false } = {}) {
  const { streaming, tool_call: toolCall, markdown, code } = style;
  const { wrap_width: wrapWidth = 0 } = markdown ?? {};
  const progress: ProgressSettings = {
    streaming: progressOf(streaming?.progress),
    preparing: progressOf(toolCall?.preparing),
    toolCall: progressOf(toolCall?.progress),
  };
  return {
    reasoning: hideReasoning ? ({ type: "hidden" } as const) : reasoningOf(style),
    showsCalls: toolCall?.show ?? true,
    ...(wrapWidth > 0 && { wrapWidth }),
    colorsCode: code?.color ?? true,
    progress,
  };
}

function progressOf(progress: Progress = {}): ProgressSettings["streaming"] {
  const { show: isShown = true, delay_secs: delay, interval_ms: intervalMs } = progress;
  return {
    isShown,
    ...(delay !== undefined && { delayMs: delay * 1000 }),
    ...(intervalMs !== undefined && { intervalMs }),
  };
}

function reasoningOf({ reasoning = {} }: Style): ReasoningDisplay {
  const { display = "full" } = reasoning;
  if (typeof display === "object")
    return { type: "start", characters: display.truncate.characters };
  switch (display) {
    case "full":
    case "hidden":
    case "static":
    case "progress":
      return { type: display };
    case "timer": // The status line shows the time anyway.
      return { type: "progress" };
    case "summary": // Of other versions; a warning says that it has no effect.
      return { type: "full" };
    default:
      return { type: "start", characters: Number(display) };
  }
}
