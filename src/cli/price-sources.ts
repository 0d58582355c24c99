/** Describes where model prices come from. */
import type { KnownPrices, PriceSource } from "../settings/config/index.ts";
import { type JsonObject, oneLine } from "../util/index.ts";

/** One line per price source. */
export function describeSources(prices: KnownPrices): readonly string[] {
  const { currency, tableDate } = prices;
  // The table is in US dollars.
  const inCurrency = currency === "USD" ? "" : ` in ${oneLine(currency)}`;
  const titles: Readonly<Record<PriceSource, string>> = {
    config: "Prices from your config:",
    table: `Prices of ${tableDate}, from jp's table:`,
    provider: "Costs reported by the provider:",
    unknown: `No price known${inCurrency}; set usage.prices in the config:`,
  };
  return SOURCES.flatMap((source) => {
    const models = modelsFrom(source, prices);
    return models.length === 0 ? [] : `${titles[source]} ${models.map(oneLine).join(", ")}`;
  });
}

/** In one line, such as `table of 2026-09-23` or `config (openai/a), unknown (ollama/b)`. Empty without a model. */
export function describePriceSources(prices: KnownPrices): string {
  const parts = SOURCES.flatMap((source) => {
    const models = modelsFrom(source, prices);
    const name = source === "table" ? `table of ${prices.tableDate}` : source;
    return models.length === 0 ? [] : [{ name, models: models.map(oneLine).join(", ") }];
  });
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0) return only.name;
  return parts.map(({ name, models }) => `${name} (${models})`).join(", ");
}

const SOURCES: readonly PriceSource[] = ["config", "table", "provider", "unknown"];

function modelsFrom(source: PriceSource, { sources }: KnownPrices): readonly string[] {
  return [...sources].flatMap(([model, from]) => (from.has(source) ? model : [])).toSorted();
}

/** The price sources of one model, or of each. */
export function sourcesToJson({ sources, tableDate }: KnownPrices, model?: string): JsonObject {
  const wanted = model === undefined ? [...sources.values()] : [sources.get(model) ?? []];
  const all = SOURCES.filter((source) => wanted.some((from) => [...from].includes(source)));
  return { price_sources: all, ...(all.includes("table") && { prices_of: tableDate }) };
}
