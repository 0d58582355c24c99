/**
 * The chain of a conversation's decisions, one row per link: see `record/conversation/chain.ts`. The log of its heads is
 * a file on this machine.
 */
import { realpathSync } from "node:fs";
import {
  type ChainLine,
  chainLineToText,
  type ChainLink,
  type ConversationId,
  type StreamEntry,
} from "../../record/conversation/index.ts";
import { loadModule } from "../../util/index.ts";
import {
  ChainGrowth,
  type ChainTail,
  compareTail,
  findChainLine,
  lineOrProblem,
  linesNeeded,
  mostLinesNeeded,
  startOfCopy,
} from "../chain-growth.ts";
import type { HeadToNote } from "../fs/chain-file.ts";
import type { ChainProblem } from "../port.ts";
import type { Queries } from "./database.ts";
import type { PostgresStoreOptions } from "./store-options.ts";
import type { WorkspaceRows } from "./workspace-rows.ts";

/** The row of a conversation. */
interface ChainPlace {
  readonly key: string;
  readonly id: ConversationId;
}

export class ChainRows {
  readonly #rows: WorkspaceRows;
  readonly #options: Pick<PostgresStoreOptions, "headsFile" | "root">;

  constructor(rows: WorkspaceRows, options: Pick<PostgresStoreOptions, "headsFile" | "root">) {
    this.#rows = rows;
    this.#options = options;
  }

  /** The chain of a conversation that no one else can write to now. `before`: the last turn on record. */
  async open(
    queries: Queries,
    { key, id }: ChainPlace,
    before: readonly StreamEntry[],
  ): Promise<ChainGrowth> {
    const tail = compareTail(await this.#readTail(queries, key, linesNeeded(before)), before);
    const isEnough = tail.isUpToDate === true;
    const enough = isEnough ? tail : await this.#readTail(queries, key, mostLinesNeeded(before));
    return new ChainGrowth(id, enough, before);
  }

  async #readTail(queries: Queries, key: string, count: number): Promise<ChainTail> {
    const rows = await queries.query<{ readonly line: string }>({
      name: "jp_chain",
      text: `select line from jp.chain
        where tenant = $1 and conversation = $2 order by seq desc limit $3`,
      values: [this.#rows.tenant, key, count],
    });
    const lines = rows.toReversed().flatMap(({ line }) => findChainLine(line) ?? []);
    return { lines, isTorn: false };
  }

  async *read(key: string): AsyncGenerator<ChainLine | ChainProblem> {
    const rows = await this.#rows.database.query<{ readonly seq: number; readonly line: string }>({
      text: "select seq, line from jp.chain where tenant = $1 and conversation = $2 order by seq",
      values: [this.#rows.tenant, key],
    });
    for (const { seq, line } of rows) yield lineOrProblem(line, seq + 1);
  }

  async findLast(key: string): Promise<ChainLink | undefined> {
    const [row] = await this.#rows.database.query<{ readonly line: string }>({
      text: `select line from jp.chain
        where tenant = $1 and conversation = $2 order by seq desc limit 1`,
      values: [this.#rows.tenant, key],
    });
    return row && findChainLine(row.line)?.link;
  }

  /** Starts the chain of a copy with the original's current head, if it has a chain. */
  async copy(original: ChainPlace, copy: ConversationId): Promise<void> {
    const last = await this.findLast(original.key);
    if (last === undefined) return;
    await this.#rows.database.query({
      text: `insert into jp.chain (conversation, tenant, seq, line)
        select key, tenant, 0, $3 from jp.conversations where tenant = $4 and workspace = $1 and id = $2 on conflict do nothing`,
      values: [
        await this.#rows.findKey(),
        copy,
        chainLineToText(startOfCopy(copy, original.id, last)).trimEnd(),
        this.#rows.tenant,
      ],
    });
  }

  /** Never throws: the chain has it. Only a later truncation of the chain would go unnoticed. */
  async noteHead(noted: Omit<HeadToNote, "workspace" | "folder">): Promise<void> {
    const { headsFile, root } = this.#options;
    if (headsFile === undefined) return;
    try {
      const { noteHead } = await loadModule(() => import("../fs/chain-file.ts"));
      const folder = root === undefined ? undefined : realpathSync(root);
      noteHead(headsFile, { ...noted, workspace: this.#rows.name, folder });
    } catch {
      // See above.
    }
  }
}
