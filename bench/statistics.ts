/** Medians, noise, and whether a number has regressed. */

/** A measured number: a ratio to a reference in the same run, or a size. */
export interface Figure {
  readonly value: number;
  /** The deviation of single rounds from the median, relative to it: 0.05 is 5 %. */
  readonly noise: number;
}

/**
 * The kind of measurement: wall-clock `time`, `cpu` time, or a `size`. Other programs affect wall-clock time most.
 * CPU time does not include waiting for a disk or another process.
 */
export type Kind = "time" | "cpu" | "size";

/** A median absolute deviation times this is the standard deviation of a normal distribution. */
const DEVIATION = 1.4826;
/** How much a number may grow even if its noise is lower: runs differ more than rounds. */
const MIN_LIMIT: Readonly<Record<Kind, number>> = { time: 0.25, cpu: 0.12, size: 0.05 };
/** In standard deviations of a single round. The median of many rounds varies far less. */
const DEVIATIONS = 3;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, two) => one - two);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** The value that this share of them does not exceed: 0.99 for all but the slowest hundredth. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, two) => one - two);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** The ratio of two alternating sides: element `n` of both is from round `n`. */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): Figure {
  const pairs = ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
  return { value: median(ours) / median(theirs), noise: noiseOf(pairs) };
}

/** A number measured several times, without a reference. */
export function figureOf(values: readonly number[]): Figure {
  return { value: median(values), noise: noiseOf(values) };
}

function noiseOf(values: readonly number[]): number {
  const middle = median(values);
  const deviation = median(values.map((value) => Math.abs(value - middle)));
  return (DEVIATION * deviation) / Math.abs(middle);
}

/** The growth that noise may explain: 0.25 allows a quarter more. */
export function limitOf(kind: Kind, before: Figure, now: Figure): number {
  return Math.max(MIN_LIMIT[kind], DEVIATIONS * Math.max(before.noise, now.noise));
}

/** Whether a number grew more than noise explains. */
export function isWorse(kind: Kind, before: Figure, now: Figure): boolean {
  return now.value > before.value * (1 + limitOf(kind, before, now));
}
