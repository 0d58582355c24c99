/**
 * Finds everything that a workspace's files would run, connect to or allow: programs as tools, MCP servers, addresses of
 * models, notifications, attachments. The files may come from a clone, so each of these is a claim that the user must
 * trust.
 */
import {
  classifiedValues,
  effectiveLayers,
  findModelParameters,
  foldLayers,
  isHarmlessAttachment,
  type Layer,
  mergeConfig,
  omitPaths,
  type PartialConfig,
  resolveAttachments,
  resolveTools,
  valueAt,
  withoutAttachments,
  withValue,
} from "../config/index.ts";
import {
  isDeepEqual,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
} from "../../util/index.ts";
import { ALIASES, ASSISTANTS, factsOf } from "./answering.ts";
import { trustRelevantToolFields } from "./tool-claims.ts";
import { type Facts, relevantValues, type RelevantValue, tableOf } from "./trust-rules.ts";
import { ownConfig, tableAt, TOOLS, type Views, viewsOf } from "./views.ts";

/** Something that a workspace's files would run, connect to or allow. */
export interface Claim {
  /**
   * `model`: parameters that only the provider understands. `interrupt`: the action of Ctrl-C. `user`: the user's name.
   * `inherit`: dropping the user's config. `surroundings`: facts about this machine for models. `display`: whether the
   * user sees tool calls. `instructions`: a file that instructs models. `command`: a file that is sent as the user's
   * message. `assistant`: the model and prompt that may answer questions of the user's tools. `alias`: the meaning of a
   * model's short name. `setting`: a limit or the like that is stricter in the user's config. `program`: a file that `PATH`
   * leads to, for a program of the config or the user's editor.
   */
  readonly kind:
    | "tool"
    | "mcp"
    | "llm"
    | "model"
    | "notify"
    | "editor"
    | "interrupt"
    | "attachment"
    | "user"
    | "inherit"
    | "surroundings"
    | "display"
    | "instructions"
    | "command"
    | "assistant"
    | "alias"
    | "setting"
    | "program";
  /**
   * The name of the tool, server, provider or file; `*` for the defaults of all tools; for a model, its owner's keys; for
   * an assistant, a setting or a program, its own keys; the address of an attachment; otherwise empty.
   */
  readonly name: string;
  /** The config key that is not used until trusted; empty if it is not in the config. */
  readonly path: readonly string[];
  /** The fields that need trust. For an alias or a setting, only `value`. */
  readonly value: JsonObject;
  /** The whole entry as it would apply, merged with the user's own config. */
  readonly inForce: JsonObject;
  /** The files that make the claim. */
  readonly files: readonly string[];
  /** Set for a server if the user has one of the same name, whose settings for tools would apply to this one. */
  readonly replaced?: ReplacedServer;
}

interface ReplacedServer {
  /** Another program or address, not only other settings of the same one. */
  readonly isAnother: boolean;
  /** The user's tools of the server that run without asking, or by rules. */
  readonly runningTools: readonly string[];
}

/** Finds the claims that go beyond the defaults and the user's own config. */
export function findClaims(layers: readonly Layer[]): readonly Claim[] {
  const own = ownConfig(layers);
  return [...inheritClaims(layers), ...entryClaims(layers)].filter(
    (claim) => !isClaimWithin(own, claim),
  );
}

/** The config without these claims; the user's own config applies instead. */
export function withoutClaims(layers: readonly Layer[], claims: readonly Claim[]): PartialConfig {
  const mayDropOwn = !claims.some(({ kind }) => kind === "inherit");
  const config = foldLayers(mayDropOwn ? layers : ignoreInherit(layers));
  const own = ownConfig(layers);
  const attached = claims.filter(({ kind }) => kind === "attachment");
  const programs = claims.filter(({ kind }) => kind === "program");
  const paths = claims
    .filter((claim) => !attached.includes(claim) && !programs.includes(claim))
    .map(({ path }) => path)
    .filter((path) => path.length > 0);
  const restored = paths.flatMap((keys) => {
    const value = valueAt(own, keys) as Json | undefined; // JSON.
    return value === undefined ? [] : [withValue({}, { keys, value })];
  });
  // Merges the parts.
  const rest = restored.reduce<PartialConfig>(
    (whole, part) => mergeConfig(whole, part),
    omitPaths(config, paths),
  );
  return withoutAttachments(
    withoutPrograms(rest, programs),
    attached.map(({ name }) => name),
  );
}

/** The user's own config names them too. The tools of a server cannot be offered without it. */
function withoutPrograms(config: PartialConfig, programs: readonly Claim[]): PartialConfig {
  const paths = programs.map(({ path }) => path).filter((path) => path.length > 0);
  const sources = paths
    .filter(([table]) => table === "providers")
    .map(([, , name]) => `mcp.${name}`);
  const tools = Object.entries(tableAt(config, TOOLS)).flatMap(([name, tool]) => {
    const source = isJsonObject(tool) ? tool["source"] : undefined;
    if (typeof source !== "string") return [];
    const isOffered = sources.some((each) => source === each || source.startsWith(`${each}.`));
    return isOffered ? [[...TOOLS, name]] : [];
  });
  return omitPaths(config, [...paths, ...tools]);
}

