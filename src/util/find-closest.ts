/** The known word that was probably meant; undefined if none is close enough. */
export function findClosest(word: string, known: readonly string[]): string | undefined {
  const maxDistance = Math.max(1, Math.floor(word.length / 3));
  const ranked = known
    // A larger difference in length alone is too far.
    .filter((candidate) => Math.abs(candidate.length - word.length) <= maxDistance)
    .map((candidate) => ({ candidate, distance: distance(word, candidate) }))
    .toSorted((left, right) => left.distance - right.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= maxDistance ? best.candidate : undefined;
}

/** Damerau-Levenshtein: the number of letters to add, drop, change, or swap with the next. */
function distance(left: string, right: string): number {
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= left.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const isSame = left[i - 1] === right[j - 1];
      const isSwapped =
        i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      row[j] = Math.min(
        at(rows, i - 1, j) + 1,
        at([row], 0, j - 1) + 1,
        at(rows, i - 1, j - 1) + (isSame ? 0 : 1),
        isSwapped ? at(rows, i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    rows.push(row);
  }
  return at(rows, left.length, right.length);
}

function at(rows: readonly (readonly number[])[], row: number, column: number): number {
  return rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
}
