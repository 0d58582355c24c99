/** Resolves `usage`: token prices from the config, or from the table that ships with jp. */
import { loadModule } from "../../util/index.ts";
import { DEFAULT_CURRENCY } from "./defaults.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import type { PricedRequest, TokenPrice } from "./token-price.ts";

/** The prices of models. */
export interface Prices {
  /** Such as `USD`. */
  readonly currency: string;
  /** Undefined if there is none for this model, which is `provider/name`. `request` is the request to price. */
  readonly of: (model: string, request?: PricedRequest) => TokenPrice | undefined;
}

/** The source of a model's price: the config, jp's table, the provider's reports, or none. */
export type PriceSource = "config" | "table" | "provider" | "unknown";

/** Prices with their sources. */
export interface KnownPrices extends Prices {
  /** The date of jp's table, such as `2026-09-23`. */
  readonly tableDate: string;
  /** The price sources of every model looked up so far. */
  readonly sources: ReadonlyMap<string, ReadonlySet<PriceSource>>;
}

/** The currency of the table and of providers' reports. */
const TABLE_CURRENCY = "USD";

/** Uses `usage` in the config, then the provider's report, then the table, which is loaded with the first call. */
export async function loadPrices({ usage }: PartialConfig): Promise<KnownPrices> {
  const { PRICES_OF, findTablePrice } = await loadModule(() => import("./known-prices.ts"));
  const { currency = DEFAULT_CURRENCY } = usage ?? {};
  const sources = new Map<string, Set<PriceSource>>();
  const find = (model: string, request?: PricedRequest): [PriceSource, TokenPrice?] => {
    const configured = configuredPrice(usage?.prices ?? {}, model);
    if (configured !== undefined) return ["config", configured];
    if (currency !== TABLE_CURRENCY) return ["unknown"];
    if (request?.reportedCost !== undefined) return ["provider"];
    const listed = findTablePrice(model, request ?? { at: new Date(PRICES_OF), input: 0 });
    return listed === undefined ? ["unknown"] : ["table", listed];
  };
  return {
    currency,
    tableDate: PRICES_OF,
    sources,
    of: (model, request) => {
      const [source, price] = find(model, request);
      sources.set(model, (sources.get(model) ?? new Set()).add(source));
      return price;
    },
  };
}

type ConfiguredPrices = NonNullable<NonNullable<PartialConfig["usage"]>["prices"]>;

function configuredPrice(prices: ConfiguredPrices, model: string): TokenPrice | undefined {
  const [provider = ""] = model.split("/", 1);
  const key = [model, `${provider}/*`].find((name) => Object.hasOwn(prices, name));
  if (key === undefined) return undefined;
  const { input, cached_input, cache_writes, output } = prices[key] ?? {};
  return {
    ...(input !== undefined && { input }),
    ...(cached_input !== undefined && { cachedInput: cached_input }),
    ...(cache_writes !== undefined && { cacheWrites: cache_writes }),
    ...(output !== undefined && { output }),
  };
}
