/** Answers that one process offers to the one that has the conversation open, as rows. See `Offer`. */
import type {
  AnswerProblem,
  ConversationId,
  OfferedAnswer,
} from "../../record/conversation/index.ts";
import { parseJson } from "../../util/index.ts";
import type { Offer } from "../answering.ts";
import {
  decideOffered,
  isRefusal,
  offeredToJson,
  parseRefusal,
  refusalToJson,
} from "../offered.ts";
import type { AnswerListener } from "../port.ts";
import type { Database } from "./database.ts";
import { type Listening, notifySql } from "./listening.ts";

/** The conversation that receives the offers. */
export interface OfferPlace {
  readonly tenant: string;
  readonly key: string;
  readonly id: ConversationId;
  readonly workspace: string;
}

/** Most turns that continue end sooner. Whoever offers an answer meanwhile tries again when the writer is released. */
const FIRST_LOOK_MS = 50;
/** After this time, no one will read a refusal. */
const MAX_UNREAD = "1 minute";

interface OfferRow {
  readonly key: string;
  readonly offered: string;
}

export class TableOffers {
  readonly #database: Database;
  readonly #listening: Listening;
  readonly #place: OfferPlace;

  constructor(database: Database, listening: Listening, place: OfferPlace) {
    this.#database = database;
    this.#listening = listening;
    this.#place = place;
  }

  async place(offered: OfferedAnswer): Promise<Offer> {
    const { tenant, id, key, workspace } = this.#place;
    await this.#removeUnread();
    const offer = new TableOffer(this.#database, this.#listening, { tenant, id });
    await this.#database.query({
      text: `with placed as (
          insert into jp.offers (key, conversation, tenant, offered)
          select $1, c.key, c.tenant, $3 from jp.conversations c where c.tenant = $6 and c.key = $2
          on conflict (tenant, key) do nothing returning 1
        ) select ${notifySql("offered", "$4::text", "$5::text")} from placed`,
      values: [
        offer.key,
        key,
        JSON.stringify(offeredToJson(offered, undefined)),
        workspace,
        id,
        tenant,
      ],
    });
    return offer;
  }

  /** Passes every offer to the listener, until disposed of. Only the writer of the conversation may call it. */
  listen(listener: AnswerListener): Disposable {
    let isStopped = false;
    let looking = Promise.resolve();
    const passed = new Set<string>();
    const lookNow = async () => {
      for (const { key, offered } of isStopped ? [] : await this.#list()) {
        if (isStopped || passed.has(key)) continue;
        passed.add(key);
        void this.#pass(key, offered, listener).catch(() => passed.delete(key));
      }
    };
    let isFirstDue = true;
    const look = () => {
      if (!isFirstDue) looking = looking.then(lookNow);
    };
    const first = setTimeout(() => {
      isFirstDue = false;
      look();
    }, FIRST_LOOK_MS).unref();
    const waiting = this.#listening.wait({ id: this.#place.id, kind: "offered", onNotice: look });
    return {
      [Symbol.dispose]: () => {
        isStopped = true;
        clearTimeout(first);
        waiting[Symbol.dispose]();
      },
    };
  }

  /** Includes offers that an earlier writer claimed and left: only one writer has the conversation open. Never throws. */
  async #list(): Promise<readonly OfferRow[]> {
    const rows = this.#database.query<OfferRow>({
      name: "jp_offers",
      text: `select key, offered from jp.offers
        where tenant = $1 and conversation = $2 and state <> 'refused' order by made_at`,
      values: [this.#place.tenant, this.#place.key],
    });
    return rows.catch(() => []);
  }

  async #pass(key: string, text: string, listener: AnswerListener): Promise<void> {
    const claimed = await this.#database.query({
      text: `update jp.offers set state = 'claimed'
        where tenant = $1 and key = $2 and state <> 'refused' returning 1`,
      values: [this.#place.tenant, key],
    });
    if (claimed.length === 0) return;
    const result = await decideOffered(() => text, undefined, listener);
    if (result === undefined) {
      // The next writer of the conversation may be able to decide.
      await this.#settle(
        key,
        "update jp.offers set state = 'offered' where tenant = $4 and key = $1 returning 1",
      );
    } else if (isRefusal(result)) {
      const query =
        "update jp.offers set state = 'refused', refusal = $5 where tenant = $4 and key = $1 returning 1";
      await this.#settle(key, query, JSON.stringify(refusalToJson(result)));
    } else {
      await this.#settle(key, "delete from jp.offers where tenant = $4 and key = $1 returning 1");
    }
  }

  async #settle(key: string, text: string, refusal?: string): Promise<void> {
    const { tenant, workspace, id } = this.#place;
    await this.#database.query({
      text: `with settled as (${text}) select ${notifySql("changed", "$2::text", "$3::text")} from settled`,
      values: [key, workspace, id, tenant, ...(refusal === undefined ? [] : [refusal])],
    });
  }

  /** Removes leftovers of processes that were killed before they could read them. */
  async #removeUnread(): Promise<void> {
    await this.#database.query({
      text: `delete from jp.offers where tenant = $1 and conversation = $2 and state = 'refused'
        and made_at < clock_timestamp() - interval '${MAX_UNREAD}'`,
      values: [this.#place.tenant, this.#place.key],
    });
  }
}

class TableOffer implements Offer {
  readonly key = crypto.randomUUID();
  readonly #database: Database;
  readonly #tenant: string;
  readonly #waiting: Disposable;
  #changed = Promise.withResolvers<void>();

  constructor(
    database: Database,
    listening: Listening,
    { tenant, id }: Pick<OfferPlace, "tenant" | "id">,
  ) {
    this.#database = database;
    this.#tenant = tenant;
    const onNotice = () => this.#changed.resolve();
    this.#waiting = listening.wait({ id, kind: "changed", onNotice });
  }

  async changed(): Promise<void> {
    await this.#changed.promise;
    this.#changed = Promise.withResolvers();
  }

  async findRefusal(): Promise<AnswerProblem | undefined> {
    const [row] = await this.#database.query<{ readonly refusal: string | null }>({
      text: "select refusal from jp.offers where tenant = $1 and key = $2 and state = 'refused'",
      values: [this.#tenant, this.key],
    });
    return row?.refusal == null ? undefined : parseRefusal(parseJson(row.refusal));
  }

  async withdraw(): Promise<boolean> {
    const rows = await this.#database.query({
      text: "delete from jp.offers where tenant = $1 and key = $2 and state = 'offered' returning 1",
      values: [this.#tenant, this.key],
    });
    return rows.length > 0;
  }

  async discard(): Promise<void> {
    await this.#database.query({
      text: "delete from jp.offers where tenant = $1 and key = $2",
      values: [this.#tenant, this.key],
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#waiting[Symbol.dispose]();
    await this.withdraw();
  }
}
