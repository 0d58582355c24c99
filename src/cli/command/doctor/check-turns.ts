/** Checks whether turns in a database were put back, and what the user has accepted of that. */
import { headsFileIn, listSeen, seenStatesBeside, userDataFolder } from "../../../stores/index.ts";
import type { CommandContext } from "../../context.ts";
import { counted } from "../evidence/wording.ts";
import { type Finding, findingFromError } from "./finding.ts";

const CHECK = "turns";

/** Nothing if no turn was ever put back. */
export async function checkTurns(context: CommandContext): Promise<readonly Finding[]> {
  try {
    const tenant = await context.findTenant();
    const behind = (await tenant?.findSteppedBack()) ?? [];
    return [...steppedBack(behind.length), ...accepted(context)];
  } catch (error) {
    return [findingFromError(CHECK, error)];
  }
}

function steppedBack(count: number): readonly Finding[] {
  if (count === 0) return [];
  const which = counted(count, "conversation");
  const message = `${which}: this machine has seen a newer state of the last turn.`;
  const hint =
    "If a backup was restored: jp store accept-restore. If not, someone has put it back.";
  return [{ check: CHECK, state: "warning", message, hint }];
}

function accepted({ environment }: CommandContext): readonly Finding[] {
  const folder = seenStatesBeside(headsFileIn(userDataFolder(environment)));
  const restored = [...listSeen(folder)].filter((state) => state.restored !== undefined);
  const last = restored.toSorted((left, right) => (left.at < right.at ? 1 : -1))[0];
  if (last === undefined) return [];
  const { at, restored: from } = last;
  const which = counted(restored.length, "older state");
  const message = `${which} accepted on this machine after a restore, last at ${at} by ${from?.by}`;
  return [{ check: CHECK, state: "ok", message }];
}