const NOT_IN_CONFIG = new Set<Claim["kind"]>(["inherit", "instructions", "command", "program"]);

/** Whether the config already includes the claim. */
export function isClaimWithin(config: PartialConfig, { kind, name, path, value }: Claim): boolean {
  // A user's config never drops itself, and files are not part of a config.
  if (NOT_IN_CONFIG.has(kind)) return false;
  if (kind === "attachment") return resolveAttachments(config).includes(name);
  if (kind === "alias" || kind === "setting") {
    const own = valueAt(config, path) as Json | undefined; // JSON.
    return isDeepEqual(own, value["value"]);
  }
  if (kind !== "model") return isWithin(value, tableAt(config, path));
  const parameters = findModelParameters(config).find((place) => place.name === name);
  return isWithin(value, parameters?.passthrough ?? {});
}

function isWithin(part: Json, whole: Json | undefined): boolean {
  if (!isJsonObject(part) || !isJsonObject(whole)) return isDeepEqual(part, whole);
  return Object.entries(part).every(([key, value]) => {
    const other = Object.hasOwn(whole, key) ? whole[key] : undefined;
    // Removing part of a target lets others answer.
    if (key === "target") return isDeepEqual(value, other);
    if (key === "rules" && isJsonArray(value) && isJsonArray(other)) {
      const written = other.map(withoutPlace);
      return value.every((rule) => written.some((each) => isDeepEqual(rule, each)));
    }
    return isWithin(value, other);
  });
}

/** A rule's place is not part of its content. */
function withoutPlace(rule: Json): Json {
  if (!isJsonObject(rule)) return rule;
  const { place: _, ...written } = rule;
  return written;
}

/** Finds files of the workspace that would drop the user's own config. */
function inheritClaims(layers: readonly Layer[]): readonly Claim[] {
  const first = layers.findIndex(({ isBase, isFromWorkspace }) => !isBase && !isFromWorkspace);
  const files = layers.filter(
    ({ isFromWorkspace, config }, index) =>
      isFromWorkspace === true && config.inherit === false && first !== -1 && first < index,
  );
  if (files.length === 0) return [];
  const value = { inherit: false };
  const names = files.map(({ name }) => name);
  return [{ kind: "inherit", name: "", path: [], value, inForce: value, files: names }];
}

/** Ignores `inherit = false` in workspace files: it is a claim itself, and must not hide others. */
function entryClaims(layers: readonly Layer[]): readonly Claim[] {
  const effective = effectiveLayers(ignoreInherit(layers));
  const views = viewsOf(layers, effective);
  const facts = factsOf(views);
  const files = effective.filter(({ isFromWorkspace }) => isFromWorkspace);
  return PLACES.flatMap((place) => place.find(place, views, facts))
    .filter(({ value }) => Object.keys(value).length > 0)
    .map((claim) => ({
      ...claim,
      inForce: tableAt(views.inForce, claim.path),
      files: files.filter(({ config }) => isFrom(config, claim)).map(({ name }) => name),
    }));
}

type EntryClaim = Omit<Claim, "inForce" | "files">;

/** A table of the config, and how its values that need trust are grouped into claims. */
interface Place {
  readonly kind: Claim["kind"];
  readonly path: readonly string[];
  /** The table that applies where this one sets nothing. */
  readonly fallback?: readonly string[];
  readonly find: (place: Place, views: Views, facts: Facts) => readonly EntryClaim[];
}

/** Claims are listed in this order. A table with a place of its own is not part of the one around it. */
const PLACES: readonly Place[] = [
  { kind: "tool", path: TOOLS, find: toolClaims },
  { kind: "mcp", path: ["providers", "mcp"], find: serverClaims },
  { kind: "llm", path: ["providers", "llm"], find: claimPerEntry },
  { kind: "model", path: [], find: modelClaims },
  { kind: "notify", path: ["notify"], find: claimForTable },
  { kind: "editor", path: ["editor"], find: claimForTable },
  { kind: "interrupt", path: ["interrupt"], find: claimForTable },
  { kind: "attachment", path: ["conversation", "attachments"], find: attachmentClaims },
  { kind: "user", path: ["user"], find: claimForTable },
  { kind: "surroundings", path: ["conversation", "surroundings"], find: claimForTable },
  { kind: "display", path: ["style", "tool_call"], find: claimForTable },
  ...ASSISTANTS.map((path): Place => ({ kind: "assistant", path, find: claimForTable })),
  { kind: "alias", path: ALIASES, find: claimPerValue },
  { kind: "setting", path: [], find: claimPerValue },
  ...ASSISTANTS.map((path): Place => ({
    kind: "setting",
    path: [...path, "request"],
    // The assistant that answers questions is the main one, except for what it sets itself.
    fallback: ["assistant", "request"],
    find: claimPerValue,
  })),
];

const PATHS = PLACES.map(({ path }) => path);

function isFrom(config: PartialConfig, { kind, name, path }: EntryClaim): boolean {
  if (kind === "attachment") return resolveAttachments(config).includes(name);
  return valueAt(config, path) !== undefined;
}

