/** Waits for a promise for a limited time: true if it settled, either way, before the time was up. */
export async function settlesWithin(
  work: Promise<unknown>,
  milliseconds: number,
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(resolve, milliseconds, false);
  try {
    return await Promise.race([Promise.allSettled([work]).then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
