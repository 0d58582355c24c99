/** Long work in small steps, between which keys, timers and everybody else have their turn. */
/** What a person who types does not notice yet. */
const LONGEST_MS = 10;

/** When the event loop was last known to have turned. */
let turnedAt = 0;

/**
 * Whether the next step should wait: `if (isOutOfBreath()) await breathe();`. To be asked right before
 * the step, so that of many who ask at a time only as many go on as fit into one turn.
 */
export function isOutOfBreath(): boolean {
  return performance.now() - turnedAt >= LONGEST_MS;
}

/** Until others have had their turn. */
export async function breathe(): Promise<void> {
  do {
    const askedAt = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    // Whoever is the first to come back knows that it has turned.
    if (turnedAt < askedAt) turnedAt = performance.now();
  } while (isOutOfBreath());
}
