/**
 * Renders src/settings/config/price-table.ts, the prices of common models, from the pinned version of `@pydantic/genai-prices`.
 * Run it as a program to write the file.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import {
  findProvider,
  type MatchLogic,
  type ModelInfo,
  type ModelPrice,
} from "@pydantic/genai-prices";
import { ROOT } from "./documents.ts";

export const PRICE_TABLE_FILE = path.join(ROOT, "src", "settings", "config", "price-table.ts");

/** The package does not say of when its prices are: `npm view @pydantic/genai-prices time` does. */
const PUBLISHED = { version: "0.1.8", date: "2026-09-23" };

/** OpenRouter reports the cost of each request itself, and local models have no price. */
const PROVIDERS = ["anthropic", "google", "openai"];

/** In the order of the columns. */
const KEYS = ["input_mtok", "cache_read_mtok", "cache_write_mtok", "output_mtok"];

/** Throws if the date of the pinned version is not known here. */
export function renderPriceTable(): string {
  const manifest = path.join(ROOT, "node_modules", "@pydantic", "genai-prices", "package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string };
  if (version !== PUBLISHED.version) {
    throw new Error(`When was @pydantic/genai-prices ${version} published? Update PUBLISHED.`);
  }
  const rows = PROVIDERS.flatMap((id) => {
    const models = findProvider({ providerId: id })?.models ?? [];
    return models.flatMap((model) => rowsOf(id, model));
  });
  return `/** Prices of common models: made by test/support/price-table.ts from @pydantic/genai-prices ${version} (MIT). */

/** The day on which the prices were published. */
export const PRICES_OF = "${PUBLISHED.date}";

/**
 * One price a line, in US dollars per million tokens: provider, first day, input tokens that a request must exceed; input,
 * cached input, cache writes, output; pattern of the model's name. A line without a provider is about the model above.
 */
export const PRICE_TABLE = String.raw\`
${rows.join("\n")}
\`;
`;
}

/** A model without a price has a row too, so that no other row matches it. */
function rowsOf(provider: string, { match, prices }: ModelInfo): readonly string[] {
  const dated = Array.isArray(prices) ? prices : [{ prices }];
  const rows = dated.flatMap(({ constraint, prices: price }) => {
    if (constraint !== undefined && constraint.type !== "start_date") {
      throw new Error(`${provider}: unknown constraint ${constraint.type}`);
    }
    const starts = new Set(KEYS.flatMap((key) => tiersOf(price[key])).map(({ start }) => start));
    return [0, ...[...starts].toSorted((one, other) => one - other)].map((above) => {
      const columns = KEYS.map((key) => priceAbove(price, key, above) ?? "-");
      return [constraint?.start_date ?? "", above === 0 ? "" : above, columns.join(" ")].join("|");
    });
  });
  const pattern = patternOf(match);
  if (/[`$]\{|`/.test(pattern)) throw new Error(`${provider}: cannot write ${pattern}`);
  return rows.map((row, index) => (index === 0 ? `${provider}|${row}|${pattern}` : `|${row}|`));
}

function tiersOf(price: ModelPrice[string]) {
  return typeof price === "object" ? price.tiers : [];
}

function priceAbove(price: ModelPrice, key: string, above: number): number | undefined {
  const found = price[key];
  if (typeof found !== "object") return found;
  return found.tiers.findLast(({ start }) => start <= above)?.price ?? found.base;
}

/** For names in lower case. */
function patternOf(match: MatchLogic): string {
  if ("or" in match) {
    const equal = match.or.flatMap((one) => ("equals" in one ? escaped(one.equals) : []));
    const others = match.or.flatMap((one) => ("equals" in one ? [] : patternOf(one)));
    const same = equal.length === 0 ? [] : [`^(?:${equal.join("|")})$`];
    return [...same, ...others].join("|");
  }
  if ("and" in match) return match.and.map((one) => `(?=^.*?(?:${patternOf(one)}))`).join("");
  if ("equals" in match) return `^${escaped(match.equals)}$`;
  if ("starts_with" in match) return `^${escaped(match.starts_with)}`;
  if ("ends_with" in match) return `${escaped(match.ends_with)}$`;
  if ("contains" in match) return escaped(match.contains);
  return match.regex;
}

function escaped(text: string): string {
  return text.toLowerCase().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

if (process.argv[1] === import.meta.filename) writeFileSync(PRICE_TABLE_FILE, renderPriceTable());
