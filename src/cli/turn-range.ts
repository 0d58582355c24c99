/** Which turns `--first`, `--last` and `--turn` mean. People count them from 1. */
import { usageError } from "./exit-status.ts";

export interface TurnFlags {
  readonly first?: number;
  readonly last?: number;
  readonly turn?: string;
}

/** Positions from 0, both included; `to < from` means none. */
export interface TurnRange {
  readonly from: number;
  readonly to: number;
}

/** Throws `usage`. */
export function turnRange({ first, last, turn }: TurnFlags, count: number): TurnRange {
  if ([first, last, turn].filter((flag) => flag !== undefined).length > 1) {
    throw usageError("Use only one of --first, --last and --turn.");
  }
  if (first !== undefined) return { from: 0, to: Math.min(first, count) - 1 };
  if (last !== undefined) return { from: Math.max(0, count - last), to: count - 1 };
  return turn === undefined ? { from: 0, to: count - 1 } : parseRange(turn, count);
}

function parseRange(text: string, count: number): TurnRange {
  const [, start, dots, end] = /^(\d*)(\.\.)?(\d*)$/.exec(text) ?? [];
  if (start === undefined || text === "" || (dots === undefined && end !== "")) {
    throw usageError(`Not a range of turns: ${text}`, "Write 3, 2..5, 4.. or ..2.");
  }
  const from = start === "" ? 1 : Number(start);
  const to = dots === undefined ? from : end ? Number(end) : count;
  if (from < 1 || to > count || from > count || to < from) {
    throw usageError(`There is no turn ${text}: the conversation has ${count}.`);
  }
  return { from: from - 1, to: to - 1 };
}
