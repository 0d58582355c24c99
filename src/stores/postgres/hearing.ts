/**
 * The notifications that a worker listens to. Detects when none arrive although it is connected, as through a pooler
 * that gives each transaction another connection.
 */
import type { ConversationId } from "../../record/conversation/index.ts";
import { monotonicMs } from "../../util/index.ts";
import { StorageError } from "../storage-error.ts";
import { CHANNEL, type Channel, type ChannelListener } from "./channel.ts";
import type { Database } from "./database.ts";
import { parseNotice } from "./listening.ts";
import type { WakeUpReader } from "./wake-ups.ts";

/** How long its own notification may take. */
const ECHO_MS = 2000;

/** The source of a worker's notifications. */
interface HearingPlace {
  readonly channel: Channel;
  readonly database: Database;
  /** The key of the workspace. */
  readonly workspace: string;
  readonly readWakeUp: WakeUpReader;
}

/** Must not throw. */
interface HearingListener {
  readonly onWakeUp: (id: ConversationId) => void;
  /** Whether any wake-up is still of use. Other notifications need not be read then. */
  readonly hasHints: () => boolean;
  /** The conversation has changed since its last wake-up: probably someone has taken it. */
  readonly onChange: (id: ConversationId) => void;
  readonly onProblem: (problem: Error) => void;
}

export class Hearing {
  readonly #place: HearingPlace;
  readonly #onProblem: (problem: Error) => void;
  readonly #listener: ChannelListener;
  /** The payload that this worker sends to itself. */
  readonly #echo = `e${crypto.randomUUID()}`;
  #connectedAt = 0;
  #isHeard = false;
  #hasTold = false;

  constructor(place: HearingPlace, { onWakeUp, hasHints, onChange, onProblem }: HearingListener) {
    this.#place = place;
    this.#onProblem = onProblem;
    this.#listener = {
      onNotice: (payload) => {
        const woken = place.readWakeUp(payload);
        if (woken !== undefined) return onWakeUp(woken);
        if (payload === this.#echo) this.#isHeard = true;
        const notice = hasHints() ? parseNotice(payload) : undefined;
        if (notice?.workspace === place.workspace && notice.kind === "changed") onChange(notice.id);
      },
      onConnected: () => this.#sendEcho(),
    };
    place.channel.add(this.#listener);
  }

  /** Connects again if necessary. Returns whether wake-ups arrive. */
  check(): boolean {
    const { channel } = this.#place;
    channel.connect();
    if (!channel.isConnected) return false;
    if (this.#isHeard || monotonicMs() < this.#connectedAt + ECHO_MS) return true;
    if (!this.#hasTold) this.#onProblem(deafError());
    this.#hasTold = true;
    return false;
  }

  async close(): Promise<void> {
    await this.#place.channel.remove(this.#listener);
  }

  #sendEcho(): void {
    this.#isHeard = false;
    this.#connectedAt = monotonicMs();
    const { database } = this.#place;
    const sent = database.query({
      text: "select pg_notify($1, $2)",
      values: [CHANNEL, this.#echo],
    });
    sent.catch(() => undefined); // Nothing arrives then, which `check` finds.
  }
}

function deafError(): StorageError {
  return new StorageError(
    "no_notifications",
    "The database passes no notifications on: this worker looks for turns four times a second instead.",
    { hint: "A pooler must give each session one connection, or the worker has to go around it." },
  );
}
