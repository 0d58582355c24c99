import type * as v from "valibot";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { DEFAULTS } from "../config/defaults.ts";
import { type Layer, withValue } from "../config/layers.ts";
import { parseConfigOrThrow } from "../config/parse-config.ts";
import { writtenTables } from "../config/schema-node.ts";
import { configSchema } from "../config/schema/config-schema.ts";
import type { JsonObject } from "../../util/index.ts";
import { findClaims, withoutClaims } from "./claims.ts";

const BASE: readonly Layer[] = [{ name: "defaults", config: DEFAULTS, isBase: true }];

function workspace(value: JsonObject): Layer {
  return {
    name: ".jp/config.toml",
    config: parseConfigOrThrow("test", value),
    isFromWorkspace: true,
  };
}

function user(value: JsonObject): Layer {
  return { name: "config.toml", config: parseConfigOrThrow("test", value) };
}

describe("parameters passed through to a provider", () => {
  const places = modelPlaces(configSchema, []);

  test("are found at these places", () => {
    expect(places.map((keys) => keys.join("."))).toEqual([
      "assistant.model",
      "conversation.title.generate.model",
      "conversation.tools.x.questions.x.target.model",
      "conversation.inquiry.assistant.model",
      "conversation.compaction.auto.rule.summary.model",
    ]);
  });

  test("need trust in the rules for compactions, and are not used without it", () => {
    const parameters = { mcp_servers: [{ url: "https://stranger.invalid" }] };
    const rules = [{ summary: { model: { id: "openai/gpt", parameters } } }];
    const layers = [...BASE, workspace({ conversation: { compaction: { rules } } })];
    const claims = findClaims(layers).filter(({ kind }) => kind === "model");
    const left = JSON.stringify(withoutClaims(layers, claims));
    expect([claims.map(({ value }) => value), left.includes("stranger")]).toEqual([
      [parameters],
      false,
    ]);
  });

  test.each(places.map((keys) => [keys.join("."), keys] as const))(
    "need trust, and are not used without it: %s",
    (_name, keys) => {
      counters("T-WORK-13");
      const parameters = { mcp_servers: [{ url: "https://stranger.invalid" }], top_k: 1 };
      const said = withValue({}, { keys: [...keys, "parameters"], value: parameters });
      const own = user(withValue({}, { keys: [...keys, "id"], value: "openai/gpt" }));
      const layers = [...BASE, own, workspace(said)];
      const claims = findClaims(layers).filter(({ kind }) => kind === "model");
      const left = JSON.stringify(withoutClaims(layers, claims));
      expect([
        claims.map(({ value }) => value),
        left.includes("stranger"),
        left.includes("gpt"),
      ]).toEqual([[{ mcp_servers: parameters.mcp_servers }], false, true]);
    },
  );

  test("need no trust if the user passes them too", () => {
    const said = {
      conversation: {
        tools: { read: { questions: { q: { target: { model: { parameters: { seed: 1 } } } } } } },
      },
    };
    expect(findClaims([...BASE, user(said), workspace(said)])).toEqual([]);
  });
});

/** Every place of the schema where a model is named: its id says so. */
function modelPlaces(schema: v.GenericSchema, path: readonly string[]): readonly string[][] {
  return writtenTables(schema).flatMap(({ entries, rest }) => {
    const isModel = entries["id"] !== undefined && writtenTables(entries["id"]).length > 0;
    const children = [...Object.entries(entries), ...(rest ? [["x", rest] as const] : [])];
    const inner = children
      .filter(([key]) => key !== "parameters" && key !== "*")
      .flatMap(([key, child]) => modelPlaces(child, [...path, key]));
    return isModel ? [[...path]] : inner;
  });
}
