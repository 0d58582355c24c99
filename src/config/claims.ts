/**
 * What the files of a workspace would have run, reached or allowed: programs as tools, MCP servers, the
 * addresses of models. They may have come with a clone, so each of it is a claim that somebody has to
 * trust.
 */
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import {
  addressWeight,
  isBuiltin,
  parametersWeight,
  serverWeight,
  toolWeight,
} from "./claim-weight.ts";
import { audible, foldLayers, type Layer, valueAt, without } from "./layer.ts";
import { mergeConfig } from "./merge.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { withValue } from "./with-value.ts";

/** What files of a workspace would have run or reached, for which the user has to trust them. */
export interface Claim {
  /** A model is claimed if its requests are to hold what only the provider understands. */
  readonly kind: "tool" | "mcp" | "llm" | "model" | "inherit";
  /** Of the tool, the server or the provider; `*` for what all tools have in common. */
  readonly name: string;
  /** What matters of it. What it is called and how it looks does not. */
  readonly value: JsonObject;
  /** The whole entry as it would hold, with what the person's own config says of it. */
  readonly inForce: JsonObject;
  /** The files that say so. */
  readonly files: readonly string[];
}

type Named = Pick<Claim, "kind" | "name">;

const PLACES = {
  tool: ["conversation", "tools"],
  mcp: ["providers", "mcp"],
  llm: ["providers", "llm"],
} as const;

const MODELS = {
  assistant: ["assistant", "model", "parameters"],
  inquiry: ["conversation", "inquiry", "assistant", "model", "parameters"],
} as const;

/** Those that say more than the person's own config and ours. */
export function findClaims(layers: readonly Layer[]): readonly Claim[] {
  const own = ownConfig(layers);
  return allClaims(layers).filter((claim) => !isClaimWithin(own, claim));
}

/** Without what these claims say. Of the same things, what the person's own config says holds. */
export function withoutClaims(layers: readonly Layer[], claims: readonly Claim[]): PartialConfig {
  const isSilencing = !claims.some(({ kind }) => kind === "inherit");
  const config = foldLayers(isSilencing ? layers : withoutSilence(layers));
  const own = ownConfig(layers);
  const paths = claims.map(pathOf).filter((path) => path.length > 0);
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

/** That a file silences others is a claim like any other: nothing is left out because of it. */
function allClaims(layers: readonly Layer[]): readonly Claim[] {
  const heard = audible(withoutSilence(layers));
  const files = heard.filter(({ isOfWorkspace }) => isOfWorkspace);
  const said = foldLayers(files);
  const own = ownConfig(layers);
  const base = foldLayers(layers.filter(({ isBase }) => isBase));
  const inForce = foldLayers(heard);
  const claims = namesIn(said).flatMap((named): readonly Claim[] => {
    const path = pathOf(named);
    const value = weightOf(named, said, { own, base });
    const entry = entryAt(inForce, path);
    if (Object.keys(value).length === 0 || isAboutNothing(named, inForce)) return [];
    const saying = files.filter(({ config }) => valueAt(config, path) !== undefined);
    return [{ ...named, value, inForce: entry, files: saying.map(({ name }) => name) }];
  });
  return [...silences(layers), ...claims];
}

/** Of a tool without a source nobody has ever heard; what all have in common matters if there are such. */
function isAboutNothing({ kind, name }: Named, inForce: PartialConfig): boolean {
  if (kind !== "tool") return false;
  const tools = entryAt(inForce, PLACES.tool);
  const meant = name === "*" ? Object.keys(tools) : [name];
  return !meant.some((one) => {
    const { source } = entryAt(inForce, [...PLACES.tool, one]);
    return source !== undefined && (name !== "*" || !isBuiltin({ source }));
  });
}

/** Files of the workspace by which the person's own config would not count. */
function silences(layers: readonly Layer[]): readonly Claim[] {
  const first = layers.findIndex(({ isBase, isOfWorkspace }) => !isBase && !isOfWorkspace);
  const files = layers.filter(
    ({ isOfWorkspace, config }, index) =>
      isOfWorkspace === true && config.inherit === false && first !== -1 && first < index,
  );
  if (files.length === 0) return [];
  const value = { inherit: false };
  const names = files.map(({ name }) => name);
  return [{ kind: "inherit", name: "", value, inForce: value, files: names }];
}

function withoutSilence(layers: readonly Layer[]): readonly Layer[] {
  return layers.map((layer) => {
    const { inherit: _inherit, ...config } = layer.config;
    return layer.isOfWorkspace === true ? { ...layer, config } : layer;
  });
}

function ownConfig(layers: readonly Layer[]): PartialConfig {
  return foldLayers(layers.filter(({ isOfWorkspace }) => isOfWorkspace !== true));
}

function namesIn(config: PartialConfig): readonly Named[] {
  const kinds = Object.keys(PLACES) as (keyof typeof PLACES)[];
  const named = kinds.flatMap((kind) =>
    Object.keys(entryAt(config, PLACES[kind])).map((name): Named => ({ kind, name })),
  );
  const models = Object.keys(MODELS).map((name): Named => ({ kind: "model", name }));
  return [...named.filter(({ kind, name }) => kind !== "llm" || name !== "aliases"), ...models];
}

/** Empty if it is about no single place. */
function pathOf({ kind, name }: Named): readonly string[] {
  if (kind === "inherit") return [];
  // Of these, `namesIn` has made the name.
  return kind === "model" ? MODELS[name as keyof typeof MODELS] : [...PLACES[kind], name];
}

interface Unsaid {
  readonly own: PartialConfig;
  readonly base: PartialConfig;
}

function weightOf(named: Named, said: PartialConfig, { own, base }: Unsaid): JsonObject {
  const path = pathOf(named);
  const entry = entryAt(said, path);
  switch (named.kind) {
    case "tool": {
      const policyIn = (config: PartialConfig) => ({
        ...entryAt(config, [...PLACES.tool, "*"]),
        ...entryAt(config, path),
      });
      return toolWeight(entry, { own: policyIn(own), base: policyIn(base) });
    }
    case "mcp":
      return serverWeight(entry);
    case "llm":
      return addressWeight(entry);
    case "model":
      return parametersWeight(entry);
    case "inherit":
      return {};
  }
}

function entryAt(config: PartialConfig, path: readonly string[]): JsonObject {
  const entry = valueAt(config, path);
  return isJsonObject(entry) ? entry : {};
}

/** Whether the config says so, too. */
export function isClaimWithin(config: PartialConfig, claim: Claim): boolean {
  if (claim.kind === "inherit") return false; // Nobody silences their own config.
  const entry = entryAt(config, pathOf(claim));
  return isWithin(claim.value, claim.kind === "model" ? parametersWeight(entry) : entry);
}

/** Whether one says nothing that the other does not say too. */
function isWithin(part: Json, whole: Json | undefined): boolean {
  if (!isJsonObject(part) || !isJsonObject(whole)) return isDeepStrictEqual(part, whole);
  return Object.entries(part).every(([key, value]) =>
    isWithin(value, Object.hasOwn(whole, key) ? whole[key] : undefined),
  );
}
