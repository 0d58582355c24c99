/**
 * Signals while a turn runs. Ctrl-C asks the person what to do, where that is possible; once the turn is
 * being ended, another one ends everything at once. Programs that tools have started end with us. A
 * window that is closed, or a reader that has seen enough, ends the turn in good order too.
 */
import type { Turn } from "../../../agent/index.ts";
import type { CommandContext } from "../../context.ts";
import { INTERRUPTED } from "../../exit-status.ts";
import type { TurnView } from "./view.ts";

/** Until it is disposed of. */
export function watchSignals(turn: Turn, view: TurnView, context: CommandContext): Disposable {
  const { host } = context;
  const leave = () => {
    view.noteStop();
    turn.leave();
  };
  const onInterrupt = () => {
    if (turn.isLeaving) return host.exit(INTERRUPTED);
    turn.interrupt();
    if (turn.isLeaving) view.noteStop(); // Else there is a menu, which tells by itself.
  };
  const onEnd = () => {
    if (turn.isLeaving) return host.exit(INTERRUPTED);
    leave();
  };
  // Comes in many ways at once, and more than once: nobody is in a hurry.
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
