/** Remembers answers sent with a key, so that a resend after a lost response is not a second answer. */
import { createHmac, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../util/index.ts";
import type { Caller } from "./access.ts";
import { ApiError, badRequest, type JsonReply } from "./http.ts";

interface Sent {
  readonly content: string;
  readonly expiresAt: number;
  /** Absent if nothing was recorded, so that a retry runs again. */
  reply?: Promise<JsonReply> | undefined;
}

const KEEP_MS = 24 * 3_600_000;
const MAX_KEYS = 10_000;
const KEY = /^[ -~]{1,255}$/;

/** Lasts as long as the server runs. Stores digests in place of keys and answers. */
export class IdempotencyKeys {
  readonly #clock: Clock;
  readonly #secret = randomBytes(32);
  /** Oldest first. */
  readonly #sent = new Map<string, Sent>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs the work once per caller and key. Throws an `ApiError` if the key was used with another body. */
  async run(
    request: IncomingMessage,
    { caller, body }: { readonly caller: Caller; readonly body: object },
    work: () => Promise<JsonReply>,
  ): Promise<JsonReply> {
    const given = request.headers["idempotency-key"];
    if (given === undefined) return work();
    if (typeof given !== "string" || !KEY.test(given)) {
      throw badRequest("Idempotency-Key: expected up to 255 printable ASCII characters.");
    }
    const key = this.#digest([caller.key, given]);
    const content = this.#digest([request.url ?? "", body]);
    const sent = this.#find(key) ?? { content, expiresAt: this.#now() + KEEP_MS };
    if (sent.content !== content) {
      throw new ApiError(422, "idempotency_key_reused", {
        message: "This Idempotency-Key was sent with another answer.",
      });
    }
    this.#sent.set(key, sent);
    const [oldest] = this.#sent.keys();
    if (this.#sent.size > MAX_KEYS && oldest !== undefined) this.#sent.delete(oldest);
    if (sent.reply !== undefined) return sent.reply;
    sent.reply = work();
    const { status = 200, isRecorded = status === 200 } = await sent.reply.catch(
      (): Partial<JsonReply> => ({ status: 0 }),
    );
    const { reply } = sent;
    if (!isRecorded) sent.reply = undefined;
    return reply;
  }

  #find(key: string): Sent | undefined {
    const sent = this.#sent.get(key);
    return sent === undefined || sent.expiresAt < this.#now() ? undefined : sent;
  }

  #digest(parts: readonly unknown[]): string {
    return createHmac("sha256", this.#secret).update(JSON.stringify(parts)).digest("base64");
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}
