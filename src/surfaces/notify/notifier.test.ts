import { describe, expect, test } from "vitest";
import type { NotifySettings } from "../../settings/config/index.ts";
import { FakeClock } from "../../testing/index.ts";
import { type Channel, PermanentError } from "./channels.ts";
import type { Notification } from "./message.ts";
import { createNotifier } from "./notifier.ts";
import { pendingNotice } from "./pending-notice.fixture.ts";

const SETTINGS: NotifySettings = { content: "title", debounceMs: 10_000, channels: [] };

/** A channel that keeps what it sends, after failing with these errors. */
class KeepingChannel implements Channel {
  readonly name = "webhook";
  readonly messages: Notification[] = [];
  readonly #errors: Error[];

  constructor(...errors: readonly Error[]) {
    this.#errors = [...errors];
  }

  readonly send = async (message: Notification): Promise<void> => {
    this.messages.push(message);
    const error = this.#errors.shift();
    if (error !== undefined) throw error;
  };

  get titles(): readonly string[] {
    return this.messages.map(({ title }) => title);
  }
}

const ONE = "jp: 1 question is waiting";
const TWO = "jp: 2 questions are waiting";

function busy(times: number): readonly Error[] {
  return Array.from({ length: times }, () => new Error("The line is busy."));
}

function started(...channels: readonly Channel[]) {
  const clock = new FakeClock();
  const problems: string[] = [];
  const notifier = createNotifier(SETTINGS, {
    clock,
    channels,
    variables: {},
    cwd: "/",
    origin: "http://127.0.0.1:1234",
    onProblem: (problem) => problems.push(problem),
  });
  /** Moves the clock, and lets everything happen that is due. */
  const pass = async (seconds: number) => {
    clock.advance(seconds * 1000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { notifier, clock, problems, pass };
}

describe("a notifier", () => {
  test("has its channels load what they send with before there is anything to send", async () => {
    const loaded: string[] = [];
    const load = async () => void loaded.push("loaded");
    const { problems, pass } = started(
      Object.assign(new KeepingChannel(), { load }),
      Object.assign(new KeepingChannel(), { load: () => Promise.reject(new Error("gone")) }),
    );
    await pass(0);
    expect([loaded, problems]).toEqual([["loaded"], []]);
  });

  test("tells of a change of keys at once, each in a message of its own, and again if that fails", async () => {
    const channel = new KeepingChannel(...busy(1));
    const { notifier, pass } = started(channel);
    const change = {
      at: "2026-01-02T03:04:05.678Z",
      what: "key_added",
      person_id: "p_1",
      name: "ada",
      by: { channel: "cli", os_user: "root" },
    };
    notifier.announce(change);
    notifier.announce({ ...change, what: "key_removed" });
    notifier.notify([pendingNotice()]);
    await pass(0);
    const KEYS = "jp: someone's keys have changed";
    const first = [...channel.titles];
    await pass(15);
    await pass(0);
    await pass(10);
    expect([first, channel.titles]).toEqual([[KEYS], [KEYS, KEYS, KEYS, ONE]]);
    expect(channel.messages[0]?.id).toBe(channel.messages[1]?.id);
  });

  test("collects the questions of a few seconds in one notification", async () => {
    const channel = new KeepingChannel();
    const { notifier, pass } = started(channel);
    notifier.notify([pendingNotice({ id: "a" })]);
    await pass(9);
    notifier.notify([pendingNotice({ id: "b" })]);
    const before = channel.titles.length;
    await pass(1);
    expect([before, channel.titles]).toEqual([0, [TWO]]);
  });

  test("links to the server's address unless the config has another", async () => {
    const channel = new KeepingChannel();
    const { notifier, pass } = started(channel);
    notifier.notify([pendingNotice({ id: "a" })]);
    await pass(10);
    expect(channel.messages.map(({ link }) => link)).toEqual([
      "http://127.0.0.1:1234/#/inquiries/jp-c17673232450/a",
    ]);
  });

  test("does not announce a question that was answered meanwhile", async () => {
    const channel = new KeepingChannel();
    const { notifier, pass, clock } = started(channel);
    notifier.notify([pendingNotice({ id: "a" }), pendingNotice({ id: "b" })]);
    notifier.withdraw(pendingNotice({ id: "a" }));
    await pass(10);
    notifier.notify([pendingNotice({ id: "c" })]);
    notifier.withdraw(pendingNotice({ id: "c" }));
    await pass(10);
    expect([channel.titles, clock.sleepers]).toEqual([[ONE], 0]);
  });

  test("announces a question once, unless it is asked again", async () => {
    const channel = new KeepingChannel();
    const { notifier, pass } = started(channel);
    for (const asked_at of [
      "2026-01-02T00:00:00Z",
      "2026-01-02T00:00:00Z",
      "2026-01-03T00:00:00Z",
    ]) {
      notifier.notify([pendingNotice({ asked_at })]);
      await pass(10);
    }
    expect(channel.titles).toEqual([ONE, ONE]);
  });

  test("announces a question that comes while another is being sent", async () => {
    const sent = Promise.withResolvers<void>();
    const messages: Notification[] = [];
    const slow: Channel = {
      name: "webhook",
      send: async (message) => {
        messages.push(message);
        await sent.promise;
      },
    };
    const { notifier, pass } = started(slow);
    notifier.notify([pendingNotice({ id: "a" })]);
    await pass(10);
    notifier.notify([pendingNotice({ id: "b" })]);
    sent.resolve();
    await pass(0);
    await pass(10);
    expect(messages.map(({ link }) => link?.at(-1))).toEqual(["a", "b"]);
  });
});

describe("a channel that fails", () => {
  test("is tried five times in ten minutes, with the same message, and then given up", async () => {
    const channel = new KeepingChannel(...busy(5));
    const { notifier, pass, problems, clock } = started(channel);
    notifier.notify([pendingNotice()]);
    const counts: number[] = [];
    for (const seconds of [10, 14, 1, 59, 1, 179, 1, 359, 1, 9999]) {
      await pass(seconds);
      counts.push(channel.messages.length);
    }
    const ids = new Set(channel.messages.map(({ id }) => id));
    expect([counts, ids.size, problems, clock.sleepers]).toEqual([
      [1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
      1,
      [
        ...[15, 60, 180, 360].map(
          (seconds) =>
            `Cannot notify by webhook: The line is busy. jp tries again in ${seconds} seconds.`,
        ),
        "Cannot notify by webhook: The line is busy. jp gives up.",
      ],
      0,
    ]);
  });

  test("works again with the next question", async () => {
    const channel = new KeepingChannel(...busy(5));
    const { notifier, pass } = started(channel);
    notifier.notify([pendingNotice({ id: "a" })]);
    for (const seconds of [10, 15, 60, 180, 360]) await pass(seconds);
    notifier.notify([pendingNotice({ id: "b" })]);
    await pass(10);
    expect(channel.messages.map(({ link }) => link?.at(-1))).toEqual("aaaaab".split(""));
  });

  test("announces new questions with its next attempt, and leaves out answered ones", async () => {
    const channel = new KeepingChannel(...busy(2));
    const { notifier, pass } = started(channel);
    notifier.notify([pendingNotice({ id: "a" })]);
    await pass(10);
    notifier.notify([pendingNotice({ id: "b" })]);
    await pass(15);
    notifier.withdraw(pendingNotice({ id: "a" }));
    await pass(60);
    expect(channel.titles).toEqual([ONE, TWO, ONE]);
  });

  test("sends nothing more once everything is answered", async () => {
    const channel = new KeepingChannel(...busy(1));
    const { notifier, pass, clock } = started(channel);
    notifier.notify([pendingNotice()]);
    await pass(10);
    notifier.withdraw(pendingNotice());
    await pass(15);
    expect([channel.titles.length, clock.sleepers]).toEqual([1, 0]);
  });

  test("is not tried again if it would fail in the same way", async () => {
    const channel = new KeepingChannel(new PermanentError("No secret."));
    const { notifier, pass, problems, clock } = started(channel);
    notifier.notify([pendingNotice()]);
    await pass(10);
    expect([problems, clock.sleepers]).toEqual([
      ["Cannot notify by webhook: No secret. jp gives up."],
      0,
    ]);
  });

  test("does not hold up another channel", async () => {
    const [broken, working] = [new KeepingChannel(...busy(5)), new KeepingChannel()];
    const { notifier, pass } = started(broken, working);
    notifier.notify([pendingNotice()]);
    await pass(10);
    expect(working.titles).toEqual([ONE]);
  });

  test("has half a minute", async () => {
    const { notifier, pass, problems } = started({ name: "command", send: untilAborted });
    notifier.notify([pendingNotice()]);
    await pass(10);
    await pass(29);
    const before = problems.length;
    await pass(1);
    expect([before, problems]).toEqual([
      0,
      ["Cannot notify by command: It took longer than 30 seconds. jp tries again in 15 seconds."],
    ]);
  });

  test("cannot forge lines with what it reports", async () => {
    const channel = new KeepingChannel(new PermanentError("535 no\njp: all is well\u001b[2J"));
    const { notifier, pass, problems } = started(channel);
    notifier.notify([pendingNotice()]);
    await pass(10);
    expect(problems).toEqual([
      "Cannot notify by webhook: 535 no jp: all is well␛[2J. jp gives up.",
    ]);
  });
});

describe("closing a notifier", () => {
  test("drops what was not sent yet, silently", async () => {
    const channel = new KeepingChannel();
    const { notifier, pass, problems, clock } = started(channel);
    notifier.notify([pendingNotice({ id: "a" })]);
    await notifier.close();
    notifier.notify([pendingNotice({ id: "b" })]);
    await pass(100);
    expect([channel.titles, problems, clock.sleepers]).toEqual([[], [], 0]);
  });

  test("stops what is being sent", async () => {
    const { notifier, pass, problems } = started({ name: "webhook", send: untilAborted });
    notifier.notify([pendingNotice()]);
    await pass(10);
    await notifier.close();
    expect(problems).toEqual([]);
  });
});

/** Never ends by itself. */
function untilAborted(_message: Notification, signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  return promise;
}
