import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { PromptQueue } from "./prompt-queue.ts";

/** A prompt that stays open until it is closed, and that writes down what happens to it. */
class Prompt {
  readonly name: string;
  readonly controller = new AbortController();
  readonly result: Promise<string | undefined>;
  readonly #closed = Promise.withResolvers<string>();

  constructor(queue: PromptQueue, name: string, log: string[]) {
    this.name = name;
    this.result = queue.run(async (signal) => {
      log.push(`${name} opens`);
      signal.addEventListener("abort", () => this.#closed.resolve("cancelled"), { once: true });
      try {
        return await this.#closed.promise;
      } finally {
        log.push(`${name} closes`);
      }
    }, this.controller.signal);
  }

  answer(): void {
    this.#closed.resolve(`answer to ${this.name}`);
  }

  fail(): void {
    this.#closed.reject(new Error(`${this.name} cannot be shown`));
  }
}

function open(...names: readonly string[]) {
  const queue = new PromptQueue();
  const log: string[] = [];
  const prompts = names.map((name) => new Prompt(queue, name, log));
  return { queue, log, prompts: prompts as [Prompt, Prompt, Prompt] };
}

describe("prompts", () => {
  test("open one at a time, in the order in which they came", async () => {
    const { log, prompts } = open("a", "b", "c");
    const [a, b, c] = prompts;
    c.answer(); // Known before it is asked: it has to wait for its turn all the same.
    await setImmediate();
    expect(log).toEqual(["a opens"]);
    a.answer();
    await setImmediate();
    expect(log).toEqual(["a opens", "a closes", "b opens"]);
    b.answer();
    const results = await Promise.all(prompts.map(({ result }) => result));
    expect({ results, log }).toEqual({
      results: ["answer to a", "answer to b", "answer to c"],
      log: ["a opens", "a closes", "b opens", "b closes", "c opens", "c closes"],
    });
  });

  test("that are aborted while they wait never open, and nobody gets ahead by that", async () => {
    const { log, prompts } = open("a", "b", "c");
    const [a, b, c] = prompts;
    await setImmediate();
    b.controller.abort();
    expect(await b.result).toBeUndefined();
    await setImmediate();
    expect(log).toEqual(["a opens"]);
    a.answer();
    c.answer();
    await c.result;
    expect(log).toEqual(["a opens", "a closes", "c opens", "c closes"]);
  });

  test("that are aborted before they come never open, although nothing else is open", async () => {
    const queue = new PromptQueue();
    const calls: string[] = [];
    const ask = async () => {
      calls.push("opened");
      return "answer";
    };
    const first = await queue.run(ask, AbortSignal.abort());
    const second = await queue.run(ask, new AbortController().signal);
    expect({ first, second, calls }).toEqual({
      first: undefined,
      second: "answer",
      calls: ["opened"],
    });
  });

  test("that are aborted while they are open are told so, and the next one opens", async () => {
    const { log, prompts } = open("a", "b");
    const [a, b] = prompts;
    await setImmediate();
    a.controller.abort();
    expect(await a.result).toBe("cancelled");
    b.answer();
    expect(await b.result).toBe("answer to b");
    expect(log).toEqual(["a opens", "a closes", "b opens", "b closes"]);
  });

  test("that fail say so to the one who asked, and the next one opens", async () => {
    const { prompts } = open("a", "b");
    const [a, b] = prompts;
    a.fail();
    b.answer();
    await expect(a.result).rejects.toThrow("a cannot be shown");
    expect(await b.result).toBe("answer to b");
  });

  test("keep their order when all that wait leave at once", async () => {
    const { log, queue, prompts } = open("a", "b", "c");
    const [a, b, c] = prompts;
    await setImmediate();
    b.controller.abort();
    c.controller.abort();
    const last = new Prompt(queue, "d", log);
    await setImmediate();
    expect(log).toEqual(["a opens"]);
    a.answer();
    last.answer();
    await last.result;
    expect(log).toEqual(["a opens", "a closes", "d opens", "d closes"]);
  });

  test("can be a thousand", async () => {
    const queue = new PromptQueue();
    const order: number[] = [];
    const { signal } = new AbortController();
    const numbers = Array.from({ length: 1000 }, (_, number) => number);
    const show = (number: number) => queue.run(async () => void order.push(number), signal);
    await Promise.all(numbers.map(show));
    expect(order).toEqual(numbers);
  });
});

describe("cancelling what is open", () => {
  test("closes it and nothing that waits", async () => {
    const { queue, log, prompts } = open("a", "b");
    const [a, b] = prompts;
    await setImmediate();
    expect(queue.cancelOpen()).toBe(true);
    expect(await a.result).toBe("cancelled");
    await setImmediate();
    b.answer();
    expect(await b.result).toBe("answer to b");
    expect(log).toEqual(["a opens", "a closes", "b opens", "b closes"]);
  });

  test("leaves the signal of the one who asked alone", async () => {
    const { queue, prompts } = open("a");
    const [a] = prompts;
    await setImmediate();
    queue.cancelOpen();
    await a.result;
    expect(a.controller.signal.aborted).toBe(false);
  });

  test("says that there is nothing to close, before and after", async () => {
    const queue = new PromptQueue();
    const before = queue.cancelOpen();
    await queue.run(async () => "done", new AbortController().signal);
    expect([before, queue.cancelOpen()]).toEqual([false, false]);
  });
});
