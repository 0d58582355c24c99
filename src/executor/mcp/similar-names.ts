/** The names that are most like one that does not exist, the likeliest first. */

const MOST_NAMES = 5;

export function similarNames(wanted: string, known: readonly string[]): readonly string[] {
  const pairs = pairsOf(wanted);
  return known
    .map((name) => ({ name, likeness: likeness(pairs, pairsOf(name)) }))
    .toSorted((left, right) => right.likeness - left.likeness)
    .slice(0, MOST_NAMES)
    .map(({ name }) => name);
}

/** The share of neighbouring letters that two names have in common: `read_file` is like `file_read`. */
function likeness(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  const common = [...left].filter((pair) => right.has(pair)).length;
  return common === 0 ? 0 : (2 * common) / (left.size + right.size);
}

function pairsOf(name: string): ReadonlySet<string> {
  const letters = ` ${name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, " ")} `;
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)));
}
