/** `jp store accept-restore`: accepts turns that a restored backup has put back. */
import { findOsUser } from "../../../settings/people/index.ts";
import type { SteppedBackTurn } from "../../../stores/index.ts";
import { JpError, oneLine } from "../../../util/index.ts";
import { warn } from "../../context.ts";
import { assertTerminal, confirm } from "../../confirm.ts";
import type { Call } from "../../define.ts";
import { ExitStatus } from "../../exit-status.ts";
import { counted } from "../evidence/wording.ts";
import { noDatabaseError } from "../../exit-status.ts";

const MAX_LISTED = 20;
/** A script could be started by whoever has put the turns back. */
const HINT = "Run it on a terminal: there is no flag that answers for you.";

/** Throws `usage` without a terminal or a database, `turns_not_accepted`, and what the database throws. */
export async function acceptRestore({ context }: Call): Promise<void> {
  const { host, output } = context;
  assertTerminal(host, HINT);
  const tenant = await context.findTenant();
  if (tenant === undefined) throw noDatabaseError("No database is configured.");
  const found = await tenant.findSteppedBack();
  if (found.length === 0) {
    output.notice("No turn is older than the state that this machine has seen.");
    return;
  }
  const turns = counted(found.length, "conversation");
  output.notice(`${turns} of this store: this machine has seen newer states.`);
  for (const turn of found.slice(0, MAX_LISTED)) output.notice(`  ${describe(turn)}`);
  if (found.length > MAX_LISTED) output.notice(`  and ${found.length - MAX_LISTED} more`);
  context.warn(
    "An approval in an older state may have been used since. If you continue, its tool may run again.",
  );
  if (!(await confirm("Has a backup been restored, and do you accept these states?", host, HINT)))
    throw new ExitStatus(1);
  const by = findOsUser();
  let count = 0;
  for (const turn of found) {
    if (await tenant.acceptSteppedBack(turn, by)) count += 1;
    else warn(`${turn.conversation}: it is in use, or has changed since. Try again.`, output);
  }
  output.notice(`Accepted ${counted(count, "conversation")}.`);
  if (count < found.length)
    throw new JpError("turns_not_accepted", `${found.length - count} were not accepted.`);
}

function describe({ workspace, conversation, counter, seen }: SteppedBackTurn): string {
  const { counter: newer, at } = seen;
  return oneLine(`${conversation} (${workspace}): state ${counter}, seen ${newer} on ${at}`);
}
