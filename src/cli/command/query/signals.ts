/** What signals do to a turn. */
import type { Turn } from "../../../agent/index.ts";
import type { CommandContext } from "../../context.ts";
import { INTERRUPTED } from "../../exit-status.ts";
import type { TurnView } from "./view.ts";

/**
 * Ctrl-C asks the user what to do, where that is possible; while the turn is ending, another one exits at
 * once. SIGTERM, SIGHUP and a closed output end the turn in good order.
 */
export function watchSignals(turn: Turn, view: TurnView, context: CommandContext): Disposable {
  const { host } = context;
  const leave = () => {
    view.noteStop();
    turn.leave();
  };
  const onInterrupt = () => {
    if (turn.isLeaving) return host.exit(INTERRUPTED);
    turn.interrupt();
    if (turn.isLeaving) view.noteStop(); // Otherwise the menu shows it.
  };
  const onEnd = () => {
    if (turn.isLeaving) return host.exit(INTERRUPTED);
    leave();
  };
  // A closed terminal is reported in several ways at once: do not take the second for impatience.
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
