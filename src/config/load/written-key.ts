/** Where a key, or an entry of a list, stands in a text. */
export interface WrittenKey {
  readonly path: readonly string[];
  /** From 1. */
  readonly line: number;
}
