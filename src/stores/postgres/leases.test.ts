import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Database } from "./database.ts";
import { type Lease, LEASE_SECONDS, Leases } from "./leases.ts";

/** A database in which some conversations were taken over. */
class Renewals {
  /** The keys of each statement. */
  readonly asked: (readonly string[])[] = [];
  readonly lost = new Set<string>();
  isDown = false;
  /** Set while statements take long. */
  pause: Promise<void> | undefined;

  get database(): Database {
    const query = async ({ values: [keys] }: { readonly values: readonly string[][] }) => {
      this.asked.push(keys ?? []);
      await this.pause;
      if (this.isDown) throw new Error("no connection");
      return (keys ?? []).filter((key) => !this.lost.has(key)).map((key) => ({ key }));
    };
    return { query } as unknown as Database;
  }
}

function start() {
  const renewals = new Renewals();
  const leases = new Leases(renewals.database, "default");
  const lost: string[] = [];
  const hold = (key: string) => {
    const lease: Lease = { key, epoch: "1", onLost: () => lost.push(key) };
    const held = leases.hold(lease);
    onTestFinished(() => held[Symbol.dispose]());
    return held;
  };
  return { renewals, lost, hold };
}

describe("a lease", () => {
  beforeEach(() => {
    // The test runner has timeouts of its own.
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
  });

  test("is renewed several times before it would run out, for as long as it is held", async () => {
    const { renewals, hold } = start();
    const held = hold("1");
    await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1000);
    expect(renewals.asked.length).toBeGreaterThan(2);
    const { length } = renewals.asked;
    held[Symbol.dispose]();
    await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1000);
    expect([renewals.asked.length, vi.getTimerCount()]).toEqual([length, 0]);
  });

  test("is renewed with all others, and again once one is held after a pause", async () => {
    const { renewals, hold } = start();
    hold("1")[Symbol.dispose]();
    hold("2");
    hold("3");
    await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 300);
    expect(renewals.asked).toEqual([["2", "3"]]);
  });

  test("that someone else has taken is reported as lost, and no other", async () => {
    const { renewals, lost, hold } = start();
    hold("1");
    hold("2");
    renewals.lost.add("2");
    await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 300);
    expect(lost).toEqual(["2"]);
  });

  test("is not lost because the database cannot be reached, and is renewed once it can be", async () => {
    const { renewals, lost, hold } = start();
    hold("1");
    renewals.isDown = true;
    await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 300);
    renewals.isDown = false;
    renewals.lost.add("1");
    expect(lost).toEqual([]);
    await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 300);
    expect(lost).toEqual(["1"]);
  });

  test("that is released while it is renewed is not reported as lost", async () => {
    const { renewals, lost, hold } = start();
    hold("1");
    const second = hold("2");
    renewals.lost.add("2");
    const { promise, resolve } = Promise.withResolvers<void>();
    renewals.pause = promise;
    await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 600);
    second[Symbol.dispose]();
    resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect([lost, renewals.asked]).toEqual([[], [["1", "2"]]]);
  });
});
