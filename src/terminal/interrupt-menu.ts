/** The menu that appears when a person interrupts what is under way. */
import type { InterruptChoice, InterruptRequest } from "../agent/index.ts";
import { CodedError } from "../util/index.ts";
import type { Dialogue } from "./dialogue.ts";

interface Entry {
  readonly key: string;
  readonly help: string;
}

/** Leaving has no key of its own: it is what interrupting the menu means. */
const ENTRIES: Readonly<Record<Exclude<InterruptChoice["type"], "leave">, Entry>> = {
  continue: { key: "c", help: "continue" },
  reply: { key: "r", help: "reply: end it, and say something about it" },
  stop: { key: "s", help: "stop: end it, and keep what there is" },
  discard: { key: "a", help: "abort: end it, and drop what there is" },
  restart: { key: "t", help: "restart what has not ended" },
};

const MESSAGE = "Interrupted";

/** Throws if the terminal goes away: then nothing was chosen. */
export async function chooseInterrupt(
  { choices, signal }: InterruptRequest,
  dialogue: Dialogue,
): Promise<InterruptChoice> {
  await dialogue.start();
  const offered = choices.filter((choice) => choice !== "leave");
  const menu = {
    message: MESSAGE,
    choices: Object.fromEntries(offered.map((type) => [ENTRIES[type].key, ENTRIES[type].help])),
    escape: "leave",
  };
  for (;;) {
    const chosen = await dialogue.choose<string>(menu);
    if (chosen.type === "aborted") return closedBy(signal);
    if (chosen.type === "cancelled") return close({ type: "leave" }, "leave", dialogue);
    const type = offered.find((one) => ENTRIES[one].key === chosen.choice) ?? "continue";
    if (type !== "reply") return close({ type }, type === "discard" ? "abort" : type, dialogue);
    const entered = await dialogue.enterText({ message: "Reply:" });
    if (entered.type === "aborted") return closedBy(signal);
    if (entered.type === "cancelled") continue;
    const { text: message } = entered;
    return close(
      { type: "reply", message },
      message === "" ? "reply" : `reply: ${message}`,
      dialogue,
    );
  }
}

function closedBy({ aborted }: AbortSignal): InterruptChoice {
  if (aborted) return { type: "continue" };
  throw new CodedError("no_terminal", "The terminal has gone away.");
}

function close(choice: InterruptChoice, said: string, dialogue: Dialogue): InterruptChoice {
  dialogue.printClosed({ message: MESSAGE, said, isCancelled: choice.type === "leave" });
  return choice;
}
