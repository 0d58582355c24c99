/** Which lines of a text became which, with as few changes as there can be (E. Myers, 1986). */

/** Lines `oldStart` up to `oldEnd` became lines `newStart` up to `newEnd`; counted from 0, ends out. */
export interface LineChange {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

type Lines = readonly string[];

/** The work grows with the square of this; texts that differ more are replaced as a whole. */
const MOST_EDITS = 1000;

/** In order; between two changes there is at least one line that stays. */
export function diffLines(before: Lines, after: Lines): readonly LineChange[] {
  const start = commonStart(before, after);
  const end = commonEnd(before, after, start);
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  if (old.length === 0 && fresh.length === 0) return [];
  const changes = changesBetween(old, fresh) ?? [
    { oldStart: 0, oldEnd: old.length, newStart: 0, newEnd: fresh.length },
  ];
  return changes.map((change) => ({
    oldStart: change.oldStart + start,
    oldEnd: change.oldEnd + start,
    newStart: change.newStart + start,
    newEnd: change.newEnd + start,
  }));
}

function commonStart(before: Lines, after: Lines): number {
  let count = 0;
  while (count < before.length && count < after.length && before[count] === after[count])
    count += 1;
  return count;
}

function commonEnd(before: Lines, after: Lines, start: number): number {
  const most = Math.min(before.length, after.length) - start;
  let count = 0;
  while (count < most && before.at(-1 - count) === after.at(-1 - count)) count += 1;
  return count;
}

/** Undefined if there are too many. */
function changesBetween(old: Lines, fresh: Lines): readonly LineChange[] | undefined {
  const trace = search(old, fresh);
  return trace === undefined ? undefined : joinSteps(walkBack(trace, old.length, fresh.length));
}

/**
 * For each number of edits, how far down the old text one gets on each diagonal. Diagonal `k`, where
 * the old text is `k` lines ahead of the new one, is at index `edits + k`.
 */
function search(old: Lines, fresh: Lines): readonly Int32Array[] | undefined {
  const trace: Int32Array[] = [];
  const most = Math.min(old.length + fresh.length, MOST_EDITS);
  for (let edits = 0; edits <= most; edits += 1) {
    const reach = new Int32Array(2 * edits + 1);
    const previous = trace.at(-1);
    trace.push(reach);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = previous === undefined ? 0 : stepTo(previous, edits, diagonal).x;
      let y = x - diagonal;
      while (x < old.length && y < fresh.length && old[x] === fresh[y]) {
        x += 1;
        y += 1;
      }
      reach[edits + diagonal] = x;
      if (x >= old.length && y >= fresh.length) return trace;
    }
  }
  return undefined;
}

interface Step {
  /** The diagonal one comes from. */
  readonly from: number;
  /** Where one is after one line was deleted or inserted. */
  readonly x: number;
}

function stepTo(previous: Int32Array, edits: number, diagonal: number): Step {
  const reachOf = (other: number) => previous[edits - 1 + other] ?? -1;
  const down = diagonal === edits ? -1 : reachOf(diagonal + 1);
  const right = diagonal === -edits ? -1 : reachOf(diagonal - 1) + 1;
  return down >= right && diagonal !== edits
    ? { from: diagonal + 1, x: down }
    : { from: diagonal - 1, x: right };
}

/** Single deletions and insertions, the first one first. */
function walkBack(trace: readonly Int32Array[], oldEnd: number, newEnd: number): LineChange[] {
  const steps: LineChange[] = [];
  let diagonal = oldEnd - newEnd;
  for (let edits = trace.length - 1; edits > 0; edits -= 1) {
    const previous = trace[edits - 1] ?? new Int32Array();
    const { from, x } = stepTo(previous, edits, diagonal);
    const fromX = previous[edits - 1 + from] ?? 0;
    steps.push({ oldStart: fromX, oldEnd: x, newStart: fromX - from, newEnd: x - diagonal });
    diagonal = from;
  }
  return steps.toReversed();
}

function joinSteps(steps: readonly LineChange[]): readonly LineChange[] {
  const changes: LineChange[] = [];
  for (const step of steps) {
    const last = changes.at(-1);
    if (last?.oldEnd === step.oldStart && last.newEnd === step.newStart) {
      changes[changes.length - 1] = { ...last, oldEnd: step.oldEnd, newEnd: step.newEnd };
    } else {
      changes.push(step);
    }
  }
  return changes;
}
