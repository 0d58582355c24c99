import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { type PromptPlace, PromptQueue } from "./prompt-queue.ts";

/** A prompt that stays open until it is closed, and logs what happens to it. */
class Prompt {
  readonly name: string;
  readonly controller = new AbortController();
  readonly result: Promise<string | undefined>;
  readonly #closed = Promise.withResolvers<string>();

  constructor(queue: PromptQueue, name: string, log: string[], place?: PromptPlace) {
    this.name = name;
    this.result = this.#show(queue, log, place);
  }

  async #show(
    queue: PromptQueue,
    log: string[],
    place: PromptPlace | undefined,
  ): Promise<string | undefined> {
    using prompt = await queue.open(this.controller.signal, place);
    if (prompt === undefined) return undefined;
    log.push(`${this.name} opens`);
    prompt.signal.addEventListener("abort", () => this.#closed.resolve("cancelled"), {
      once: true,
    });
    try {
      return await this.#closed.promise;
    } finally {
      log.push(`${this.name} closes`);
    }
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
  test("open one at a time, first come, first served", async () => {
    const { log, prompts } = open("a", "b", "c");
    const [a, b, c] = prompts;
    c.answer(); // Answered in advance, but it still has to wait for its turn.
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

  test("that are aborted while waiting never open, and do not change the order", async () => {
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

  test("that are aborted beforehand never open, even if no other is open", async () => {
    const queue = new PromptQueue();
    using first = await queue.open(AbortSignal.abort());
    using second = await queue.open(new AbortController().signal);
    expect([first, second?.signal.aborted]).toEqual([undefined, false]);
  });

  test("that are aborted while open are closed, and the next one opens", async () => {
    const { log, prompts } = open("a", "b");
    const [a, b] = prompts;
    await setImmediate();
    a.controller.abort();
    expect(await a.result).toBe("cancelled");
    b.answer();
    expect(await b.result).toBe("answer to b");
    expect(log).toEqual(["a opens", "a closes", "b opens", "b closes"]);
  });

  test("that fail throw to their caller, and the next one opens", async () => {
    const { prompts } = open("a", "b");
    const [a, b] = prompts;
    a.fail();
    b.answer();
    await expect(a.result).rejects.toThrow("a cannot be shown");
    expect(await b.result).toBe("answer to b");
  });

  test("keep their order if many are aborted at once", async () => {
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
    const show = async (number: number) => {
      using _ = await queue.open(signal);
      order.push(number);
    };
    await Promise.all(numbers.map(show));
    expect(order).toEqual(numbers);
  });
});

/** A reply with three calls, and prompts of theirs. */
function reply(queue = new PromptQueue(), log: string[] = []) {
  const nextPlace = queue.startReply();
  const places = { first: nextPlace(), second: nextPlace(), third: nextPlace() };
  const ask = (name: keyof typeof places) => new Prompt(queue, name, log, places[name]);
  return { queue, log, ask, ...places };
}

/** Answers the prompts in the order given, each once it is open. Returns the order in which they opened. */
async function answerAll(log: readonly string[], prompts: readonly Prompt[]) {
  for (const prompt of prompts) prompt.answer();
  await Promise.all(prompts.map(({ result }) => result));
  return log.filter((line) => line.endsWith("opens"));
}

describe("the prompts of one reply", () => {
  test("open in the order of its calls, whichever comes first", async () => {
    counters("T-DECIDE-5");
    const { log, ask } = reply();
    const [third, second] = [ask("third"), ask("second")];
    await setImmediate();
    expect(log).toEqual([]);
    const order = await answerAll(log, [third, second, ask("first")]);
    expect(order).toEqual(["first opens", "second opens", "third opens"]);
  });

  test("open in that order too if they come while another is open", async () => {
    const { queue, log, ask, first, second } = reply();
    const other = new Prompt(queue, "other", log);
    first.pass();
    second.pass();
    const order = await answerAll(log, [ask("third"), ask("first"), ask("second"), other]);
    expect(order).toEqual(["other opens", "first opens", "second opens", "third opens"]);
  });

  test("do not wait for a call that has passed, and wait for it no more when it asks later", async () => {
    const { log, ask, first } = reply();
    const second = ask("second");
    await setImmediate();
    expect(log).toEqual([]);
    first.pass();
    await setImmediate();
    expect(log).toEqual(["second opens"]);
    const order = await answerAll(log, [ask("third"), ask("first"), second]);
    expect(order).toEqual(["second opens", "first opens", "third opens"]);
  });

  test("wait for each call before them, in whatever order those pass", async () => {
    const { log, ask, first, second } = reply();
    const third = ask("third");
    second[Symbol.dispose]();
    await setImmediate();
    expect(log).toEqual([]);
    first[Symbol.dispose]();
    expect(await answerAll(log, [third])).toEqual(["third opens"]);
  });

  test("keep no one else waiting: neither other replies nor those who ask outside of one", async () => {
    const { queue, log, ask } = reply();
    const waiting = ask("third");
    const menu = new Prompt(queue, "menu", log);
    const next = new Prompt(queue, "next", log, queue.startReply()());
    expect(await answerAll(log, [menu, next])).toEqual(["menu opens", "next opens"]);
    waiting.controller.abort();
    expect(await waiting.result).toBeUndefined();
  });

  test("never open if they are aborted while they wait, and the others go on in their order", async () => {
    const { log, ask } = reply();
    const [third, second] = [ask("third"), ask("second")];
    second.controller.abort();
    expect(await second.result).toBeUndefined();
    expect(await answerAll(log, [third, ask("first")])).toEqual(["first opens", "third opens"]);
  });

  test("open if the call before them is aborted as soon as it asks", async () => {
    const { log, ask } = reply();
    const second = ask("second");
    const first = ask("first");
    first.controller.abort();
    expect(await first.result).toBeUndefined();
    expect(await answerAll(log, [second])).toEqual(["second opens"]);
  });
});

/** Permissions of the calls of one reply, which open together. */
function gather(queue = new PromptQueue()) {
  const nextPlace = queue.startReply();
  const places = [nextPlace(), nextPlace(), nextPlace()] as const;
  const { signal } = new AbortController();
  const opened: number[] = [];
  const permit = async (rank: 0 | 1 | 2, own = signal) => {
    const prompt = await queue.open(own, places[rank], { isGathered: true });
    if (prompt !== undefined) opened.push(rank);
    return prompt;
  };
  return { queue, opened, permit, places };
}

describe("prompts that are gathered", () => {
  test("wait until every call of the reply has passed, and open together in the order of the calls", async () => {
    const { opened, permit, places } = gather();
    const [third, first] = [permit(2), permit(0)];
    await setImmediate();
    expect(opened).toEqual([]);
    places[1].pass();
    const prompts = await Promise.all([third, first]);
    expect(opened).toEqual([0, 2]);
    expect(prompts.map((prompt) => prompt?.member !== undefined)).toEqual([true, true]);
  });

  test("are asked alone if no other waits", async () => {
    const { permit, places } = gather();
    const first = permit(0);
    for (const place of places) place[Symbol.dispose]();
    expect((await first)?.member).toBeUndefined();
  });

  test("keep others waiting until the last of them is closed", async () => {
    const { queue, permit } = gather();
    const prompts = await Promise.all([permit(0), permit(1), permit(2)]);
    const log: string[] = [];
    const other = new Prompt(queue, "other", log);
    for (const prompt of prompts.slice(1)) prompt?.[Symbol.dispose]();
    await setImmediate();
    expect(log).toEqual([]);
    prompts[0]?.[Symbol.dispose]();
    other.answer();
    expect(await other.result).toBe("answer to other");
  });

  test("wait for a question that is open, and are gathered when it closes", async () => {
    const queue = new PromptQueue();
    const log: string[] = [];
    const question = new Prompt(queue, "question", log);
    const { opened, permit } = gather(queue);
    const all = [permit(0), permit(1), permit(2)];
    await setImmediate();
    expect([log, opened]).toEqual([["question opens"], []]);
    question.answer();
    await Promise.all(all);
    expect(opened).toEqual([0, 1, 2]);
  });

  test("leave out one that is aborted while it waits", async () => {
    const { opened, permit } = gather();
    const abort = new AbortController();
    const [first, second] = [permit(0), permit(1, abort.signal)];
    abort.abort();
    expect(await second).toBeUndefined();
    await Promise.all([first, permit(2)]);
    expect(opened).toEqual([0, 2]);
  });

  test("are gathered again, if some of them have to be asked again", async () => {
    const { opened, permit, places } = gather();
    const [first, second, third] = await Promise.all([permit(0), permit(1), permit(2)]);
    for (const rank of [0, 2] as const) places[rank].retake();
    for (const prompt of [first, second, third]) prompt?.[Symbol.dispose]();
    const again = permit(0);
    await setImmediate();
    expect(opened).toEqual([0, 1, 2]);
    const both = await Promise.all([again, permit(2)]);
    expect(both.map((prompt) => prompt?.member !== undefined)).toEqual([true, true]);
  });

  test("are cancelled together, but for those that are answered", async () => {
    const { queue, permit } = gather();
    const [first, second, third] = await Promise.all([permit(0), permit(1), permit(2)]);
    second?.end();
    expect(queue.cancelOpen()).toBe(true);
    expect([first, second, third].map((prompt) => prompt?.signal.aborted)).toEqual([
      true,
      false,
      true,
    ]);
    first?.end();
    third?.end();
    expect(queue.cancelOpen()).toBe(false);
  });
});

describe("cancelling the open prompt", () => {
  test("closes only the open one", async () => {
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

  test("does not abort the caller's signal", async () => {
    const { queue, prompts } = open("a");
    const [a] = prompts;
    await setImmediate();
    queue.cancelOpen();
    await a.result;
    expect(a.controller.signal.aborted).toBe(false);
  });

  test("returns false if none is open", async () => {
    const queue = new PromptQueue();
    const before = queue.cancelOpen();
    const prompt = await queue.open(new AbortController().signal);
    prompt?.[Symbol.dispose]();
    expect([before, queue.cancelOpen()]).toEqual([false, false]);
  });
});
