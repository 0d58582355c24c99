/** How full the context is during a turn, and what its conversation has cost so far: the row below the status line. */
import { type OpenTurn, sumTotals, UsageTotals } from "../../../assemble/index.ts";
import type { ContextUse, Observer, TurnUpdate } from "../../../core/agent/index.ts";
import { type KnownPrices, loadPrices } from "../../../settings/config/index.ts";
import { describeContextUse, describeUsage } from "../../../surfaces/render/index.ts";
import { oneLine } from "../../../util/index.ts";

type ShownTurn = Pick<OpenTurn, "conversation" | "trusted">;

export class TurnUse implements Observer {
  readonly #turn: ShownTurn;
  #context: ContextUse | undefined;
  #prices: KnownPrices | undefined;
  #totals: UsageTotals | undefined;
  /** The entries that are in the totals. */
  #counted = 0;

  constructor(turn: ShownTurn) {
    this.#turn = turn;
  }

  /** Until then, the cost is not shown. Throws `module_not_loaded`, `read_failed` and `record_damaged`. */
  async load(): Promise<void> {
    const { conversation, trusted } = this.#turn;
    const prices = await loadPrices(trusted.config);
    await conversation.stream.load?.();
    this.#totals = new UsageTotals({ prices });
    this.#prices = prices;
    this.#count();
  }

  observe(update: TurnUpdate): void {
    if (update.type === "context_use") this.#context = update;
    if (update.type === "event" && update.event.type === "token_usage") this.#count();
  }

  /** The row, and shorter forms of it for narrow screens. Empty as long as nothing is known. */
  forms(): readonly string[] {
    const cost = this.#describeCost();
    const context = this.#context === undefined ? [] : describeContextUse(this.#context);
    const [long = "", short = long] = context;
    const forms = [[long, cost && `${cost} so far`], [short, cost], [short]];
    return forms
      .map((parts) => parts.filter((part) => part !== "").join(" · "))
      .filter((form) => form !== "");
  }

  #count(): void {
    const { id, stream } = this.#turn.conversation;
    if (this.#totals === undefined) return;
    this.#totals.add({ id, createdAt: stream.createdAt }, stream.entries.slice(this.#counted));
    this.#counted = stream.entries.length;
  }

  #describeCost(): string {
    if (this.#totals === undefined || this.#prices === undefined) return "";
    return describeUsage({}, sumTotals(this.#totals.result()), oneLine(this.#prices.currency));
  }
}
