/**
 * Decides up to which points a request asks the provider to cache the prompt. Claude allows four such points in a
 * request, across tools, system parts and messages, so this file alone assigns them.
 */
import type { SystemPart } from "../../record/conversation/index.ts";
import type { CachePlace } from "./dialect.ts";

const MAX_POINTS = 4;

/** How many parts back from a point, inclusive, Claude searches for an earlier cache entry. */
const LOOKBACK = 20;

export interface CachePoints {
  readonly isAfterTools: boolean;
  /** Positions. */
  readonly systemParts: ReadonlySet<number>;
  readonly pieces: ReadonlySet<number>;
}

/** The properties of a message piece that matter for caching. */
export interface CacheablePiece {
  readonly role: "user" | "assistant" | "tool";
  /** It cannot be marked. */
  readonly isReasoning: boolean;
  readonly holdsAttachments: boolean;
  /** A point is wanted after it instead of after the last message. */
  readonly isBreakpoint: boolean;
}

export interface Cacheable {
  /** Where the API accepts a mark; empty if nowhere. */
  readonly places: ReadonlySet<CachePlace>;
  readonly hasTools: boolean;
  readonly systemParts: readonly SystemPart[];
  readonly pieces: readonly CacheablePiece[];
}

/** The parts that change least come first in a request: tools, instructions, attachments, conversation. */
export function planCachePoints(cacheable: Cacheable): CachePoints {
  const { places, hasTools, systemParts, pieces } = cacheable;
  // Surroundings change too often.
  const systemPoint = systemParts.findLastIndex(({ tag }) => tag !== "surroundings");
  const hasSystemPoint = systemPoint !== -1 && places.has("system");
  const attachments = pieces.filter(({ holdsAttachments }) => holdsAttachments);
  const attachmentPoint = lastMarkable(attachments, places);
  const wanted = wantedPoints(pieces, places);
  const required = requiredPoints(pieces, places, wanted[0]);
  const early = (hasSystemPoint ? 1 : 0) + (attachmentPoint === -1 ? 0 : 1);
  // The points after instructions and attachments cover the tools too, so theirs is dropped first.
  const canMarkTools = early === 0 || early + required.length < MAX_POINTS;
  const isAfterTools = hasTools && places.has("tools") && canMarkTools;
  const left = Math.max(0, MAX_POINTS - (isAfterTools ? 1 : 0) - early);
  const points = [...new Set([...required, ...wanted])].slice(0, left);
  return {
    isAfterTools,
    systemParts: new Set(hasSystemPoint ? [systemPoint] : []),
    pieces: new Set(attachmentPoint === -1 ? points : [attachmentPoint, ...points]),
  };
}

/** Latest first, because the earliest are dropped when points run out. */
function wantedPoints(
  pieces: readonly CacheablePiece[],
  places: ReadonlySet<CachePlace>,
): readonly number[] {
  const requested = [...pieces.keys()].filter((position) => pieces[position]?.isBreakpoint);
  const wanted = requested.length > 0 ? requested.toReversed() : [pieces.length - 1];
  const points = wanted.map((position) => lastMarkable(pieces.slice(0, position + 1), places));
  return [...new Set(points)].filter((position) => position !== -1);
}

/**
 * The point itself and, if a reply of many parts came in between, the end of the previous request, whose cache entry
 * would otherwise be out of reach.
 */
function requiredPoints(
  pieces: readonly CacheablePiece[],
  places: ReadonlySet<CachePlace>,
  point: number | undefined,
): readonly number[] {
  if (point === undefined) return [];
  const previous = lastMarkable(pieces.slice(0, endOfPreviousRequest(pieces, point) + 1), places);
  return previous === -1 || point - previous < LOOKBACK ? [point] : [point, previous];
}

/** Followed by its reply, and then by results or a message of the user. */
function endOfPreviousRequest(pieces: readonly CacheablePiece[], position: number): number {
  const reply = pieces.slice(0, position + 1).findLastIndex(({ role }) => role === "assistant");
  return pieces.slice(0, reply + 1).findLastIndex(({ role }) => role !== "assistant");
}

function lastMarkable(pieces: readonly CacheablePiece[], places: ReadonlySet<CachePlace>): number {
  return pieces.findLastIndex(({ role, isReasoning }) => places.has(role) && !isReasoning);
}
