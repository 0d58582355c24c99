import { describe, expect, test } from "vitest";
import { readFileSync } from "node:fs";
import { PRICE_TABLE_FILE, renderPriceTable } from "../../../test/support/price-table.ts";
import type { PricedRequest } from "./token-price.ts";
import { loadPrices } from "./usage-settings.ts";

const SONNET = "anthropic/claude-sonnet-4-5-20250929";
const LISTED = { input: 3, cachedInput: 0.3, cacheWrites: 3.75, output: 15 };

function request(day: string, fields: Partial<PricedRequest> = {}): PricedRequest {
  return { at: new Date(`${day}T12:00:00Z`), input: 1000, ...fields };
}

describe("the price of a model", () => {
  test("comes from the config, else from the table, and it is known from which", async () => {
    const configured = { [SONNET]: { input: 1, output: 2 }, "google/*": { input: 5 } };
    const prices = await loadPrices({ usage: { prices: configured } });
    const asked = request("2026-01-01");
    expect({
      own: prices.of(SONNET, asked),
      ofProvider: prices.of("google/gemini-2.5-pro", asked),
      listed: prices.of("anthropic/claude-sonnet-4-5", asked),
      unknown: prices.of("ollama/llama3", asked),
      madeUp: prices.of("openai/not-a-model", asked),
      sources: [...prices.sources].map(([model, from]) => [model, ...from]),
    }).toEqual({
      own: { input: 1, output: 2 },
      ofProvider: { input: 5 },
      listed: LISTED,
      unknown: undefined,
      madeUp: undefined,
      sources: [
        [SONNET, "config"],
        ["google/gemini-2.5-pro", "config"],
        ["anthropic/claude-sonnet-4-5", "table"],
        ["ollama/llama3", "unknown"],
        ["openai/not-a-model", "unknown"],
      ],
    });
  });

  test("is not looked up in the table if the provider has reported the cost", async () => {
    const prices = await loadPrices({});
    expect(prices.of(SONNET, request("2026-01-01", { reportedCost: 0.1 }))).toBeUndefined();
    expect([...(prices.sources.get(SONNET) ?? [])]).toEqual(["provider"]);
  });

  test("is not taken from the table in another currency", async () => {
    const prices = await loadPrices({ usage: { currency: "EUR" } });
    expect(prices.of(SONNET, request("2026-01-01"))).toBeUndefined();
  });

  test("is the one of the day of the request", async () => {
    const { of } = await loadPrices({});
    const days = ["2025-06-09", "2025-06-10"];
    expect(days.map((day) => of("openai/o3", request(day))?.output)).toEqual([40, 8]);
  });

  test("is higher above the model's limit, if it has one", async () => {
    const { of } = await loadPrices({});
    const inputs = [200_000, 200_001];
    const found = inputs.map((input) => of(SONNET, request("2026-01-01", { input }))?.output);
    expect(found).toEqual([15, 22.5]);
  });
});

test("the table is made from the pinned version of the package that maintains it", () => {
  expect(readFileSync(PRICE_TABLE_FILE, "utf8")).toBe(renderPriceTable());
});
