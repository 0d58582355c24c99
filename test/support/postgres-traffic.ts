/** Counts the rows and bytes that a server sends. */
import { Relay } from "./postgres-relay.ts";

/** The type of a message with a row. */
const ROW = "D".charCodeAt(0);
/** Its type, and its length. */
const HEAD = 5;

export class Traffic implements AsyncDisposable {
  readonly #relay: Relay;
  readonly #counts: { rows: number; bytes: number };

  private constructor(relay: Relay, counts: { rows: number; bytes: number }) {
    this.#relay = relay;
    this.#counts = counts;
  }

  static async start(url: string): Promise<Traffic> {
    const counts = { rows: 0, bytes: 0 };
    const listen = () => {
      let rest = Buffer.alloc(0);
      return (data: Buffer) => {
        rest = Buffer.concat([rest, data]);
        while (rest.length >= HEAD) {
          const length = 1 + rest.readInt32BE(1);
          if (rest.length < length) return;
          if (rest[0] === ROW) {
            counts.rows += 1;
            counts.bytes += length;
          }
          rest = rest.subarray(length);
        }
      };
    };
    return new Traffic(await Relay.start(url, () => true, listen), counts);
  }

  /** The address to connect to. */
  get url(): string {
    return this.#relay.url;
  }

  /** What was sent since the last call. */
  take(): { readonly rows: number; readonly bytes: number } {
    const taken = { ...this.#counts };
    Object.assign(this.#counts, { rows: 0, bytes: 0 });
    return taken;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#relay[Symbol.asyncDispose]();
  }
}
