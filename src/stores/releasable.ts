/** Ends a writer: notifies and waits for everything that still writes to it, then releases its lock. */

/** Called and awaited before the lock of a writer is released. */
type ReleaseListener = () => Promise<void>;

/** The part of a writer that handles its release. */
export abstract class Releasable implements AsyncDisposable {
  readonly #listeners = new Set<ReleaseListener>();
  readonly #listening = new Set<Disposable>();
  #isClosing = false;
  #released: Promise<void> | undefined;

  /** Throws `write_failed` after the release. */
  protected abstract assertHeld(): void;
  /** Waits for pending writes, and releases the lock. Called once. */
  protected abstract close(): Promise<void>;

  onRelease(listener: ReleaseListener): Disposable {
    this.assertHeld();
    const own: ReleaseListener = () => listener(); // It may be registered twice.
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  /** At once, if the release has got that far. */
  protected disposeOnRelease(listening: Disposable): Disposable {
    if (this.#isClosing) listening[Symbol.dispose]();
    else this.#listening.add(listening);
    return listening;
  }

  /**
   * Closes the writer once, after the listeners, even if one of them fails. Throws what `close` or a listener throws.
   * Further calls only wait for the first.
   */
  async release(): Promise<void> {
    if (this.#released !== undefined) return this.#released.catch(() => undefined);
    this.#released = this.#release();
    await this.#released;
  }

  async #release(): Promise<void> {
    const results: PromiseSettledResult<void>[] = [];
    try {
      // A listener may add others.
      while (this.#listeners.size > 0) {
        const listeners = [...this.#listeners];
        this.#listeners.clear();
        const called = listeners.map(async (each) => each());
        results.push(...(await Promise.allSettled(called)));
      }
    } finally {
      this.#isClosing = true;
      for (const listening of this.#listening) listening[Symbol.dispose]();
      await this.close();
    }
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
