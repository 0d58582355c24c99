/**
 * What the files of a workspace would have run, reached or allowed: programs as tools, MCP servers, the
 * addresses of models. They may have come with a clone, so each of it is a claim that somebody has to
 * trust.
 */
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import {
  addressWeight,
  findModelParameters,
  type ModelParameters,
  serverWeight,
} from "./claim-weight.ts";
import { audible, foldLayers, type Layer, valueAt, without } from "./layer.ts";
import { mergeConfig } from "./merge.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { parseSource } from "./tool-settings.ts";
import { isLeftToCommon, policyOf, toolWeight } from "./tool-weight.ts";
import { withValue } from "./with-value.ts";

/** What files of a workspace would have run or reached, for which the user has to trust them. */
export interface Claim {
  /** A model is claimed if its requests are to hold what only the provider understands. */
  readonly kind: "tool" | "mcp" | "llm" | "model" | "inherit";
  /**
   * Of the tool, the server or the provider; `*` for what all tools have in common; of a model, the keys of
   * whatever it belongs to.
   */
  readonly name: string;
  /** What is not used as long as it is not trusted; empty if it is about no single place. */
  readonly path: readonly string[];
  /** What matters of it. What it is called and how it looks does not. */
  readonly value: JsonObject;
  /** The whole entry as it would hold, with what the person's own config says of it. */
  readonly inForce: JsonObject;
  /** The files that say so. */
  readonly files: readonly string[];
}

const TOOLS = ["conversation", "tools"];
const MCP = ["providers", "mcp"];
const LLM = ["providers", "llm"];

/** Those that say more than the person's own config and ours. */
export function findClaims(layers: readonly Layer[]): readonly Claim[] {
  const own = ownConfig(layers);
  return [...silences(layers), ...allClaims(layers)].filter((claim) => !isClaimWithin(own, claim));
}

/** Without what these claims say. Of the same things, what the person's own config says holds. */
export function withoutClaims(layers: readonly Layer[], claims: readonly Claim[]): PartialConfig {
  const isSilencing = !claims.some(({ kind }) => kind === "inherit");
  const config = foldLayers(isSilencing ? layers : withoutSilence(layers));
  const own = ownConfig(layers);
  const paths = claims.map(({ path }) => path).filter((path) => path.length > 0);
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

/** What claims are found in, and compared with. */
interface Said {
  /** By the files of the workspace. */
  readonly said: PartialConfig;
  /** Without the workspace. */
  readonly own: PartialConfig;
  /** By the person alone, without what is ours. */
  readonly personal: PartialConfig;
  readonly inForce: PartialConfig;
  readonly readOnlyTools: ReadonlySet<string>;
}

/** That a file silences others is a claim like any other: nothing is left out because of it. */
function allClaims(layers: readonly Layer[]): readonly Claim[] {
  const heard = audible(withoutSilence(layers));
  const files = heard.filter(({ isOfWorkspace }) => isOfWorkspace);
  const parts: Said = {
    said: foldLayers(files),
    own: ownConfig(layers),
    personal: foldLayers(layers.filter((layer) => !layer.isBase && !layer.isOfWorkspace)),
    inForce: foldLayers(heard),
    readOnlyTools: new Set(layers.flatMap(({ readOnlyTools = [] }) => readOnlyTools)),
  };
  return [...toolClaims(parts), ...reachClaims(parts), ...modelClaims(parts)]
    .filter(({ value }) => Object.keys(value).length > 0)
    .map((claim) => ({
      ...claim,
      inForce: entryAt(parts.inForce, claim.path),
      files: files
        .filter(({ config }) => valueAt(config, claim.path) !== undefined)
        .map(({ name }) => name),
    }));
}

type Found = Omit<Claim, "inForce" | "files">;

function toolClaims(parts: Said): readonly Found[] {
  const { said, inForce } = parts;
  return Object.keys(entryAt(said, TOOLS)).flatMap((name): readonly Found[] => {
    const path = [...TOOLS, name];
    const value = toolWeight(entryAt(said, path), backgroundOf(name, parts));
    if (name === "*") return [{ kind: "tool", name, path, value: effectOnTools(value, parts) }];
    // A tool without a source is unknown to everybody.
    if (entryAt(inForce, path)["source"] === undefined) return [];
    return [{ kind: "tool", name, path, value }];
  });
}

function backgroundOf(name: string, { own, personal, readOnlyTools }: Said) {
  const entry = entryAt(own, [...TOOLS, name]);
  const set = [name, "*"].map((one) => entryAt(personal, [...TOOLS, one]));
  return {
    own: policyOf(entryAt(own, [...TOOLS, "*"]), entry),
    isSetByPerson: (key: string) => set.some((table) => table[key] !== undefined),
    isReadOnly: isReadOnly(name, entry, readOnlyTools),
  };
}

function isReadOnly(name: string, { source }: JsonObject, readOnly: ReadonlySet<string>): boolean {
  if (typeof source !== "string") return false;
  const { type, tool = name } = parseSource(source);
  return type === "builtin" && readOnly.has(tool);
}

/** What the person has not said matters only as far as a tool that does more than read is left to it. */
function effectOnTools(value: JsonObject, { inForce, personal, readOnlyTools }: Said): JsonObject {
  const { "*": _common, ...tools } = entryAt(inForce, TOOLS);
  const entries = Object.entries(tools).flatMap(([name, entry]) =>
    isJsonObject(entry) && entry["source"] !== undefined && !isReadOnly(name, entry, readOnlyTools)
      ? [entry]
      : [],
  );
  const own = entryAt(personal, [...TOOLS, "*"]);
  const counting = Object.entries(value).filter(
    ([key, claimed]) =>
      own[key] !== undefined || entries.some((entry) => isLeftToCommon(entry, key, claimed)),
  );
  return Object.fromEntries(counting);
}

function reachClaims({ said }: Said): readonly Found[] {
  const claimsIn = (kind: "mcp" | "llm", parent: readonly string[]) =>
    Object.keys(entryAt(said, parent)).map((name): Found => {
      const path = [...parent, name];
      const entry = entryAt(said, path);
      const value = kind === "mcp" ? serverWeight(entry) : addressWeight(entry);
      return { kind, name, path, value };
    });
  const isProvider = ({ name }: Found) => name !== "aliases";
  return [...claimsIn("mcp", MCP), ...claimsIn("llm", LLM).filter(isProvider)];
}

function modelClaims({ said }: Said): readonly Found[] {
  return findModelParameters(said).map(({ name, path, passedOn: value }) => ({
    kind: "model",
    name,
    path,
    value,
  }));
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
  return [{ kind: "inherit", name: "", path: [], value, inForce: value, files: names }];
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

function entryAt(config: PartialConfig, path: readonly string[]): JsonObject {
  const entry = valueAt(config, path);
  return isJsonObject(entry) ? entry : {};
}

/** Whether the config says so, too. */
export function isClaimWithin(config: PartialConfig, { kind, name, path, value }: Claim): boolean {
  if (kind === "inherit") return false; // Nobody silences their own config.
  if (kind !== "model") return isWithin(value, entryAt(config, path));
  const isMeant = (place: ModelParameters) => place.name === name;
  return isWithin(value, findModelParameters(config).find(isMeant)?.passedOn ?? {});
}

/** Whether one says nothing that the other does not say too. */
function isWithin(part: Json, whole: Json | undefined): boolean {
  if (!isJsonObject(part) || !isJsonObject(whole)) return isDeepStrictEqual(part, whole);
  return Object.entries(part).every(([key, value]) =>
    isWithin(value, Object.hasOwn(whole, key) ? whole[key] : undefined),
  );
}
