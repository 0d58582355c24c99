/**
 * Detects changes in the database: by notifications, and by polling, because a connection can be lost silently, and a
 * pooler in between may not pass notifications on.
 */
import { type ConversationId, findConversationId } from "../../record/conversation/index.ts";
import type { ChangeListener } from "../port.ts";
import { CHANNEL, type Channel, type ChannelListener } from "./channel.ts";
import type { Database, Queries } from "./database.ts";

/** The polling interval while notifications arrive. */
const LOOK_MS = 2000;
/** The polling interval without notifications. */
const DEAF_LOOK_MS = 250;

/** `changed`: a conversation has changed. `offered`: an answer is offered to the writer that has it open. */
export type NoticeKind = "changed" | "offered";

/** SQL that notifies listeners when its statement commits. `id` is an expression. */
export function notifySql(kind: NoticeKind, workspace: string, id: string): string {
  return `pg_notify('${CHANNEL}', '${kind === "changed" ? "c" : "o"}' || ${workspace} || ':' || ${id})`;
}

/** A parsed notification. */
interface Notice {
  readonly kind: NoticeKind;
  readonly workspace: string;
  readonly id: ConversationId;
}

/** Undefined for anything else: anyone who can connect can send anything. */
export function parseNotice(payload: string): Notice | undefined {
  const [, letter, workspace = "", text = ""] = /^([co])(\d+):(.+)$/s.exec(payload) ?? [];
  const id = findConversationId(text);
  return id && { kind: letter === "o" ? "offered" : "changed", workspace, id };
}

interface Watching {
  readonly onChange: ChangeListener;
}

/** Called for offers to a conversation that is open here, or for anything that may have decided an offer made here. */
export interface Waiting {
  readonly id: ConversationId;
  readonly kind: NoticeKind;
  readonly onNotice: () => void;
}

/** The workspace whose changes are reported. */
interface ListeningPlace {
  readonly tenant: string;
  /** Its key. Undefined until something is stored in it. */
  readonly findWorkspace: () => Promise<string | undefined>;
}

export class Listening {
  readonly #database: Database;
  readonly #channel: Channel;
  readonly #hearing: ChannelListener;
  readonly #place: ListeningPlace;
  readonly #watching = new Set<Watching>();
  readonly #waiting = new Set<Waiting>();
  #isHearing = false;
  #timer: NodeJS.Timeout | undefined;
  /** Changes of transactions from this one on have not been seen. */
  #cursor: string | undefined;
  #isLooking = false;
  #workspace: string | undefined;

  constructor(
    { database, channel }: { readonly database: Database; readonly channel: Channel },
    place: ListeningPlace,
  ) {
    this.#database = database;
    this.#channel = channel;
    this.#place = place;
    this.#hearing = {
      onNotice: (payload) => this.#hear(payload),
      onConnected: () => void this.#begin(),
    };
  }

  watch(onChange: ChangeListener): Disposable {
    const own: Watching = { onChange };
    this.#watching.add(own);
    this.#start();
    return this.#stopping(() => this.#watching.delete(own));
  }

  wait(waiting: Waiting): Disposable {
    const own: Waiting = { ...waiting };
    this.#waiting.add(own);
    this.#start();
    return this.#stopping(() => this.#waiting.delete(own));
  }

  async close(): Promise<void> {
    this.#watching.clear();
    this.#waiting.clear();
    await this.#stop();
  }

  #stopping(remove: () => void): Disposable {
    return {
      [Symbol.dispose]: () => {
        remove();
        if (this.#isIdle) void this.#stop();
      },
    };
  }

  get #isIdle(): boolean {
    return this.#watching.size === 0 && this.#waiting.size === 0;
  }

  #start(): void {
    if (!this.#isHearing) this.#channel.add(this.#hearing);
    this.#isHearing = true;
    this.#schedule();
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#cursor = undefined;
    this.#isHearing = false;
    await this.#channel.remove(this.#hearing);
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isIdle) return;
    const pause = this.#channel.isConnected ? LOOK_MS : DEAF_LOOK_MS;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#channel.connect();
      void this.#look().finally(() => this.#schedule());
    }, pause).unref();
  }

  /** Notifies everyone, since earlier changes may have been missed. */
  async #begin(): Promise<void> {
    try {
      this.#workspace ??= await this.#place.findWorkspace();
    } catch {
      // Retried with the next poll.
    }
    if (!this.#isIdle) this.#tellAll();
  }

  #hear(payload: string): void {
    if (this.#workspace === undefined) return void this.#look(); // It may just have been created.
    const notice = parseNotice(payload);
    if (notice?.workspace === this.#workspace) this.#tell(notice.id, notice.kind);
  }

  #tell(id: ConversationId, kind: NoticeKind): void {
    if (kind === "changed") for (const { onChange } of this.#watching) onChange({ id });
    for (const waiting of this.#waiting) {
      if (waiting.id === id && waiting.kind === kind) waiting.onNotice();
    }
  }

  #tellAll(): void {
    for (const { onChange } of this.#watching) onChange({});
    for (const { onNotice } of this.#waiting) onNotice();
  }

  /** Each waiting listener checks for itself. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      if (this.#workspace === undefined) {
        this.#workspace = await this.#place.findWorkspace();
        if (this.#workspace !== undefined) this.#tellAll();
      }
      for (const { onNotice } of this.#waiting) onNotice();
      if (this.#watching.size > 0 && this.#workspace !== undefined) await this.#findChanges();
    } catch {
      // Retried with the next poll.
    } finally {
      this.#isLooking = false;
    }
  }

  async #findChanges(): Promise<void> {
    const found = await changesSince(this.#database, this.#place.tenant, {
      workspace: this.#workspace ?? "",
      cursor: this.#cursor,
    });
    const isFirst = this.#cursor === undefined;
    this.#cursor = found.cursor;
    // Changes before the first poll are unknown, if no notifications arrived.
    if (isFirst) for (const { onChange } of this.#watching) onChange({});
    for (const id of found.ids) this.#tell(id, "changed");
  }
}

interface ChangeRow {
  readonly cursor: string;
  readonly id: string | null;
}

/**
 * The conversations changed since the cursor, and the next cursor. A transaction that was not committed at the last
 * poll has a number not lower than the cursor, so none is missed; some are found twice.
 */
async function changesSince(
  queries: Queries,
  tenant: string,
  { workspace, cursor }: { readonly workspace: string; readonly cursor: string | undefined },
) {
  const rows = await queries.query<ChangeRow>({
    text: `select pg_snapshot_xmin(pg_current_snapshot())::text as cursor, c.id
      from (select 1) as one
      left join jp.conversations c on c.tenant = $3 and c.workspace = $1
        and c.changed >= $2::text::xid8 and $2 is not null`,
    values: [workspace, cursor ?? null, tenant],
  });
  const ids = rows.flatMap(({ id }) => (id === null ? [] : [id as ConversationId])); // Written by a store.
  return { ids, cursor: rows[0]?.cursor ?? cursor ?? "0" };
}
