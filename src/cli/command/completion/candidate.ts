/** Something that could be typed next. */
export interface Candidate {
  readonly value: string;
  readonly description?: string;
  /** Takes the place of what was typed, which need not be its beginning. */
  readonly isReplacing?: boolean;
}
