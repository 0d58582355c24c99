/** What was told and not yet read. */
import type { TurnUpdate } from "../agent/index.ts";

export class UpdateQueue implements AsyncIterable<TurnUpdate> {
  #updates: TurnUpdate[] = [];
  #isEnded = false;
  #wake = Promise.withResolvers<void>();

  add(update: TurnUpdate): void {
    this.#updates.push(update);
    this.#wake.resolve();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnUpdate, void, undefined> {
    for (;;) {
      const updates = this.#updates;
      this.#updates = [];
      yield* updates;
      if (this.#updates.length > 0) continue;
      if (this.#isEnded) return;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }
}
