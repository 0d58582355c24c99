/**
 * Whether a recorded decision is the user's own: made by them, on this machine, for this folder, and about exactly
 * what the record says now.
 */
import {
  authenticationOf,
  type ChainLine,
  type ConversationEvent,
  type ConversationId,
  deciderOf,
  isDecisive,
  OwnLinks,
  type OwnRun,
  type StreamEntry,
} from "../../record/conversation/index.ts";
import type { InquiryRow } from "../../surfaces/render/index.ts";
import { isJpError, type JsonObject } from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";

type RecordContext = Pick<CommandContext, "workspace" | "output">;

/** The user's own decisions in one conversation. */
export class OwnDecisions {
  readonly #id: ConversationId;
  readonly #runs: readonly OwnRun[];
  readonly #context: RecordContext;
  /** The JSON of each event, covered by its link. */
  readonly #raw = new WeakMap<ConversationEvent, JsonObject>();
  #links: Promise<OwnLinks> | undefined;

  constructor(id: ConversationId, runs: readonly OwnRun[], context: RecordContext) {
    this.#id = id;
    this.#runs = runs;
    this.#context = context;
  }

  /** Passes entries through. `take` needs to have seen a decision's entries first. */
  async *reading(
    pieces: AsyncIterable<readonly StreamEntry[]>,
  ): AsyncGenerator<readonly StreamEntry[]> {
    for await (const entries of pieces) {
      for (const entry of entries) {
        const event = isDecisive(entry.eventType) ? entry.event : undefined;
        if (event !== undefined) this.#raw.set(event, entry.raw);
      }
      yield entries;
    }
  }

  /** Call it once per decision. */
  async take({ request, response }: InquiryRow): Promise<boolean> {
    if (request === undefined || response === undefined || !isByOwner(response)) return false;
    const [asked, answered] = [this.#raw.get(request), this.#raw.get(response)];
    if (this.#runs.length === 0 || asked === undefined || answered === undefined) return false;
    this.#links ??= this.#readLinks();
    return (await this.#links).take(asked, answered);
  }

  async #readLinks(): Promise<OwnLinks> {
    const { workspace, output } = this.#context;
    const lines: ChainLine[] = [];
    try {
      for await (const read of workspace.conversations.readChain?.(this.#id) ?? []) {
        if ("link" in read) lines.push(read);
      }
    } catch (error) {
      if (!isJpError(error) || error.code !== "read_failed") throw error;
      warn(error.message, output);
    }
    return new OwnLinks(lines, this.#runs);
  }
}

/** Where jp itself asks. Other programs may answer in a person's name without asking them. */
const OWN_CHANNELS: ReadonlySet<string> = new Set(["terminal", "cli", "desk"]);
/** The user of this machine, including by the link that the desk prints for them. */
const OWN_AUTHENTICATIONS: ReadonlySet<string> = new Set(["os_user", "owner"]);

function isByOwner(response: NonNullable<InquiryRow["response"]>): boolean {
  const by = deciderOf(response);
  if (by?.kind !== "user" || !OWN_CHANNELS.has(by.channel)) return false;
  return OWN_AUTHENTICATIONS.has(authenticationOf(by));
}
