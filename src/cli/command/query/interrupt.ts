/** Handles Ctrl-C and other signals during a turn. For Ctrl-C, `interrupt` in the config chooses the action. */
import type { InterruptChoice, InterruptRequest, Turn } from "../../../core/agent/index.ts";
import type { PartialConfig } from "../../../settings/config/index.ts";
import { endOf, lastTurnOf } from "../../../record/conversation/index.ts";
import type { Conversation } from "../../../stores/index.ts";
import type { MenuRequest } from "../../../surfaces/terminal/index.ts";
import type { Clock } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { editText } from "../../editor.ts";
import { INTERRUPTED } from "../../exit-status.ts";
import type { UnsentText } from "./unsent-text.ts";
import type { PersonMenu, TurnView } from "./view.ts";

export interface InterruptSettings {
  readonly config: PartialConfig["interrupt"];
  readonly clock: Clock;
  /**
   * Opens the user's editor for a message. Undefined if it was left unchanged. Throws if the editor cannot be opened.
   */
  readonly editMessage: () => Promise<string | undefined>;
}

const COOLDOWN_SECS = 2;

/** The names used in the config. The menu has other names for two of them. */
const CHOICES = {
  continue: "continue",
  stop: "stop",
  abort: "discard",
  reply: "reply",
  respond: "reply",
  restart: "restart",
} as const satisfies Record<string, InterruptChoice["type"]>;

/** The interrupt menu of a query. A reply written there is never lost. */
export function menuFor(
  menu: PersonMenu,
  { interrupt: config, editor }: PartialConfig,
  { context, unsent, conversation }: MenuParts & Replied,
): PersonMenu {
  const editMessage = async () => {
    const draft = await editText({ name: "REPLY.md", text: "" }, context, editor);
    await draft.discard();
    return draft.text;
  };
  const keepDraft = (text: string) => unsent.keep(text);
  const keeping = {
    choose: (request: MenuRequest) => menu.choose({ ...request, keepDraft }),
  };
  const configured = configuredMenu(keeping, { config, clock: context.clock, editMessage });
  return {
    choose: async (request) => {
      const choice = await configured.choose(request);
      if (choice.type === "reply")
        unsent.expect(choice.message, () => isRecorded(choice.message, conversation));
      return choice;
    },
  };
}

/** Recorded as the user's message, or as the result of a call that it stopped. */
function isRecorded(reply: string, { stream }: Pick<Conversation, "stream">): boolean {
  return lastTurnOf(endOf(stream)).some(
    (event) =>
      (event.type === "chat_request" && event.content === reply) ||
      (event.type === "tool_call_response" && event.content.includes(reply)),
  );
}

interface Replied {
  readonly conversation: Pick<Conversation, "stream">;
}

interface MenuParts {
  readonly context: CommandContext;
  readonly unsent: UnsentText;
}

/** Takes the configured action at once. A second Ctrl-C soon after leaves the turn. */
export function configuredMenu(menu: PersonMenu, settings: InterruptSettings): PersonMenu {
  const { config = {}, clock } = settings;
  const cooldownMs = (config.escalation_cooldown_secs ?? COOLDOWN_SECS) * 1000;
  let last = Number.NEGATIVE_INFINITY;
  return {
    choose: async (request) => {
      const { action = "prompt", compose_in_editor: inEditor = false } = settingsFor(
        request,
        config,
      );
      const opensEditor = inEditor === true || inEditor === "always";
      const chosen = action === "prompt" ? undefined : CHOICES[action];
      if (chosen === undefined || !request.choices.includes(chosen)) {
        return opensEditor ? menuWithEditor(menu, request, settings) : menu.choose(request);
      }
      const now = clock.now().getTime();
      const isAgain = now - last < cooldownMs;
      last = now;
      if (isAgain) return { type: "leave" };
      if (chosen !== "reply") return { type: chosen };
      await request.stopNow?.();
      const written = opensEditor ? await compose(settings) : undefined;
      if (written !== undefined) return { type: "reply", message: written };
      // An editor that cannot be opened, or is left without a message, leads back to the menu.
      const stopped = { ...request, choices: request.choices.filter(isForStopped) };
      return menu.choose(inEditor === "always" ? stopped : { ...request, reply: "chosen" });
    },
  };
}

function isForStopped(choice: InterruptChoice["type"]): boolean {
  return choice !== "continue" && choice !== "restart";
}

/** Only tools can be restarted. */
function settingsFor(
  { choices }: InterruptRequest,
  config: NonNullable<PartialConfig["interrupt"]>,
) {
  return (choices.includes("restart") ? config.tool_call : config.streaming) ?? {};
}

/** A reply is written in the editor instead of at the prompt. */
async function menuWithEditor(
  menu: PersonMenu,
  request: MenuRequest,
  settings: InterruptSettings,
): Promise<InterruptChoice> {
  const choice = await menu.choose({ ...request, reply: "elsewhere" });
  if (choice.type !== "reply") return choice;
  const message = await compose(settings);
  return message === undefined
    ? menu.choose({ ...request, reply: "chosen" })
    : { type: "reply", message };
}

async function compose({ editMessage }: InterruptSettings): Promise<string | undefined> {
  const text = await editMessage().catch(() => undefined);
  return text === undefined || text.trim() === "" ? undefined : text.trim();
}

/**
 * Ctrl-C opens the menu, if possible; while the turn is ending, another one exits at once. SIGTERM, SIGHUP and a
 * closed output end the turn cleanly.
 */
export function watchSignals(
  turn: Turn,
  view: TurnView,
  { context, unsent }: MenuParts,
): Disposable {
  const { host } = context;
  const exit = () => {
    unsent.print(context.output);
    host.exit(INTERRUPTED);
  };
  const leave = () => {
    view.noteStop();
    turn.leave();
  };
  const onInterrupt = () => {
    if (turn.isLeaving) return exit();
    turn.interrupt();
    if (turn.isLeaving) view.noteStop(); // Otherwise the menu shows it.
  };
  const onEnd = () => {
    if (turn.isLeaving) return exit();
    leave();
  };
  // A closed terminal is reported in several ways at once: the second report is not an impatient user.
  const onGone = leave;
  const gone = context.onOutputGone(onGone);
  const watches = [
    gone,
    host.onSignal(["SIGINT"], onInterrupt),
    host.onSignal(["SIGTERM"], onEnd),
    host.onSignal(["SIGHUP"], onGone),
  ];
  return {
    [Symbol.dispose]: () => {
      for (const watch of watches) watch[Symbol.dispose]();
    },
  };
}
