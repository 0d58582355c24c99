/** The notation of a compaction rule: its range of turns, and its treatment of tool calls. */
import { findSeconds } from "./duration.ts";

/** The start or end of a range of turns, which start at 0. */
export type TurnBoundSettings =
  | { readonly type: "keep"; readonly count: number }
  | { readonly type: "turn"; readonly index: number }
  | { readonly type: "from_end"; readonly count: number }
  | { readonly type: "within"; readonly ms: number }
  | { readonly type: "after_compaction" };

/** The treatment of tool calls. */
export type ToolCallMode =
  | { readonly policy: "strip"; readonly request: boolean; readonly response: boolean }
  | { readonly policy: "omit" };

const STRIP = { policy: "strip", request: true, response: true } as const;
const STRIP_REQUESTS = { ...STRIP, response: false } as const;
const STRIP_RESPONSES = { ...STRIP, request: false } as const;
const OMIT = { policy: "omit" } as const;

/** Includes the short forms of the Rust original. */
export const TOOL_CALL_MODES = {
  strip: STRIP,
  s: STRIP,
  "strip-requests": STRIP_REQUESTS,
  strip_requests: STRIP_REQUESTS,
  sreq: STRIP_REQUESTS,
  "strip-responses": STRIP_RESPONSES,
  strip_responses: STRIP_RESPONSES,
  sres: STRIP_RESPONSES,
  omit: OMIT,
  o: OMIT,
} as const satisfies Record<string, ToolCallMode>;

/** The names of `TOOL_CALL_MODES`. */
export const TOOL_CALL_MODE_NAMES = Object.keys(
  TOOL_CALL_MODES,
) as (keyof typeof TOOL_CALL_MODES)[]; // Its own keys.

/**
 * A number of turns to keep, a duration such as `5h`, the number of a turn (`@3`), a number of turns before the last
 * (`-3`), or `last-compaction`. Undefined for anything else.
 */
export function parseTurnBound(written: string | number): TurnBoundSettings | undefined {
  const text = String(written).trim().toLowerCase();
  if (text === "last-compaction" || text === "last") return { type: "after_compaction" };
  const [, sign = "", digits] = /^([@-]?)(\d+)$/.exec(text) ?? [];
  if (digits === undefined) {
    const seconds = findSeconds(text);
    return seconds === undefined ? undefined : { type: "within", ms: seconds * 1000 };
  }
  const count = Number(digits);
  if (sign === "-") return { type: "from_end", count };
  if (sign === "") return { type: "keep", count };
  return count === 0 ? undefined : { type: "turn", index: count - 1 };
}
