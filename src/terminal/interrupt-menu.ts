/** The menu that opens when the user presses Ctrl-C during a turn. */
import type { InterruptChoice, InterruptRequest } from "../agent/index.ts";
import { JpError } from "../util/index.ts";
import type { Dialogue } from "./dialogue.ts";

/** The menu, or a part of it. */
export interface MenuRequest extends InterruptRequest {
  /** `chosen`: only the message of a reply is asked. `elsewhere`: it is asked elsewhere, and stays empty. */
  readonly reply?: "chosen" | "elsewhere";
}

interface Entry {
  readonly key: string;
  readonly help: string;
}

/** `leave` has no key: Ctrl-C in the menu itself means that. Escape goes back to the turn. */
const ENTRIES: Readonly<Record<Exclude<InterruptChoice["type"], "leave">, Entry>> = {
  continue: { key: "c", help: "continue" },
  reply: { key: "r", help: "stop, and send a reply" },
  stop: { key: "s", help: "stop, and keep the output so far" },
  discard: { key: "a", help: "abort, and discard the output so far" },
  restart: { key: "t", help: "restart the tools that are still running" },
};

const REPLY = { type: "chosen", choice: ENTRIES.reply.key } as const;

const MESSAGE = "Interrupted";

/** Throws `no_terminal` if the terminal is closed, since nothing was chosen then. */
export async function chooseInterrupt(
  { choices, reply, signal }: MenuRequest,
  dialogue: Dialogue,
): Promise<InterruptChoice> {
  await dialogue.start();
  const offered = choices.filter((choice) => choice !== "leave");
  const menu = {
    message: MESSAGE,
    choices: Object.fromEntries(offered.map((type) => [ENTRIES[type].key, ENTRIES[type].help])),
    escape: "continue",
  };
  let isReplying = reply === "chosen";
  for (;;) {
    const chosen = isReplying ? REPLY : await dialogue.choose<string>(menu);
    isReplying = false;
    if (chosen.type === "aborted") return continueIfAborted(signal);
    if (chosen.type === "cancelled" && chosen.isInterrupt === true)
      return close({ type: "leave" }, "quit", dialogue);
    const key = chosen.type === "cancelled" ? ENTRIES.continue.key : chosen.choice;
    const type = offered.find((one) => ENTRIES[one].key === key) ?? "continue";
    if (type !== "reply") return close({ type }, type === "discard" ? "abort" : type, dialogue);
    if (reply === "elsewhere") return close({ type, message: "" }, "reply", dialogue);
    const entered = await dialogue.enterText({ message: "Reply:", escape: "go back" });
    if (entered.type === "aborted") return continueIfAborted(signal);
    if (entered.type === "cancelled") continue;
    const { text: message } = entered;
    const summary = message === "" ? "reply" : `reply: ${message}`;
    return close({ type: "reply", message }, summary, dialogue);
  }
}

function continueIfAborted({ aborted }: AbortSignal): InterruptChoice {
  if (aborted) return { type: "continue" };
  throw new JpError("no_terminal", "The terminal was closed.");
}

function close(choice: InterruptChoice, summary: string, dialogue: Dialogue): InterruptChoice {
  dialogue.printClosed({ message: MESSAGE, summary, isCancelled: choice.type === "leave" });
  return choice;
}
