/**
 * Renews the leases of open conversations. The statement that takes a lease also raises the conversation's epoch, so
 * that the previous holder can write nothing more, even if it does not know yet that it lost the lease.
 */
import { hostname } from "node:os";
import type { Database } from "./database.ts";

/** How long a dead process keeps its conversations. A longer pause of a live process loses them. */
export const LEASE_SECONDS = 10;
const RENEW_MS = (LEASE_SECONDS * 1000) / 4;

/** Unique to each process: pids are reused, and other machines have the same ones. */
const PROCESS = crypto.randomUUID();

/** The owner of a new lease. Unique, so that a repeated statement recognizes its own. */
export function newOwner(): string {
  return `${PROCESS} ${crypto.randomUUID()}`;
}

export function isOfThisProcess(owner: string): boolean {
  return owner.startsWith(`${PROCESS} `);
}

/** The holder, for display. */
export function holderOf(pid: number): string {
  return `process ${pid} on ${hostname()}`;
}

export interface Lease {
  /** The conversation's key. */
  readonly key: string;
  readonly epoch: string;
  /** Called once someone else has the lease. */
  readonly onLost: () => void;
}

/** All leases of a store, renewed together. */
export class Leases {
  readonly #database: Database;
  readonly #tenant: string;
  readonly #held = new Set<Lease>();
  #timer: NodeJS.Timeout | undefined;
  #isRenewing = false;

  constructor(database: Database, tenant: string) {
    this.#database = database;
    this.#tenant = tenant;
  }

  hold(lease: Lease): Disposable {
    this.#held.add(lease);
    // Does not keep the process running: the work on the conversation does.
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

  /** Never takes back a lost lease: renews only its own epoch. */
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
          where c.tenant = $4 and c.key = held.key and c.epoch = held.epoch and c.lease_owner is not null
          returning c.key`,
        values: [
          leases.map(({ key }) => key),
          leases.map(({ epoch }) => epoch),
          LEASE_SECONDS,
          this.#tenant,
        ],
      });
      const renewed = new Set(rows.map(({ key }) => key));
      for (const lease of leases) {
        if (!renewed.has(lease.key) && this.#held.has(lease)) lease.onLost();
      }
    } catch {
      // The next write reports the problem.
    } finally {
      this.#isRenewing = false;
    }
  }
}
