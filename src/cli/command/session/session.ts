/**
 * `jp` alone on a terminal: an interactive session. The prompt comes first, and everything else is loaded while
 * the user types.
 */
import type { ConversationId } from "../../../record/conversation/index.ts";
import {
  keepTerminal,
  type KeptTerminal,
  type OpenMessage,
  TerminalPrompter,
} from "../../../surfaces/terminal/index.ts";
import { loadModule } from "../../../util/index.ts";
import { type Host, wantsPlainText } from "../../host.ts";
import type { SessionInput } from "./loop.ts";
import type { SessionFlags } from "./open-session.ts";

/**
 * Continues this conversation, which the caller has shown, or else this terminal's active one. Returns when the user
 * leaves. Throws `ExitStatus` if the session was interrupted, and `no_workspace`.
 */
export async function session(
  host: Host,
  options: SessionFlags,
  conversationId?: ConversationId,
): Promise<void> {
  const stop = new AbortController();
  const prompt = new AbortController();
  const watch = host.onSignal(["SIGTERM", "SIGHUP"], () => stop.abort());
  const { promise: isOpen, resolve: onOpen } = Promise.withResolvers<OpenMessage>();
  const { mode: name = "ask" } = options;
  const input: SessionInput = {
    history: [],
    complete: () => undefined,
    hasEditor: false,
    mode: () => (name === "ask" ? undefined : { name }),
    nextMode: async () => {}, // The config is not loaded yet.
    typed: "",
    onTyped: (text) => {
      input.typed = text;
    },
  };
  const isPlain = wantsPlainText(host, {});
  // Text typed between prompts is never echoed.
  const kept = isPlain ? undefined : await keepQuietly(host);
  const prompter = new TerminalPrompter({
    device: host.terminal,
    isPlain,
    editText: async (...edited) => input.editText?.(...edited),
  });
  const entered = prompter.enterMessage({
    isFirst: true,
    hasCommands: true,
    history: () => input.history,
    complete: (buffer) => input.complete(buffer),
    hasEditor: () => input.hasEditor,
    mode: () => input.mode(),
    onNextMode: () => input.nextMode(),
    onTyped: (text) => input.onTyped(text),
    signal: AbortSignal.any([stop.signal, prompt.signal]),
    onOpen,
  });
  entered.catch(() => {}); // Its awaiter gets the error.
  try {
    const open = await Promise.race([isOpen, entered.then(() => undefined)]);
    const { runSession } = await loadModule(() => import("./loop.ts"));
    const first = { entered, open, close: () => prompt.abort() };
    const id = conversationId !== undefined && { conversationId };
    await runSession({ host, options, input, signal: stop.signal, first, kept, ...id });
  } finally {
    kept?.[Symbol.dispose]();
    watch[Symbol.dispose]();
  }
}

/** Ignores errors: the prompt reports a terminal that cannot be opened. */
async function keepQuietly({ terminal }: Host): Promise<KeptTerminal | undefined> {
  try {
    return await keepTerminal(terminal);
  } catch {
    return undefined;
  }
}
