/** Checks that work grows about linearly with its size, by a ratio of CPU times within one run. */

/** Four times the size takes four times as long if linear, and sixteen times if quadratic. */
const MAX_RATIO = 10;
/** Noise only ever adds time, so the quickest of many rounds is close to the true cost. */
const MAX_ROUNDS = 25;
/** Anything shorter is lost in noise. */
const MIN_MICROSECONDS = 2_000;

/**
 * Explains why the work grows too fast from `size` to four times that size, or returns undefined if it
 * does not. It counts the CPU time of this thread, so other processes do not matter, and stops at the
 * first round that shows linear growth: only quadratic work needs all of them.
 */
export async function explainGrowth(
  size: number,
  work: (size: number) => unknown,
): Promise<string | undefined> {
  await work(Math.ceil(size / 4)); // Compiles the code.
  let once = Number.POSITIVE_INFINITY;
  let fourTimes = Number.POSITIVE_INFINITY;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const time = await cpuTimeOf(() => work(size));
    // Some systems count in steps of milliseconds, and see nothing of what is done between two of them.
    if (time > 0) once = Math.min(once, time);
    fourTimes = Math.min(fourTimes, await cpuTimeOf(() => work(4 * size)));
    if (fourTimes / Math.max(once, MIN_MICROSECONDS) <= MAX_RATIO) return undefined;
  }
  return `${once} µs for ${size}, ${fourTimes} µs for four times that`;
}

async function cpuTimeOf(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}
