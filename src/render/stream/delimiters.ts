/** CommonMark's rules for emphasis, as far as they say which runs of marks belong together. */

/** A run that may begin emphasis, and how much of it is not closed. */
export interface Opener {
  readonly mark: string;
  readonly canClose: boolean;
  readonly length: number;
  left: number;
}

/** A run of one mark, with the characters on both sides. */
export interface DelimiterRun {
  readonly mark: string;
  readonly before: string;
  readonly next: string;
  readonly length: number;
}

/** More than anybody nests. Each run looks through all of them, so they must be few. */
const MOST_OPENERS = 100;

const SPACE = /^\s?$/;
const PUNCTUATION = /^[\p{P}\p{S}]$/u;

/** Takes the openers away that the run closes, and adds the run if it may be one. */
export function applyDelimiters(openers: Opener[], run: DelimiterRun): void {
  const { mark, length } = run;
  if (mark === "~" && length !== 2) return;
  const { canOpen, canClose } = flanks(run);
  let left = length;
  while (left > 0) {
    const index = canClose ? findOpener(openers, run, canOpen) : -1;
    const opener = openers[index];
    if (opener === undefined) break;
    const used = Math.min(left, opener.left);
    left -= used;
    opener.left -= used;
    openers.length = opener.left === 0 ? index : index + 1;
  }
  if (canOpen && left > 0) openers.push({ mark, canClose, length, left });
  if (openers.length > MOST_OPENERS) openers.shift();
}

function findOpener(
  openers: readonly Opener[],
  { mark, length }: DelimiterRun,
  canOpen: boolean,
): number {
  return openers.findLastIndex((opener) => {
    // Rules 9 and 10: what could both open and close does not close everything.
    const isAmbiguous = opener.canClose || canOpen;
    const isRefused = isAmbiguous && length % 3 !== 0 && (opener.length + length) % 3 === 0;
    return opener.mark === mark && !isRefused;
  });
}

function flanks({ mark, before, next }: DelimiterRun) {
  const isAfterGap = SPACE.test(before);
  const isBeforeGap = SPACE.test(next);
  const isAfterSign = PUNCTUATION.test(before);
  const isBeforeSign = PUNCTUATION.test(next);
  const left = !isBeforeGap && (!isBeforeSign || isAfterGap || isAfterSign);
  const right = !isAfterGap && (!isAfterSign || isBeforeGap || isBeforeSign);
  if (mark !== "_") return { canOpen: left, canClose: right };
  return { canOpen: left && (!right || isAfterSign), canClose: right && (!left || isBeforeSign) };
}
