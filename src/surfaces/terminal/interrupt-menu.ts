/** The menu that opens when the user presses Ctrl-C during a turn. */
import type { InterruptChoice, InterruptRequest } from "../../core/agent/index.ts";
import { JpError } from "../../util/index.ts";
import { choose } from "./choose.ts";
import type { Dialogue } from "./dialogue.ts";
import type { KeyChoice, KeyMenu } from "./key-menu.ts";

/** A request for the menu, or for part of it. */
export interface MenuRequest extends InterruptRequest {
  /** `chosen`: asks only for the reply's message. `elsewhere`: the message is asked for elsewhere, and stays empty. */
  readonly reply?: "chosen" | "elsewhere";
  /** Receives a typed but unsent reply. */
  readonly keepDraft?: (text: string) => void;
  /** Resolves when the output so far is on the screen. */
  readonly stopNow?: () => Promise<void> | void;
}

type Listed = Exclude<InterruptChoice["type"], "leave">;

/** `leave` has no key: Ctrl-C in the menu itself leaves. Escape returns to the turn. */
const ENTRIES = {
  continue: { key: "c", label: "continue", short: "continue" },
  reply: { key: "r", label: "stop and reply", short: "reply", help: "stop, and send a reply" },
  stop: { key: "s", label: "stop", short: "stop", help: "stop, and keep the output so far" },
  discard: {
    key: "a",
    label: "abort",
    short: "abort",
    help: "abort, and discard the output so far",
  },
  restart: {
    key: "t",
    label: "restart the tools",
    short: "restart",
    help: "restart the tools that are still running",
  },
} satisfies Record<Listed, KeyChoice<string>>;

const MESSAGE = "Interrupted";
const WRITE_REPLY = "Stopped. Write your reply:";

/** Throws `no_terminal` if the terminal is closed, since nothing was chosen. */
export async function chooseInterrupt(
  request: MenuRequest,
  dialogue: Dialogue,
): Promise<InterruptChoice> {
  const { choices, reply, signal, stopNow } = request;
  await dialogue.start();
  const offered = choices.filter((choice): choice is Listed => choice !== "leave");
  const entries = offered.map((type) => ENTRIES[type]);
  const menu: KeyMenu<string> = {
    message: MESSAGE,
    choices: entries,
    default: ENTRIES.continue.key,
    escape: "continue",
  };
  const ending = reply === "chosen" ? REPLY_CHOSEN : await choose(menu, dialogue);
  if (ending.type === "aborted") return continueIfAborted(signal);
  if (ending.type === "cancelled" && ending.isInterrupt === true)
    return close({ type: "leave" }, "quit", dialogue);
  const key = ending.type === "chosen" ? ending.choice : ENTRIES.continue.key;
  const type = LISTED.find((one) => ENTRIES[one].key === key) ?? "continue";
  if (type !== "reply") return close({ type }, ENTRIES[type].short, dialogue);
  await stopNow?.();
  close({ type, message: "" }, type, dialogue);
  return reply === "elsewhere" ? { type, message: "" } : writeReply(request, dialogue);
}

const LISTED = Object.keys(ENTRIES) as readonly Listed[]; // The keys are exactly these.
const REPLY_CHOSEN = { type: "chosen", choice: ENTRIES.reply.key } as const;

/** The work has stopped by now, so leaving the line leaves it stopped. */
async function writeReply(
  { signal, keepDraft }: MenuRequest,
  dialogue: Dialogue,
): Promise<InterruptChoice> {
  dialogue.print(WRITE_REPLY);
  const { state, ending } = await dialogue.enterMessage({
    hasWayBack: true,
    history: () => [],
    complete: () => undefined,
  });
  if (ending.type === "sent") return { type: "reply", message: ending.text.trim() };
  if (state.buffer.text.trim() !== "") keepDraft?.(state.buffer.text);
  return ending.type === "aborted" ? continueIfAborted(signal) : { type: "stop" };
}

function continueIfAborted({ aborted }: AbortSignal): InterruptChoice {
  if (aborted) return { type: "continue" };
  throw new JpError("no_terminal", "The terminal was closed.");
}

function close(choice: InterruptChoice, summary: string, dialogue: Dialogue): InterruptChoice {
  dialogue.printClosed({ message: MESSAGE, summary, isCancelled: choice.type === "leave" });
  return choice;
}
