/** Asks on the terminal. Everything foreign is made harmless before it is shown. */
import type { Prompter, PromptRequest, PromptResult } from "../../agent/index.ts";
import { neutralize, oneLine } from "../../render/index.ts";
import { hasTerminal, openTerminal } from "./terminal-device.ts";

/** Escape, and Ctrl-D, by which people say that they have nothing more to say. */
const CANCELLING = new Set(["\u001b", "\u0004"]);

export class TerminalPrompter implements Prompter {
  readonly channel = "terminal";

  canAsk(): boolean {
    return hasTerminal();
  }

  async ask({ question, label, signal }: PromptRequest): Promise<PromptResult> {
    // Loaded when somebody is asked: most commands never do.
    const { isCancelled, prompt } = await import("./prompts.ts");
    using device = openTerminal();
    const { context } = question;
    if (context !== undefined) device.output.write(`${neutralize(context.trimEnd())}\n`);
    if (label !== undefined) device.output.write(`${oneLine(label)}\n`);
    const cancel = new AbortController();
    const onData = (data: Buffer) => {
      // The key alone: what other keys send begins with it too, but comes in one piece.
      if (CANCELLING.has(data.toString())) cancel.abort();
    };
    device.input.on("data", onData);
    try {
      const { input, output } = device;
      const streams = { input, output, signal: AbortSignal.any([signal, cancel.signal]) };
      return await prompt(question, streams);
    } catch (error) {
      if (isCancelled(error)) return { type: "cancelled" };
      throw error;
    } finally {
      device.input.off("data", onData);
    }
  }
}
