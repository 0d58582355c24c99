/** How the steps of a day are written down, with drawn prompts and in plain mode. */

export interface Step {
  /**
   * `⏎`, `⇥`, `⎋`, `⇲` (End), arrows and `^C` are keys; text in `«»` is pasted, and `⋮` stands for 300 lines. `▶` is no key:
   * the model goes on.
   */
  readonly keys: string;
  /** What the screen then shows, and did not show before. */
  readonly until: string | RegExp;
  /** Nothing waits for input then. */
  readonly isBusy?: boolean;
  /** This file is in the shop then: what runs is not on the screen in plain mode. */
  readonly file?: string;
  /** The window is made this wide first. */
  readonly columns?: number;
}

export interface Variants {
  readonly drawn?: Step;
  readonly plain?: Step;
}

export interface Part {
  /** That of its recordings. */
  readonly name: string;
  /** Continues "someone". */
  readonly does: string;
  readonly steps: readonly Variants[];
  /** The shop is a workspace already. */
  readonly isPrepared: boolean;
}

type Until = Step["until"];

export const both = (keys: string, until: Until): Variants => ({
  drawn: { keys, until },
  plain: { keys, until },
});
/** With drawn prompts, Enter decides at once. In plain mode it ends the line. */
export const answer = (key: string, until: Until): Variants => both(`${key}⏎`, until);
export const drawn = (keys: string, until: Until): Variants => ({ drawn: { keys, until } });
export const plain = (keys: string, until: Until): Variants => ({ plain: { keys, until } });
export const resized = (columns: number, until: Until): Variants => ({
  drawn: { keys: "", until, columns },
});
/** Nothing waits for input after the step. */
export const busy = ({ drawn: one, plain: other }: Variants): Variants => ({
  ...(one !== undefined && { drawn: { ...one, isBusy: true } }),
  ...(other !== undefined && { plain: { ...other, isBusy: true } }),
});
/** The step is over when a file is there too. */
export const writes = (file: string, { plain: step }: Variants): Variants => ({
  ...(step !== undefined && { plain: { ...step, file } }),
});

/** An empty screen. */
export const cleared = drawn("clear⏎", /^\$$/);
/** The prompt of a session, empty. */
export const PROMPT = /(?:Ctrl-D leave|\nMessage:)$/;

/** A yes or no is asked. */
export const ASKED = /(?: {2}y yes[^?]*\? more|\nAnswer:)$/;

export function drawnSteps(steps: readonly Variants[]): readonly Step[] {
  return steps.flatMap(({ drawn: step }) => step ?? []);
}

export function plainSteps(steps: readonly Variants[]): readonly Step[] {
  return steps.flatMap(({ plain: step }) => step ?? []);
}
