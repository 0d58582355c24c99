/**
 * Finds everything that a workspace's files would run, connect to or allow: programs as tools, MCP servers, addresses of
 * models, notifications, attachments. The files may come from a clone, so each of these is a claim that the user must
 * trust.
 */
import {
  effectiveLayers,
  findModelParameters,
  foldLayers,
  isHarmlessAttachment,
  type Layer,
  mergeConfig,
  offeringServers,
  omitPaths,
  parseToolSource,
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
import {
  isAnsweredByModel,
  LOOSER_SETTINGS,
  type OwnTool,
  toolPolicy,
  trustRelevantAssistantFields,
  trustRelevantInterruptFields,
  trustRelevantProviderFields,
  trustRelevantServerFields,
  trustRelevantToolFields,
  usesDefault,
} from "./trust-relevant-fields.ts";

/** Something that a workspace's files would run, connect to or allow. */
export interface Claim {
  /**
   * `model`: parameters that only the provider understands. `interrupt`: the action of Ctrl-C. `user`: the user's name.
   * `inherit`: dropping the user's config. `surroundings`: facts about this machine for models. `display`: whether the
   * user sees tool calls. `instructions`: a file that instructs models. `command`: a file that is sent as the user's
   * message. `assistant`: the model and prompt that may answer questions of the user's tools. `alias`: the meaning of a
   * model's short name. `setting`: a limit or the like that is stricter in the user's config.
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
    | "setting";
  /**
   * The name of the tool, server, provider or file; `*` for the defaults of all tools; for a model, its owner's keys; for
   * an assistant or a setting, its own keys; the address of an attachment; otherwise empty.
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
}

const TOOLS = ["conversation", "tools"];
const MCP = ["providers", "mcp"];
const LLM = ["providers", "llm"];
const NOTIFY = ["notify"];
const EDITOR = ["editor"];
const INTERRUPT = ["interrupt"];
const USER = ["user"];
const ATTACHMENTS = ["conversation", "attachments"];
const SURROUNDINGS = ["conversation", "surroundings"];
const SHOWN_CALLS = ["style", "tool_call"];
const ALIASES = [...LLM, "aliases"];
const ASSISTANTS = [["assistant"], ["conversation", "inquiry", "assistant"]];

/** Finds the claims that go beyond the defaults and the user's own config. */
export function findClaims(layers: readonly Layer[]): readonly Claim[] {
  if (!layers.some(({ isFromWorkspace }) => isFromWorkspace)) return [];
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
  const paths = claims
    .filter((claim) => !attached.includes(claim))
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
    rest,
    attached.map(({ name }) => name),
  );
}

/** Whether the config already includes the claim. */
export function isClaimWithin(config: PartialConfig, { kind, name, path, value }: Claim): boolean {
  // A user's config never drops itself, and files are not part of a config.
  if (kind === "inherit" || kind === "instructions" || kind === "command") return false;
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

/** Views of the same config. */
interface Views {
  /** From the workspace's files only. */
  readonly workspace: PartialConfig;
  /** Without the workspace. */
  readonly own: PartialConfig;
  /** From the user only, without the defaults. */
  readonly user: PartialConfig;
  readonly inForce: PartialConfig;
  readonly readOnlyTools: ReadonlySet<string>;
}

/** Ignores `inherit = false` in workspace files: it is a claim itself, and must not hide others. */
function entryClaims(layers: readonly Layer[]): readonly Claim[] {
  const effective = effectiveLayers(ignoreInherit(layers));
  const files = effective.filter(({ isFromWorkspace }) => isFromWorkspace);
  const views: Views = {
    workspace: foldLayers(files),
    own: ownConfig(layers),
    user: foldLayers(layers.filter((layer) => !layer.isBase && !layer.isFromWorkspace)),
    inForce: foldLayers(effective),
    readOnlyTools: new Set(layers.flatMap(({ readOnlyTools = [] }) => readOnlyTools)),
  };
  return CLAIMS.flatMap((claimsOf) => claimsOf(views))
    .filter(({ value }) => Object.keys(value).length > 0)
    .map((claim) => ({
      ...claim,
      inForce: tableAt(views.inForce, claim.path),
      files: files.filter(({ config }) => isFrom(config, claim)).map(({ name }) => name),
    }));
}

const CLAIMS = [
  toolClaims,
  providerClaims,
  modelClaims,
  notifyClaims,
  editorClaims,
  interruptClaims,
  attachmentClaims,
  nameClaims,
  surroundingsClaims,
  displayClaims,
  assistantClaims,
  aliasClaims,
  settingClaims,
];

function isFrom(config: PartialConfig, { kind, name, path }: EntryClaim): boolean {
  if (kind === "attachment") return resolveAttachments(config).includes(name);
  return valueAt(config, path) !== undefined;
}

type EntryClaim = Omit<Claim, "inForce" | "files">;

function toolClaims(views: Views): readonly EntryClaim[] {
  const { workspace, inForce } = views;
  return Object.keys(tableAt(workspace, TOOLS)).flatMap((name): readonly EntryClaim[] => {
    const path = [...TOOLS, name];
    const value = trustRelevantToolFields(tableAt(workspace, path), ownTool(name, views));
    if (name === "*") {
      return [{ kind: "tool", name, path, value: defaultsWithEffect(value, views) }];
    }
    // A tool without a source cannot be used.
    if (tableAt(inForce, path)["source"] === undefined) return [];
    return [{ kind: "tool", name, path, value }];
  });
}

function ownTool(name: string, { own, user, readOnlyTools }: Views): OwnTool {
  const entry = tableAt(own, [...TOOLS, name]);
  const userTables = [name, "*"].map((one) => tableAt(user, [...TOOLS, one]));
  return {
    policy: toolPolicy(tableAt(own, [...TOOLS, "*"]), entry),
    // Examines all tools, and is seldom needed.
    get timeoutSecs() {
      return ownTimeout(name, own);
    },
    isSetByUser: (key) => userTables.some((table) => table[key] !== undefined),
    isReadOnly: isReadOnly(name, entry, readOnlyTools),
  };
}

/** For the defaults of all tools, the shortest limit of the tools that use them. */
function ownTimeout(name: string, own: PartialConfig): number {
  const isAffected = (tool: string) =>
    name === "*" ? tableAt(own, [...TOOLS, tool])["timeout_secs"] === undefined : tool === name;
  const limits = [...resolveTools(withOffered(own)).values()]
    .filter((tool) => isAffected(tool.name))
    .map(({ timeoutMs = Infinity }) => timeoutMs / 1000);
  return Math.min(...limits);
}

/** Defaults that the user has not set matter only if a tool that does more than read uses them. */
function defaultsWithEffect(value: JsonObject, views: Views): JsonObject {
  const { inForce, user, readOnlyTools } = views;
  const { "*": _defaults, ...tools } = tableAt(withOffered(inForce), TOOLS);
  const affected = Object.entries(tools).flatMap(([name, tool]) =>
    isJsonObject(tool) && tool["source"] !== undefined && !isReadOnly(name, tool, readOnlyTools)
      ? [tool]
      : [],
  );
  const set = tableAt(user, [...TOOLS, "*"]);
  return Object.fromEntries(
    Object.entries(value).filter(
      ([key, claimed]) =>
        set[key] !== undefined ||
        hasRules(claimed) ||
        affected.some((tool) => usesDefault(tool, key, claimed)),
    ),
  );
}

/** Rules apply to every tool, even one with its own rules. */
function hasRules(claimed: Json): boolean {
  const lists = isJsonObject(claimed) ? [claimed["run"], claimed["result"]] : [];
  return lists.some((list) => isJsonObject(list) && list["rules"] !== undefined);
}

/** Adds one tool that represents all tools offered by servers, which have only the default settings. */
function withOffered(config: PartialConfig): PartialConfig {
  const [server] = offeringServers(config);
  if (server === undefined) return config;
  return mergeConfig(config, { conversation: { tools: { "": { source: `mcp.${server}` } } } });
}

function isReadOnly(name: string, { source }: JsonObject, readOnly: ReadonlySet<string>): boolean {
  if (typeof source !== "string") return false;
  const { type, tool = name } = parseToolSource(source);
  return type === "builtin" && readOnly.has(tool);
}

function providerClaims({ workspace, own }: Views): readonly EntryClaim[] {
  const { aliases: _aliases, ...llm } = tableAt(workspace, LLM);
  return [
    ...Object.keys(tableAt(workspace, MCP)).map((name): EntryClaim => {
      const path = [...MCP, name];
      const value = trustRelevantServerFields(tableAt(workspace, path));
      return { kind: "mcp", name, path, value };
    }),
    ...Object.keys(llm).map((name): EntryClaim => {
      const path = [...LLM, name];
      const value = trustRelevantProviderFields(name, tableAt(workspace, path), tableAt(own, path));
      return { kind: "llm", name, path, value };
    }),
  ];
}

function modelClaims({ workspace }: Views): readonly EntryClaim[] {
  return findModelParameters(workspace).map(({ name, path, passthrough: value }) => ({
    kind: "model",
    name,
    path,
    value,
  }));
}

/** All of it: every field decides what leaves this machine, where it goes, or what a link in it opens. */
function notifyClaims({ workspace }: Views): readonly EntryClaim[] {
  return [{ kind: "notify", name: "", path: NOTIFY, value: tableAt(workspace, NOTIFY) }];
}

/** A command to run, or variables that name one. */
function editorClaims({ workspace }: Views): readonly EntryClaim[] {
  const { inline: _inline, ...value } = tableAt(workspace, EDITOR);
  return [{ kind: "editor", name: "", path: EDITOR, value }];
}

function interruptClaims({ workspace }: Views): readonly EntryClaim[] {
  const value = trustRelevantInterruptFields(tableAt(workspace, INTERRUPT));
  return [{ kind: "interrupt", name: "", path: INTERRUPT, value }];
}

/**
 * Attachments other than ordinary files of the workspace: they run a program, connect to an address, or may reveal a
 * secret.
 */
function attachmentClaims({ workspace }: Views): readonly EntryClaim[] {
  return resolveAttachments(workspace)
    .filter((uri) => !isHarmlessAttachment(uri))
    .map((uri) => ({ kind: "attachment", name: uri, path: ATTACHMENTS, value: { uri } }));
}

/** Under another name, the user could answer questions meant for that person alone. */
function nameClaims({ workspace, own, inForce }: Views): readonly EntryClaim[] {
  const { name } = tableAt(workspace, USER);
  // Includes a name that the workspace replaces: without trust, it applies.
  const isNameUsed = [own, inForce].some((view) =>
    Object.values(tableAt(view, TOOLS)).some(namesPerson),
  );
  if (name === undefined || !isNameUsed) return [];
  return [{ kind: "user", name: "", path: USER, value: { name } }];
}

/** A workspace must not reveal to a model what the user has switched off. */
function surroundingsClaims({ workspace, own }: Views): readonly EntryClaim[] {
  const before = tableAt(own, SURROUNDINGS);
  const value = Object.fromEntries(
    Object.entries(tableAt(workspace, SURROUNDINGS)).filter(
      ([key, isShown]) => isShown === true && before[key] === false,
    ),
  );
  return [{ kind: "surroundings", name: "", path: SURROUNDINGS, value }];
}

/** A workspace must not hide calls of the user's own tools. */
function displayClaims({ workspace }: Views): readonly EntryClaim[] {
  const { show } = tableAt(workspace, SHOWN_CALLS);
  return [{ kind: "display", name: "", path: SHOWN_CALLS, value: show === false ? { show } : {} }];
}

/** The model and prompt that may approve something for the user's own tool must be the user's choice. */
function assistantClaims(views: Views): readonly EntryClaim[] {
  if (!mayModelAnswer(views)) return [];
  return ASSISTANTS.map((path) => ({
    kind: "assistant",
    name: path.join("."),
    path,
    value: trustRelevantAssistantFields(tableAt(views.workspace, path)),
  }));
}

/** The user's alias for a model must not change its meaning. */
function aliasClaims(views: Views): readonly EntryClaim[] {
  const { own, workspace } = views;
  if (!mayModelAnswer(views)) return [];
  const models = [
    ...Object.keys(tableAt(own, ALIASES)).map((name) => [...ALIASES, name]),
    ...ASSISTANTS.map((path) => [...path, "model", "id"]),
  ].map((path) => tableAt(own, path));
  const targets = Object.values(tableAt(own, TOOLS)).flatMap(questionTargets);
  const used = new Set<unknown>([
    ...Object.keys(tableAt(own, ALIASES)),
    // Includes names that only the workspace defines.
    ...[
      ...models,
      ...targets.map((target) => tableAt(target, ["assistant", "model", "id"])),
      ...targets.map((target) => tableAt(target, ["lastly", "model", "id"])),
    ].map(({ alias }) => alias),
  ]);
  return Object.entries(tableAt(workspace, ALIASES))
    .filter(([name]) => used.has(name))
    .map(([name, value]) => ({ kind: "alias", name, path: [...ALIASES, name], value: { value } }));
}

/** Whether a model may answer a question of a tool that does not come with the workspace. */
function mayModelAnswer({ own, inForce }: Views): boolean {
  const { "*": _defaults, ...tools } = tableAt(withOffered(own), TOOLS);
  return Object.entries(tools).some(([name, tool]) => {
    if (!isJsonObject(tool) || typeof tool["source"] !== "string") return false;
    const isShipped = parseToolSource(tool["source"]).type === "builtin";
    return [own, inForce].some((view) => {
      const entry = name === "" ? {} : tableAt(view, [...TOOLS, name]);
      return isAnsweredByModel(toolPolicy(tableAt(view, [...TOOLS, "*"]), entry), isShipped);
    });
  });
}

function settingClaims({ workspace, own }: Views): readonly EntryClaim[] {
  return LOOSER_SETTINGS.flatMap(({ path, isLooser }): readonly EntryClaim[] => {
    const value = valueAt(workspace, path) as Json | undefined; // JSON.
    if (value === undefined || !isLooser(value, valueAt(own, path))) return [];
    return [{ kind: "setting", name: path.join("."), path, value: { value } }];
  });
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

function namesPerson(tool: Json): boolean {
  return questionTargets(tool).some(
    ({ user, any, next }) => user !== undefined || any !== undefined || next !== undefined,
  );
}

/** The targets that answer a tool's questions, or decide about its calls. */
function questionTargets(tool: Json): readonly JsonObject[] {
  if (!isJsonObject(tool)) return [];
  const { questions, policy } = tool;
  const asked = isJsonObject(questions) ? Object.values(questions) : [];
  const lists = isJsonObject(policy) ? Object.values(policy) : [];
  const rules = lists.flatMap((list) => (isJsonObject(list) ? list["rules"] : []));
  return [tool, ...asked, ...rules.flat()].flatMap((entry) => {
    const target = isJsonObject(entry) ? entry["target"] : undefined;
    return isJsonObject(target) ? [target] : [];
  });
}

/** Drops `inherit` from the layers of the workspace. */
function ignoreInherit(layers: readonly Layer[]): readonly Layer[] {
  return layers.map((layer) => {
    const { inherit: _inherit, ...config } = layer.config;
    return layer.isFromWorkspace === true ? { ...layer, config } : layer;
  });
}

function ownConfig(layers: readonly Layer[]): PartialConfig {
  return foldLayers(layers.filter(({ isFromWorkspace }) => isFromWorkspace !== true));
}

export function tableAt(config: PartialConfig, path: readonly string[]): JsonObject {
  const table = valueAt(config, path);
  return isJsonObject(table) ? table : {};
}
