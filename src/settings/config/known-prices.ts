/** Looks up a model's price in the table that ships with jp. Nothing is fetched. */
import { PRICE_TABLE } from "./price-table.ts";
import type { PricedRequest, TokenPrice } from "./token-price.ts";

export { PRICES_OF } from "./price-table.ts";

/** A model and its prices, which depend on the date and the size of the input. */
interface ListedModel {
  readonly provider: string;
  readonly pattern: RegExp;
  readonly prices: ListedPrice[];
}

interface ListedPrice {
  /** The first day, in UTC. */
  readonly since: string;
  /** A request must have more input tokens than this. */
  readonly above: number;
  /** Undefined if there is no price per token. */
  readonly price: TokenPrice | undefined;
}

let listed: readonly ListedModel[] | undefined;

/** `model` is `provider/name`. */
export function findTablePrice(
  model: string,
  { at, input }: Pick<PricedRequest, "at" | "input">,
): TokenPrice | undefined {
  listed ??= readTable(PRICE_TABLE);
  const end = model.indexOf("/");
  const [provider, name] = [model.slice(0, end), model.slice(end + 1).toLowerCase()];
  const found = listed.find((one) => one.provider === provider && one.pattern.test(name));
  const day = at.toISOString().slice(0, 10);
  const due = found?.prices.filter(({ since }) => since <= day) ?? [];
  const last = due.at(-1)?.since;
  return due.findLast(({ since, above }) => since === last && input > above)?.price;
}

function readTable(text: string): readonly ListedModel[] {
  const models: ListedModel[] = [];
  for (const line of text.trim().split("\n")) {
    // The pattern may contain the separator too.
    const [provider = "", since = "", above = "", columns = "", ...pattern] = line.split("|");
    if (provider !== "") {
      models.push({ provider, pattern: new RegExp(pattern.join("|")), prices: [] });
    }
    models.at(-1)?.prices.push({
      since,
      above: above === "" ? -1 : Number(above),
      price: readPrice(columns.split(" ").map(Number)),
    });
  }
  return models;
}

/** A dash is not a number. */
function readPrice([input = NaN, cached = NaN, writes = NaN, output = NaN]: readonly number[]) {
  if (Number.isNaN(input) || Number.isNaN(output)) return undefined;
  return {
    input,
    output,
    ...(!Number.isNaN(cached) && { cachedInput: cached }),
    ...(!Number.isNaN(writes) && { cacheWrites: writes }),
  };
}
