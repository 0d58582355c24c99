/**
 * The ids under which calls go to a provider. Records hold ids of other providers, and some give the
 * same one twice; every API wants them plain, short and different.
 */

/** What all of them take. */
const ACCEPTED = /^[A-Za-z0-9_-]{1,64}$/;

export class ToolCallIds {
  readonly #taken = new Set<string>();

  /** The id itself where it will do. The same calls in the same order always get the same ids. */
  next(id: string): string {
    let unique = ACCEPTED.test(id) ? id : `call_${this.#taken.size}`;
    for (let copy = 1; this.#taken.has(unique); copy += 1) {
      unique = `call_${this.#taken.size}_${copy}`;
    }
    this.#taken.add(unique);
    return unique;
  }
}
