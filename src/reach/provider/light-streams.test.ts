import { describe, expect, test } from "vitest";
import {
  LightReadableStream,
  LightTextDecoderStream,
  LightTransformStream,
} from "./light-streams.ts";

/** What a stream did, in order. */
type Log = unknown[];

/** Reads to the end, or up to the failure. */
async function readAll(stream: ReadableStream<unknown>): Promise<Log> {
  const log: Log = [];
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return [...log, "end"];
      log.push(value);
    }
  } catch (error) {
    return [...log, error];
  }
}

/** All that is settled already happens. */
async function settle(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const light = {
  name: "our own",
  // They have the part of the interface that the packages of providers use.
  Readable: LightReadableStream as unknown as typeof ReadableStream,
  Transform: LightTransformStream as unknown as typeof TransformStream,
  Decoder: LightTextDecoderStream as unknown as typeof TextDecoderStream,
};
const node = {
  name: "Node's",
  Readable: ReadableStream,
  Transform: TransformStream,
  Decoder: TextDecoderStream,
};

describe.each([light, node])("a stream, $name", ({ Readable, Transform, Decoder }) => {
  function streamOf(...chunks: readonly unknown[]): ReadableStream<unknown> {
    return new Readable({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });
  }

  test("gives its chunks in order and ends", async () => {
    expect(await readAll(streamOf(1, 2, 3))).toEqual([1, 2, 3, "end"]);
  });

  test("pulls one chunk ahead, and then as it is read", async () => {
    let pulled = 0;
    const stream = new Readable({
      pull(controller) {
        pulled += 1;
        controller.enqueue(pulled);
      },
    });
    await settle();
    const ahead = pulled;
    const reader = stream.getReader();
    await reader.read();
    await reader.read();
    await settle();
    expect([ahead, pulled]).toEqual([1, 3]);
  });

  test("waits for a pull that takes time before it pulls again", async () => {
    const log: Log = [];
    const stream = new Readable({
      async pull(controller) {
        log.push("begin");
        await settle();
        log.push("end");
        controller.enqueue(log.length);
        if (log.length === 4) controller.close();
      },
    });
    expect([await readAll(stream), log]).toEqual([
      [2, 4, "end"],
      ["begin", "end", "begin", "end"],
    ]);
  });

  test("says how much more it wants", async () => {
    const sizes: Log = [];
    const stream = new Readable(
      {
        start(controller) {
          sizes.push(controller.desiredSize);
          controller.enqueue("a");
          sizes.push(controller.desiredSize);
          controller.enqueue("b");
          sizes.push(controller.desiredSize);
          controller.close();
          sizes.push(controller.desiredSize);
        },
      },
      { highWaterMark: 2 },
    );
    expect([await readAll(stream), sizes]).toEqual([
      ["a", "b", "end"],
      [2, 1, 0, 0],
    ]);
  });

  test.each([
    ["is started", { start: () => Promise.reject(new Error("no")) }],
    ["is pulled", { pull: () => Promise.reject(new Error("no")) }],
  ])("fails if its source fails when it %s", async (_when, source) => {
    expect(await readAll(new Readable(source))).toEqual([new Error("no")]);
  });

  test("fails every read after an error, and loses what nobody has read", async () => {
    const stream = new Readable({
      start(controller) {
        controller.enqueue("lost");
        controller.error(new Error("broken"));
      },
    });
    const reader = stream.getReader();
    await expect(reader.read()).rejects.toThrow("broken");
    await expect(reader.read()).rejects.toThrow("broken");
    await expect(reader.closed).rejects.toThrow("broken");
    await expect(reader.cancel()).rejects.toThrow("broken");
  });

  test("takes nothing more once it is closed", async () => {
    const errors: Log = [];
    const attempt = (action: () => void) => {
      try {
        action();
      } catch (error) {
        errors.push((error as Error).constructor);
      }
    };
    const stream = new Readable({
      start(controller) {
        controller.close();
        attempt(() => controller.enqueue("late"));
        attempt(() => controller.close());
      },
    });
    expect([errors, await readAll(stream)]).toEqual([[TypeError, TypeError], ["end"]]);
  });

  test("has one reader at a time", async () => {
    const stream = streamOf("a", "b");
    const first = stream.getReader();
    expect(() => stream.getReader()).toThrow(TypeError);
    await expect(stream.cancel()).rejects.toThrow(TypeError);
    await first.read();
    first.releaseLock();
    await expect(first.read()).rejects.toThrow(TypeError);
    expect(await readAll(stream)).toEqual(["b", "end"]);
  });

  test("rejects the read of a reader that is released meanwhile", async () => {
    const reader = new Readable({}).getReader();
    const reading = reader.read();
    reader.releaseLock();
    await expect(reading).rejects.toThrow(TypeError);
  });

  test("ends a read that waits when it is cancelled, and tells its source why", async () => {
    const log: Log = [];
    const reader = new Readable({
      cancel: (reason) => {
        log.push(reason);
      },
    }).getReader();
    const reading = reader.read();
    await reader.cancel("enough");
    await reader.cancel("again");
    expect([await reading, await reader.closed, log]).toEqual([
      { done: true, value: undefined },
      undefined,
      ["enough"],
    ]);
  });

  test("is cancelled by a loop that is left", async () => {
    const log: Log = [];
    let count = 0;
    const stream = new Readable({
      pull(controller) {
        count += 1;
        controller.enqueue(count);
      },
      cancel: () => {
        log.push("cancelled");
      },
    });
    for await (const chunk of stream) {
      log.push(chunk);
      if (chunk === 2) break;
    }
    expect([log, stream.locked]).toEqual([[1, 2, "cancelled"], false]);
  });

  test("ends a loop with its failure", async () => {
    const stream = new Readable({ pull: () => Promise.reject(new Error("no")) });
    const loop = async () => {
      for await (const _ of stream);
    };
    await expect(loop()).rejects.toThrow("no");
  });

  test("passes through transforms, which may take time, and add or leave out chunks", async () => {
    const log: Log = [];
    const doubled = new Transform<number, number>({
      start: (controller) => controller.enqueue(0),
      async transform(chunk, controller) {
        await settle();
        if (chunk === 2) return;
        controller.enqueue(chunk);
        controller.enqueue(chunk * 10);
      },
      flush: (controller) => controller.enqueue(99),
    });
    const seen = new Transform<number, number>({
      transform(chunk, controller) {
        log.push(chunk);
        controller.enqueue(chunk);
      },
    });
    const stream = streamOf(1, 2, 3).pipeThrough(doubled).pipeThrough(seen);
    expect([await readAll(stream), log]).toEqual([
      [0, 1, 10, 3, 30, 99, "end"],
      [0, 1, 10, 3, 30, 99],
    ]);
  });

  test("passes through a transform that only hands on", async () => {
    expect(await readAll(streamOf("a").pipeThrough(new Transform()))).toEqual(["a", "end"]);
  });

  test("passes ten thousand chunks that come to nothing", async () => {
    const chunks = Array.from({ length: 10_000 }, (_, index) => index);
    const last = new Transform({
      transform: (chunk, controller) => {
        if (chunk === 9_999) controller.enqueue(chunk);
      },
    });
    expect(await readAll(streamOf(...chunks).pipeThrough(last))).toEqual([9_999, "end"]);
  });

  test.each([
    [
      "throws",
      (error: Error) => {
        throw error;
      },
    ],
    [
      "reports an error",
      (error: Error, controller: TransformStreamDefaultController) => controller.error(error),
    ],
  ])("fails and is cancelled at its source if a transform %s", async (_how, fail) => {
    const error = new Error("bad chunk");
    const log: Log = [];
    const source = new Readable({
      start: (controller) => {
        controller.enqueue("a");
        controller.enqueue("b");
      },
      cancel: (reason) => {
        log.push(reason);
      },
    });
    const failing = new Transform({ transform: (_chunk, controller) => fail(error, controller) });
    const passing = new Transform();
    expect(await readAll(source.pipeThrough(failing).pipeThrough(passing))).toEqual([error]);
    await settle();
    expect(log).toEqual([error]);
  });

  test("ends and is cancelled at its source if a transform has enough", async () => {
    const log: Log = [];
    const source = new Readable({
      pull: (controller) => controller.enqueue("a"),
      cancel: (reason) => {
        log.push(reason.constructor);
      },
    });
    const first = new Transform({
      transform: (chunk, controller) => {
        controller.enqueue(chunk);
        controller.terminate();
      },
    });
    expect(await readAll(source.pipeThrough(first))).toEqual(["a", "end"]);
    await settle();
    expect(log).toEqual([TypeError]);
  });

  test("hands a failure of its source on through transforms, without a flush", async () => {
    const log: Log = [];
    const failing = new Readable({ pull: () => Promise.reject(new Error("cut")) });
    const transform = new Transform({
      flush: () => {
        log.push("flush");
      },
    });
    expect(await readAll(failing.pipeThrough(transform))).toEqual([new Error("cut")]);
    expect(log).toEqual([]);
  });

  test("hands a cancellation on to its source through transforms, without a flush", async () => {
    const log: Log = [];
    const source = new Readable({
      cancel: (reason) => {
        log.push(reason);
      },
    });
    const transform = new Transform({
      flush: () => {
        log.push("flush");
      },
    });
    const reader = source.pipeThrough(transform).pipeThrough(new Transform()).getReader();
    const reading = reader.read();
    await settle();
    await reader.cancel("enough");
    await settle();
    expect([await reading, log]).toEqual([{ done: true, value: undefined }, ["enough"]]);
  });

  test("can be split in two, which get the same", async () => {
    const [one, other] = streamOf(1, 2, 3).tee();
    expect(await Promise.all([readAll(one), readAll(other)])).toEqual([
      [1, 2, 3, "end"],
      [1, 2, 3, "end"],
    ]);
  });

  test("goes on for one half if the other one has left", async () => {
    const log: Log = [];
    let count = 0;
    const source = new Readable({
      pull(controller) {
        count += 1;
        if (count > 3) controller.close();
        else controller.enqueue(count);
      },
      cancel: (reason) => {
        log.push(reason);
      },
    });
    const [one, other] = source.tee();
    const reader = one.getReader();
    await reader.read();
    void reader.cancel("seen");
    reader.releaseLock();
    expect([await readAll(other), log]).toEqual([[1, 2, 3, "end"], []]);
  });

  test("is cancelled when both halves are", async () => {
    const log: Log = [];
    const source = new Readable({
      cancel: (reason) => {
        log.push(reason);
      },
    });
    const [one, other] = source.tee();
    await Promise.all([one.cancel("a"), other.cancel("b")]);
    expect(log).toEqual([["a", "b"]]);
  });

  test("fails in both halves", async () => {
    const [one, other] = new Readable({ pull: () => Promise.reject(new Error("no")) }).tee();
    const both = await Promise.all([readAll(one), readAll(other)]);
    expect(both).toEqual([[new Error("no")], [new Error("no")]]);
  });

  test("decodes characters that are cut in two, and what is no text", async () => {
    const bytes = [...new TextEncoder().encode("a€😀"), 0xe2];
    const pieces = bytes.map((byte) => Uint8Array.of(byte));
    const stream = streamOf(...pieces) as ReadableStream<Uint8Array<ArrayBuffer>>;
    expect((await readAll(stream.pipeThrough(new Decoder()))).join("")).toBe("a€😀\u{fffd}end");
  });
});

describe("a light stream", () => {
  test("sends chunks to a sink before anything else happens, until it has enough", async () => {
    const log: Log = [];
    const sink = {
      wantsMore: true,
      chunk: (chunk: unknown) => {
        log.push(chunk);
        sink.wantsMore = log.length !== 2;
      },
      close: () => void log.push("end"),
      error: () => undefined,
    };
    const stream = new LightReadableStream<number>({
      start: (controller) => {
        for (const chunk of [1, 2, 3]) controller.enqueue(chunk);
        controller.close();
      },
    });
    const reader = stream.pipeThrough(new LightTransformStream()).getReader();
    reader.sendTo(sink);
    const atFirst = [...log];
    sink.wantsMore = true;
    reader.sendTo(sink);
    expect([atFirst, log]).toEqual([
      [1, 2],
      [1, 2, 3, "end"],
    ]);
  });

  test("delivers what has arrived before the failure of its source", async () => {
    const source = new LightReadableStream<number>({
      start: (controller) => controller.enqueue(1),
      pull: () => Promise.reject(new Error("cut")),
    });
    const transform = new LightTransformStream<number, number>({
      transform: (chunk, controller) => {
        for (const part of [chunk, chunk + 1, chunk + 2]) controller.enqueue(part);
      },
    });
    const reader = source.pipeThrough(transform).getReader();
    const first = await reader.read();
    await settle();
    expect([first.value, (await reader.read()).value, (await reader.read()).value]).toEqual([
      1, 2, 3,
    ]);
    await expect(reader.read()).rejects.toThrow("cut");
  });
});
