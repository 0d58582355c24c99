/** The notation of a compaction rule: its range of turns, and its treatment of tool calls. */
import type { ToolCallCompaction, TurnBound } from "../../record/conversation/index.ts";
import { findSeconds } from "./duration.ts";

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
} as const satisfies Record<string, ToolCallCompaction>;

/** The names of `TOOL_CALL_MODES`. */
export const TOOL_CALL_MODE_NAMES = Object.keys(
  TOOL_CALL_MODES,
) as (keyof typeof TOOL_CALL_MODES)[]; // Its own keys.

/**
 * A number of turns to keep, a duration such as `5h`, the number of a turn (`@3`), a number of turns before the last
 * (`-3`), or `last-compaction`. Undefined for anything else.
 */
export function parseTurnBound(written: string | number): TurnBound | undefined {
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
