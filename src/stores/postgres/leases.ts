/**
 * Keeps the leases of open conversations alive. A lease is taken by a statement that also raises the conversation's epoch, so
 * that whoever had it before can write nothing more, even if it does not know yet that it was lost.
 */
import { hostname } from "node:os";
import type { Database } from "./database.ts";

/** A process that is gone keeps its conversations for so long. A pause of the whole process that is longer loses them. */
export const LEASE_SECONDS = 10;
const RENEW_MS = (LEASE_SECONDS * 1000) / 4;

/** Different for each process: ids of processes are used again, and other machines have the same. */
const PROCESS = crypto.randomUUID();

/** What a lease is taken with. Unique, so that a statement that is repeated finds its own. */
export function newOwner(): string {
  return `${PROCESS} ${crypto.randomUUID()}`;
}

export function isOfThisProcess(owner: string): boolean {
  return owner.startsWith(`${PROCESS} `);
}

/** As people read it. */
export function holderOf(pid: number): string {
  return `process ${pid} on ${hostname()}`;
}

export interface Lease {
  /** Of the conversation. */
  readonly key: string;
  readonly epoch: string;
  /** Called once someone else has it. */
  readonly onLost: () => void;
}

/** All leases of a store, renewed together. */
export class Leases {
  readonly #database: Database;
  readonly #held = new Set<Lease>();
  #timer: NodeJS.Timeout | undefined;
  #isRenewing = false;

  constructor(database: Database) {
    this.#database = database;
  }

  hold(lease: Lease): Disposable {
    this.#held.add(lease);
    // Does not keep the process running: whatever works on the conversation does.
    this.#timer ??= setInterval(() => void this.#renew(), RENEW_MS).unref();
    return {
      [Symbol.dispose]: () => {
        this.#held.delete(lease);
        if (this.#held.size === 0) this.#stop();
      },
    };
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Never takes a lease that was lost: only its own epoch is renewed. */
  async #renew(): Promise<void> {
    if (this.#isRenewing || this.#held.size === 0) return;
    this.#isRenewing = true;
    try {
      const leases = [...this.#held];
      const rows = await this.#database.query<{ readonly key: string }>({
        name: "jp_renew",
        text: `update jp.conversations c
          set lease_until = clock_timestamp() + make_interval(secs => $3)
          from unnest($1::bigint[], $2::bigint[]) as held (key, epoch)
          where c.key = held.key and c.epoch = held.epoch and c.lease_owner is not null
          returning c.key`,
        values: [leases.map(({ key }) => key), leases.map(({ epoch }) => epoch), LEASE_SECONDS],
      });
      const renewed = new Set(rows.map(({ key }) => key));
      for (const lease of leases) {
        if (!renewed.has(lease.key) && this.#held.has(lease)) lease.onLost();
      }
    } catch {
      // The next write says what is wrong.
    } finally {
      this.#isRenewing = false;
    }
  }
}
