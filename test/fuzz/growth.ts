/** Whether work grows with its size, told within one run: by a ratio, never by a time. */

/** Four times as much takes four times as long, and sixteen times where it is quadratic. */
const MOST = 10;
const ROUNDS = 3;
/** Less is too short to be told from noise. */
const LEAST_MICROSECONDS = 2_000;

/**
 * What is too much about the growth of the work from `size` to four times of it; undefined if nothing
 * is. CPU time of this thread counts, and of several rounds the quickest.
 */
export async function explainGrowth(
  size: number,
  work: (size: number) => unknown,
): Promise<string | undefined> {
  await work(Math.ceil(size / 4)); // What runs for the first time is compiled first.
  let once = Number.POSITIVE_INFINITY;
  let fourTimes = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    once = Math.min(once, await costOf(() => work(size)));
    fourTimes = Math.min(fourTimes, await costOf(() => work(4 * size)));
    const ratio = fourTimes / Math.max(once, LEAST_MICROSECONDS);
    if (ratio <= MOST) return undefined;
  }
  return `${once} µs for ${size}, ${fourTimes} µs for four times as much`;
}

async function costOf(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}
