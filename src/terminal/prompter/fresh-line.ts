/** A question begins in a line of its own, and with the keys that are pressed from now on. */
import { CURSOR_MILLISECONDS, WHERE_IS_CURSOR } from "./live-region.ts";
import type { Terminal } from "./terminal-device.ts";

/**
 * Breaks the line that somebody else has begun. What was typed before the terminal has said where its
 * cursor is was not an answer to this question: it is dropped.
 */
export async function startFreshLine(terminal: Terminal, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const goOn = () => resolve(1);
  const timer = setTimeout(goOn, CURSOR_MILLISECONDS);
  signal.addEventListener("abort", goOn, { once: true });
  terminal.listen({
    onInput: (sent) => {
      const report = sent.find((one) => one.type === "cursor");
      if (report !== undefined) resolve(report.column);
    },
    onResize: () => {},
    onGone: goOn,
  });
  terminal.write(WHERE_IS_CURSOR);
  const column = await promise;
  terminal.listen(undefined);
  clearTimeout(timer);
  signal.removeEventListener("abort", goOn);
  if (column > 1) terminal.write("\r\n");
}
