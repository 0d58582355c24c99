/** A question begins in a line of its own, and with the keys that are pressed from now on. */
import { CURSOR_MILLISECONDS, WHERE_IS_CURSOR } from "./live-region.ts";
import type { Terminal } from "./terminal-device.ts";

const WHAT_ARE_YOU = "\u001b[>c";
/** What xterm.js says it is, in editors and browsers. */
const XTERM_JS = "0;276;0";

export interface FreshLine {
  /** Of the terminal, when it gets narrower: see `LiveRegion`. */
  readonly losesCursor: boolean;
}

/**
 * Breaks the line that somebody else has begun. What was typed before the terminal has said where its
 * cursor is was not an answer to this question: it is dropped.
 */
export async function startFreshLine(terminal: Terminal, signal: AbortSignal): Promise<FreshLine> {
  let losesCursor = false;
  const { promise, resolve } = Promise.withResolvers<number>();
  const goOn = () => resolve(1);
  const timer = setTimeout(goOn, CURSOR_MILLISECONDS);
  signal.addEventListener("abort", goOn, { once: true });
  terminal.listen({
    onInput: (sent) => {
      losesCursor ||= sent.some((one) => one.type === "version" && one.version === XTERM_JS);
      const report = sent.find((one) => one.type === "cursor");
      if (report !== undefined) resolve(report.column);
    },
    onResize: () => {},
    onGone: goOn,
  });
  terminal.write(WHAT_ARE_YOU + WHERE_IS_CURSOR);
  const column = await promise;
  terminal.listen(undefined);
  clearTimeout(timer);
  signal.removeEventListener("abort", goOn);
  if (column > 1) terminal.write("\r\n");
  return { losesCursor };
}
