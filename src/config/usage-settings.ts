/** Resolves `usage`: what tokens cost. There are no prices but those of the config. */
import { DEFAULT_CURRENCY } from "./defaults.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

/** Per million tokens. What has no price is not counted. */
export interface TokenPrice {
  /** Input tokens that are not from the cache. */
  readonly input?: number;
  /** Input tokens from the cache; the price of other input if absent. */
  readonly cachedInput?: number;
  /** Input tokens that are written to the cache; the price of other input if absent. */
  readonly cacheWrites?: number;
  /** Output tokens, including reasoning. */
  readonly output?: number;
}

/** The prices of models. */
export interface Prices {
  /** Such as `USD`. */
  readonly currency: string;
  /** Undefined if the config has none for this model, which is `provider/name`. */
  readonly of: (model: string) => TokenPrice | undefined;
}

/** `usage` in the config: what tokens cost, by model. */
export function resolvePrices({ usage }: PartialConfig): Prices {
  const { currency = DEFAULT_CURRENCY, prices = {} } = usage ?? {};
  return {
    currency,
    of: (model) => {
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
    },
  };
}
