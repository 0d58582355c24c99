/**
 * Where a provider is told to keep what it has read so far. Claude allows four such points in a
 * request, over tools, system parts and messages together, so they are given out here and only here.
 */
import type { SystemPart } from "../conversation/index.ts";
import type { CachePlace } from "./dialect.ts";
import type { Piece } from "./pieces.ts";

const MOST_POINTS = 4;

/** How many parts a provider looks back from a point for what an earlier request has left, itself included. */
const LOOKBACK = 20;

/** Metadata of an event behind which a point is wanted, instead of behind the last message. */
const WANTED = "cache_breakpoint";

export interface CachePoints {
  readonly isAfterTools: boolean;
  /** By position. */
  readonly systemParts: ReadonlySet<number>;
  readonly pieces: ReadonlySet<number>;
}

export interface Cacheable {
  /** What takes a mark; nothing does where this is empty. */
  readonly places: ReadonlySet<CachePlace>;
  readonly hasTools: boolean;
  readonly systemParts: readonly SystemPart[];
  readonly pieces: readonly Piece[];
}

/** What changes least comes first: tools, instructions, attachments, then the conversation. */
export function planCachePoints(cacheable: Cacheable): CachePoints {
  const { places, hasTools, systemParts, pieces } = cacheable;
  const marked = places.has("system") ? lastOfEachKind(systemParts) : new Set<number>();
  const wanted = wantedPoints(pieces, places);
  const needed = withinReach(pieces, places, wanted[0]);
  // The point behind the instructions covers the tools too, so it is theirs that is given up.
  const canTakeTools = marked.size === 0 || marked.size + needed.length < MOST_POINTS;
  const isAfterTools = hasTools && places.has("tools") && canTakeTools;
  const left = MOST_POINTS - (isAfterTools ? 1 : 0) - marked.size;
  const points = [...new Set([...needed, ...wanted])];
  return { isAfterTools, systemParts: marked, pieces: new Set(points.slice(0, Math.max(0, left))) };
}

/** One behind the prompt with its sections, and one behind the attachments. */
function lastOfEachKind(parts: readonly SystemPart[]): ReadonlySet<number> {
  const last = [
    parts.findLastIndex((part) => !isAttachment(part)),
    parts.findLastIndex(isAttachment),
  ];
  return new Set(last.filter((position) => position !== -1));
}

function isAttachment({ tag }: SystemPart): boolean {
  return tag === "attachments";
}

/** The latest first, for the earlier ones are the first to do without. */
function wantedPoints(
  pieces: readonly Piece[],
  places: ReadonlySet<CachePlace>,
): readonly number[] {
  const asked = [...pieces.keys()].filter(
    (position) => pieces[position]?.event.metadata?.[WANTED] === true,
  );
  const wanted = asked.length > 0 ? asked.toReversed() : [pieces.length - 1];
  const points = wanted.map((position) => lastMarkable(pieces.slice(0, position + 1), places));
  return [...new Set(points)].filter((position) => position !== -1);
}

/**
 * The point itself, and where a long reply came in between also the end of the request before, which
 * would not be found again from there.
 */
function withinReach(
  pieces: readonly Piece[],
  places: ReadonlySet<CachePlace>,
  point: number | undefined,
): readonly number[] {
  if (point === undefined) return [];
  const before = lastMarkable(pieces.slice(0, endOfRequestBefore(pieces, point) + 1), places);
  return before === -1 || point - before < LOOKBACK ? [point] : [point, before];
}

/** Behind it stand the reply to that request, and results or a message after the reply. */
function endOfRequestBefore(pieces: readonly Piece[], position: number): number {
  const reply = pieces.slice(0, position + 1).findLastIndex(({ role }) => role === "assistant");
  return pieces.slice(0, reply + 1).findLastIndex(({ role }) => role !== "assistant");
}

/** Reasoning never takes a mark. */
function lastMarkable(pieces: readonly Piece[], places: ReadonlySet<CachePlace>): number {
  return pieces.findLastIndex(({ role, part }) => places.has(role) && part.type !== "reasoning");
}