function toolClaims({ kind, path }: Place, views: Views, facts: Facts): readonly EntryClaim[] {
  return Object.keys(tableAt(views.workspace, path)).map((name) => ({
    kind,
    name,
    path: [...path, name],
    value: trustRelevantToolFields(name, views, facts),
  }));
}

function claimPerEntry(place: Place, views: Views, facts: Facts): readonly EntryClaim[] {
  return Object.keys(tableAt(views.workspace, place.path)).flatMap((name) => {
    const path = [...place.path, name];
    if (PATHS.some((other) => isDeepEqual(other, path))) return [];
    return [{ kind: place.kind, name, path, value: tableOf(valuesAt({ path }, views, facts)) }];
  });
}

/** A server with the name of the user's own gets the calls of its tools, with what the user allows them. */
function serverClaims(place: Place, views: Views, facts: Facts): readonly EntryClaim[] {
  return claimPerEntry(place, views, facts).map((claim) => {
    const own = tableAt(views.own, claim.path);
    if (Object.keys(own).length === 0) return claim;
    const isAnother = ADDRESS.some((key) => claim.value[key] !== undefined);
    const runningTools = [...resolveTools(views.own).values()]
      .filter(({ source }) => source.type === "mcp" && source.server === claim.name)
      .filter(({ run, policy }) => run === "unattended" || policy.run.some(letsRun))
      .map(({ name }) => name);
    return { ...claim, replaced: { isAnother, runningTools } };
  });
}

function letsRun({ mode }: { readonly mode?: unknown }): boolean {
  return mode === "unattended";
}

const ADDRESS = ["type", "command", "arguments", "url"];

function claimForTable({ kind, path }: Place, views: Views, facts: Facts): readonly EntryClaim[] {
  const name = kind === "assistant" ? path.join(".") : "";
  return [{ kind, name, path, value: tableOf(valuesAt({ path }, views, facts)) }];
}

function claimPerValue(place: Place, views: Views, facts: Facts): readonly EntryClaim[] {
  return valuesAt(place, views, facts).map(({ path: keys, value }) => {
    const path = [...place.path, ...keys];
    const name = place.kind === "alias" ? keys.join(".") : path.join(".");
    return { kind: place.kind, name, path, value: { value } };
  });
}

/** The values of the workspace in this table that need trust. */
function valuesAt(
  { path, fallback = path }: Pick<Place, "path" | "fallback">,
  { workspace, own }: Views,
  facts: Facts,
): readonly RelevantValue[] {
  const replaced = { ...tableAt(own, fallback), ...tableAt(own, path) };
  const values = classifiedValues(workspace, path, PATHS);
  return relevantValues(values, replaced, { ...facts, path });
}

/** Parameters that the provider of a model understands, but jp does not. */
function modelClaims({ kind }: Place, { workspace }: Views): readonly EntryClaim[] {
  return findModelParameters(workspace).map(({ name, path, passthrough: value }) => ({
    kind,
    name,
    path,
    value,
  }));
}

/**
 * Attachments other than ordinary files of the workspace: they run a program, connect to an address, or may reveal a
 * secret.
 */
function attachmentClaims({ kind, path }: Place, { workspace }: Views): readonly EntryClaim[] {
  return resolveAttachments(workspace)
    .filter((uri) => !isHarmlessAttachment(uri))
    .map((uri) => ({ kind, name: uri, path, value: { uri } }));
}

/** A file of the workspace that instructs models: `AGENTS.md`, or a command in `.jp/commands`. */
export interface InstructingFile {
  /** Default: `instructions`, which are sent with every message. A command is sent when the user types its name. */
  readonly kind?: "instructions" | "command";
  /** Its path, relative to the workspace. */
  readonly name: string;
  readonly content: string;
  /** Changes with the content. */
  readonly digest: string;
  /** The file is longer than `content`. */
  readonly isCut: boolean;
}

/** The file needs new trust when it changes. `changes` are the lines of a diff against the trusted version. */
export function instructionClaim(
  { kind = "instructions", name, content, digest, isCut }: InstructingFile,
  changes?: readonly string[],
): Claim {
  const inForce = { content, isCut, ...(changes !== undefined && { changes: [...changes] }) };
  return { kind, name, path: [], value: { digest }, inForce, files: [name] };
}

/** A file of the workspace that `PATH` leads to. A command that a model wrote could have put it there. */
export interface FoundProgram {
  /** The config key that names it, without a path; empty for the user's editor, which a variable names. */
  readonly path: readonly string[];
  readonly name: string;
  /** Relative to the workspace, if it is below. */
  readonly file: string;
}

export function programClaim({ path, name: command, file }: FoundProgram): Claim {
  const value = { command, file };
  return { kind: "program", name: path.join("."), path, value, inForce: value, files: [file] };
}

/** Drops `inherit` from the layers of the workspace. */
function ignoreInherit(layers: readonly Layer[]): readonly Layer[] {
  return layers.map((layer) => {
    const { inherit: _inherit, ...config } = layer.config;
    return layer.isFromWorkspace === true ? { ...layer, config } : layer;
  });
}
