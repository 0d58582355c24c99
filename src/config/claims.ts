/**
 * What the files of a workspace would have run or reached: programs as tools, MCP servers, the addresses
 * of models. They may have come with a clone, so each of it is a claim that somebody has to trust.
 */
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import { foldLayers, type Layer, valueAt, without } from "./layer.ts";
import { mergeConfig } from "./merge.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { withValue } from "./with-value.ts";

export interface Claim {
  readonly kind: "tool" | "mcp" | "llm";
  /** Of the tool, the server or the provider; `*` for what all tools have in common. */
  readonly name: string;
  /** What matters of it. What it is called and how it looks does not. */
  readonly value: JsonObject;
  /** The files that say so. */
  readonly files: readonly string[];
}

const PLACES = {
  tool: ["conversation", "tools"],
  mcp: ["providers", "mcp"],
  llm: ["providers", "llm"],
} as const satisfies Record<Claim["kind"], readonly string[]>;

/** Keys by which nothing more is run, reached or allowed. */
const HARMLESS: Readonly<Record<"tool" | "mcp", readonly string[]>> = {
  tool: [
    "enable",
    "group",
    "summary",
    "description",
    "examples",
    "style",
    "cancellation_response",
    "timeout_secs",
  ],
  mcp: ["optional", "startup_timeout_secs"],
};

/** Where requests go, and with which key. */
const ADDRESS_KEYS: ReadonlySet<string> = new Set(["base_url", "base_url_env", "api_key_env"]);

/** Those that say more than the person's own config and ours. */
export function findClaims(layers: readonly Layer[]): readonly Claim[] {
  const own = ownConfig(layers);
  const base = foldLayers(layers.filter(({ isBase }) => isBase));
  return allClaims(layers).filter(
    (claim) => !isSaidBy(base, claim, base) && !isSaidBy(own, claim, base),
  );
}

/** All that the workspace says, also if the person says the same. */
export function allClaims(layers: readonly Layer[]): readonly Claim[] {
  const files = layers.filter(({ isOfWorkspace }) => isOfWorkspace);
  const base = foldLayers(layers.filter(({ isBase }) => isBase));
  const foreign = foldLayers(layers.filter(({ isBase, isOfWorkspace }) => isBase || isOfWorkspace));
  const inForce = foldLayers(layers);
  const kinds = Object.keys(PLACES) as (keyof typeof PLACES)[];
  return kinds.flatMap((kind) =>
    namesAt(foreign, kind).flatMap((name) => {
      const path = pathOf({ kind, name });
      const value = weightOf(foreign, { kind, name }, base);
      const saying = files.filter(({ config }) => valueAt(config, path) !== undefined);
      if (saying.length === 0 || !counts({ kind, name, value }, inForce)) return [];
      return [{ kind, name, value, files: saying.map((layer) => layer.name) }];
    }),
  );
}

/** Of each claim only what the person's own config says. */
export function withoutClaims(
  config: PartialConfig,
  claims: readonly Claim[],
  layers: readonly Layer[],
): PartialConfig {
  const own = ownConfig(layers);
  const paths = claims.map(pathOf);
  const said = paths.flatMap((keys) => {
    const value = valueAt(own, keys);
    return isJsonObject(value) ? [withValue({}, { keys, value })] : [];
  });
  // Parts of a config, put together.
  return said.reduce<PartialConfig>(
    (rest, part) => mergeConfig(rest, part),
    without(config, paths),
  );
}

function ownConfig(layers: readonly Layer[]): PartialConfig {
  return foldLayers(layers.filter(({ isOfWorkspace }) => isOfWorkspace !== true));
}

type Named = Pick<Claim, "kind" | "name">;

function pathOf({ kind, name }: Named): readonly string[] {
  return [...PLACES[kind], name];
}

function namesAt(config: PartialConfig, kind: Claim["kind"]): readonly string[] {
  const table = valueAt(config, PLACES[kind]);
  const names = isJsonObject(table) ? Object.keys(table) : [];
  return kind === "llm" ? names.filter((name) => name !== "aliases") : names;
}

/** What of an entry matters. Of an address only what is not ours. */
function weightOf(config: PartialConfig, { kind, name }: Named, base: PartialConfig): JsonObject {
  const entry = valueAt(config, pathOf({ kind, name }));
  if (!isJsonObject(entry)) return {};
  const ours = valueAt(base, pathOf({ kind, name }));
  const matters = (key: string, value: Json) =>
    kind === "llm"
      ? ADDRESS_KEYS.has(key) && !(isJsonObject(ours) && isDeepStrictEqual(ours[key], value))
      : !HARMLESS[kind].includes(key);
  return Object.fromEntries(Object.entries(entry).filter(([key, value]) => matters(key, value)));
}

/** Tools that come with jp are no programs of the workspace's, and a server on this machine is here. */
function counts({ kind, name, value }: Omit<Claim, "files">, inForce: PartialConfig): boolean {
  if (Object.keys(value).length === 0) return false;
  if (kind === "llm") return !isLoopback(value["base_url"]);
  if (kind === "mcp") return true;
  const { "*": _all, ...tools } = inForce.conversation?.tools ?? {};
  const counted = name === "*" ? Object.values(tools) : [tools[name] ?? {}];
  return counted.some(({ source = "builtin" }) => !source.startsWith("builtin"));
}

function isLoopback(url: Json | undefined): boolean {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}

function isSaidBy(config: PartialConfig, claim: Claim, base: PartialConfig): boolean {
  return isWithin(claim.value, weightOf(config, claim, base));
}

/** Whether one says nothing that the other does not say too. */
function isWithin(part: Json, whole: Json | undefined): boolean {
  if (!isJsonObject(part) || !isJsonObject(whole)) return isDeepStrictEqual(part, whole);
  return Object.entries(part).every(([key, value]) => isWithin(value, whole[key]));
}
