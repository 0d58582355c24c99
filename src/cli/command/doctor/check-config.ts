/** Checks the config and everything it refers to: trust, models, tools and MCP servers. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import {
  ConfigError,
  configJsonSchema,
  existingConfigFiles,
  findUnusable,
  foldLayers,
  type Layer,
  loadLayers,
  offeringServers,
  type PartialConfig,
  type PeopleTarget,
  resolveAssistant,
  resolveTools,
  rungsOf,
  type ToolSettings,
} from "../../../settings/config/index.ts";
import {
  type Directory,
  findStranger,
  identify,
  isForSigners,
  isSameName,
  noPeopleHint,
  peopleFor,
} from "../../../record/conversation/index.ts";
import { whomOfTarget } from "../../../core/agent/index.ts";
import { findUntyped, type RuleProblem } from "../../../core/policy/index.ts";
import { isJpError, oneLine, pathToText, shellWord } from "../../../util/index.ts";
import type { McpServers } from "../../../reach/mcp/index.ts";
import {
  type ModelInfo,
  PROVIDER_NAMES,
  ProviderError,
  type Providers,
} from "../../../reach/provider/index.ts";
import { openPeople } from "../../../settings/people/index.ts";
import { userDataFolder, type Workspace } from "../../../stores/index.ts";
import type { CommandContext } from "../../context.ts";
import { SCHEMA_FILE } from "../../load-config.ts";
import {
  configPlaces,
  directoryOf,
  findWorkspace,
  keyVariable,
  LOCAL_PROVIDERS,
  machineOf,
  openConfiguredServers,
  openProviders,
  openTools,
  shippedConfig,
  type Tools,
  workspaceTrust,
} from "../../../assemble/index.ts";
import { describeWithheld, TRUST_HINT, withoutClaims } from "../../../settings/trust/index.ts";
import { type Finding, findingFromError } from "./finding.ts";

export interface CheckedConfig {
  readonly findings: readonly Finding[];
  /** Absent if the config is invalid. */
  readonly layers?: readonly Layer[];
}

export async function checkConfig(context: CommandContext): Promise<CheckedConfig> {
  const places = configPlaces(context);
  try {
    const { layers, warnings } = await loadLayers({ places, ...shippedConfig() });
    const unusable = findUnusable(foldLayers(layers)).map(
      ({ path: keys, message }) => `${pathToText(keys)}: ${message}`,
    );
    const findings = [
      ...[...warnings, ...unusable].map(warning),
      ...(await findUndecidable(foldLayers(layers), context)),
    ];
    if (findings.length > 0) return { findings, layers };
    const files = existingConfigFiles(places);
    const message = files.length === 0 ? "no file; using defaults" : files.join(", ");
    return { findings: [{ check: CHECK, state: "ok", message }], layers };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.problems.map((message): Finding => ({
      check: CHECK,
      state: "problem",
      message,
    }));
    return { findings };
  }
}

const CHECK = "config";

function warning(message: string): Finding {
  return { check: CHECK, state: "warning", message };
}

/**
 * Decisions that would wait forever: for a role without members, for a quorum larger than the number of people, or
 * while no people are known.
 */
async function findUndecidable(
  config: PartialConfig,
  context: CommandContext,
): Promise<readonly Finding[]> {
  let directory: Directory;
  let people: ReturnType<Directory["list"]>;
  try {
    directory = await directoryOf(context, config);
    people = directory.list();
  } catch (error) {
    if (!isJpError(error)) throw error;
    return [findingFromError(CHECK, error, "warning")];
  }
  const tools = [...resolveTools(config).values()];
  if (people.length === 0) {
    return [...(await findUnusedPeople(context)), ...findWithoutPeople(tools, directory)];
  }
  const held = people.flatMap(({ roles }) => roles);
  return tools.flatMap((tool) => {
    const targets = targetsOf(tool);
    const named = targets.flatMap(rungsOf).flatMap(({ any = [] }) => any);
    const roles = named.flatMap((each) => ("role" in each ? [each.role] : []));
    const unheld = roles.filter((role) => !held.some((each) => isSameName(each, role)));
    const few = targets.flatMap((target) => findTooFew(target, directory));
    const findings = [...unheld.map((role) => `no one has the role ${oneLine(role)}`), ...few];
    return [...new Set(findings)].map((finding) => warning(`${keyOf(tool)}: ${finding}`));
  });
}

/** All people the config names for a tool's calls, results and questions. */
function targetsOf({ target, questions, policy }: ToolSettings): readonly PeopleTarget[] {
  const rules = [...policy.run, ...policy.result].map((rule) => rule.target);
  const asked = [...questions.values()].map((question) => question.target);
  return [target, ...rules, ...asked].filter((each) => each !== undefined);
}

function keyOf({ name }: ToolSettings): string {
  return pathToText(["conversation", "tools", name]);
}

/** Roles, quorums, `not_by` and signatures need known people. */
function findWithoutPeople(
  tools: readonly ToolSettings[],
  directory: Directory,
): readonly Finding[] {
  return tools.flatMap((tool) => {
    const named = targetsOf(tool)
      .flatMap(rungsOf)
      .map((rung) => whomOfTarget(rung));
    const waiting = named.filter((whom) => {
      const people = peopleFor(whom, directory);
      const owner = identify(whom, { channel: "cli", auth: "os_user" }, people);
      return findStranger(whom, owner, people) === "no_people";
    });
    if (waiting.length === 0) return [];
    // Deciding alone is not an option where signatures are required.
    const stuck = waiting.find((whom) => !isForSigners(whom)) ?? waiting[0] ?? {};
    const hint = noPeopleHint(stuck);
    const message = `${keyOf(tool)}: some decisions wait, because they take people and none are known`;
    return [{ ...warning(message), hint }];
  });
}

/** With a database, the people file of this machine is ignored. */
async function findUnusedPeople({
  database,
  environment,
}: CommandContext): Promise<readonly Finding[]> {
  if (database === undefined) return [];
  const unused = await openPeople(userDataFolder(environment)).list();
  if (unused.length === 0) return [];
  return [
    {
      ...warning("the people of this machine do not count with a database, which has none"),
      hint: "To add them there: jp serve people add NAME",
    },
  ];
}

function findTooFew(target: PeopleTarget, directory: Directory): readonly string[] {
  const { quorum = 1 } = target.terms ?? {};
  if (quorum === 1) return [];
  const whom = { ...whomOfTarget(target), terms: { quorum } };
  const people = peopleFor(whom, directory);
  const able = directory.list().filter(({ name }) => {
    const claimant = { channel: "desk", name, auth: "token" } as const;
    return findStranger(whom, identify(whom, claimant, people), people) === undefined;
  });
  return able.length >= quorum ? [] : [`${quorum} people have to decide, and ${able.length} can`];
}

/** Editors check the config against a copy of the schema, which is as old as the jp that wrote it. */
export async function checkSchema({ root }: Workspace): Promise<readonly Finding[]> {
  const check = "schema";
  const file = path.join(root, ".jp", SCHEMA_FILE);
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return [];
  if (text.trimEnd() === JSON.stringify(await configJsonSchema(), null, 2)) {
    return [{ check, state: "ok", message: `${file} is up to date` }];
  }
  const message = `${file} does not have the keys of this version, so editors may report wrong mistakes.`;
  const hint = `To update it: jp config schema > ${shellWord(file)}`;
  return [{ check, state: "warning", message, hint }];
}

export interface CheckedTrust {
  readonly findings: readonly Finding[];
  /** Leaves out untrusted settings, so it is safe to use. */
  readonly config: PartialConfig;
}

export async function checkTrust(
  context: CommandContext,
  layers: readonly Layer[],
): Promise<CheckedTrust> {
  const workspace = findWorkspace(context);
  const claims =
    workspace === undefined ? [] : await workspaceTrust(context, workspace).findUntrusted(layers);
  const config = withoutClaims(layers, claims);
  if (claims.length === 0) return { findings: [], config };
  return {
    findings: [
      { check: "trust", state: "warning", message: describeWithheld(claims), hint: TRUST_HINT },
    ],
    config,
  };
}

const LOCAL_TIMEOUT_MS = 1000;
const HOSTED_TIMEOUT_MS = 5000;

export async function checkModels(
  context: CommandContext,
  config: PartialConfig,
): Promise<readonly Finding[]> {
  const providers = openProviders(machineOf(context), config);
  const [model, ...servers] = await Promise.all([
    checkModel(providers, config),
    ...LOCAL_PROVIDERS.map((name) => checkModelServer(providers, name, config)),
  ]);
  const hasKey = PROVIDER_NAMES.some((name) => {
    const variable = keyVariable(name, config) ?? "";
    return (context.environment.variables[variable] ?? "") !== "";
  });
  const hasServer = servers.some(({ hasModels }) => hasModels);
  return [model ?? noModelFinding(hasKey || hasServer), ...servers.map(({ finding }) => finding)];
}

/** `jp query` then picks an available model itself. */
function noModelFinding(isAvailable: boolean): Finding {
  const check = "model";
  if (isAvailable) {
    return {
      check,
      state: "warning",
      message: "No model is configured; jp uses the first one it finds.",
      hint: "To choose one: jp config set assistant.model.id provider/name",
    };
  }
  return {
    check,
    state: "problem",
    message: "No model is configured, and none was found.",
    hint: "Start Ollama or a llama.cpp server, or set a provider's API key.",
  };
}

/**
 * Lists the provider's models, which also shows that it is reachable and accepts the key. Undefined if
 * no model is configured.
 */
async function checkModel(
  providers: Providers,
  config: PartialConfig,
): Promise<Finding | undefined> {
  const check = "model";
  let model: { readonly provider: string; readonly name: string };
  try {
    ({ model } = resolveAssistant(config));
  } catch (error) {
    if (isJpError(error) && error.code === "no_model") return undefined;
    return findingFromError(check, error);
  }
  const id = `${model.provider}/${model.name}`;
  try {
    const listed = await listModels(providers, model.provider);
    if (listed.some(({ name, isForAnyName }) => name === model.name || isForAnyName === true)) {
      return { check, state: "ok", message: `${id} is available` };
    }
    const message = `${model.provider} is reachable, but does not list ${model.name}.`;
    return { check, state: "warning", message, hint: `See: jp model ls ${model.provider}` };
  } catch (error) {
    if (!isTimeout(error)) return findingFromError(check, error);
    return { check, state: "problem", message: `${id} did not answer in time.` };
  }
}

interface CheckedServer {
  readonly finding: Finding;
  readonly hasModels: boolean;
}

/** A missing local server is not a problem. */
async function checkModelServer(
  providers: Providers,
  name: (typeof LOCAL_PROVIDERS)[number],
  config: PartialConfig,
): Promise<CheckedServer> {
  const url = config.providers?.llm?.[name]?.base_url ?? "";
  try {
    const { length } = await listModels(providers, name);
    const models = length === 1 ? "1 model" : `${length} models`;
    const finding = { check: name, state: "ok", message: `${models} at ${url}` } as const;
    return { finding, hasModels: length > 0 };
  } catch (error) {
    const isAbsent = !(error instanceof ProviderError) || error.kind === "network";
    const finding: Finding = isAbsent
      ? { check: name, state: "ok", message: `no server at ${url}` }
      : findingFromError(name, error, "warning");
    return { finding, hasModels: false };
  }
}

async function listModels(providers: Providers, provider: string): Promise<readonly ModelInfo[]> {
  const isLocal = LOCAL_PROVIDERS.some((name) => name === provider);
  const limit = isLocal ? LOCAL_TIMEOUT_MS : HOSTED_TIMEOUT_MS;
  return providers.list(provider, AbortSignal.timeout(limit));
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}

export async function checkTools(
  context: CommandContext,
  config: PartialConfig,
  seconds: number,
): Promise<readonly Finding[]> {
  await using servers = openConfiguredServers(machineOf(context), config);
  await using tools = openTools(machineOf(context), config, { servers });
  const enabled = [...tools.settings.values()].filter(({ isEnabled }) => isEnabled);
  const signal = AbortSignal.timeout(seconds * 1000);
  const opened = await Promise.all([
    ...enabled.map((tool) => open(tool, tools, signal)),
    ...offeringServers(config).map((name) => listOffered(name, servers, signal)),
  ]);
  const byServer = Map.groupBy(opened.flat(), ({ server }) => server);
  const findings = [...byServer].flatMap(([server, results]) =>
    server === undefined
      ? checkOwnTools(results)
      : checkMcpServer(server, results, {
          seconds,
          isOptional: config.providers?.mcp?.[server]?.optional === true,
        }),
  );
  return [...findings, ...opened.flat().flatMap(({ untyped = [] }) => untyped.map(untypedFinding))];
}

function untypedFinding({ rule: { place }, message }: RuleProblem): Finding {
  return {
    check: "rules",
    state: "warning",
    message: `${place.layer}: ${place.key}: ${message}.`,
    hint: "If it is a path, set the type in the parameters of the tool.",
  };
}

interface OpenedTool {
  readonly name: string;
  /** Set only for MCP tools. */
  readonly server: string | undefined;
  readonly error?: unknown;
  /** Its rules about paths that are compared as text. */
  readonly untyped?: readonly RuleProblem[];
}

async function open(
  settings: ToolSettings,
  tools: Tools,
  signal: AbortSignal,
): Promise<OpenedTool> {
  const { name, source, policy } = settings;
  const server = source.type === "mcp" ? source.server : undefined;
  try {
    const tool = { ...(await tools.open(name, signal)), settings };
    const untyped = await findUntyped([...policy.run, ...policy.result], tool);
    return { name, server, untyped };
  } catch (error) {
    return { name, server, error };
  }
}

/** All tools of a server. */
async function listOffered(
  server: string,
  servers: McpServers,
  signal: AbortSignal,
): Promise<readonly OpenedTool[]> {
  try {
    const found = await servers.get(server, signal);
    if (found.type === "absent") return [{ name: "", server, error: found.warning }];
    return found.tools.map(({ name }) => ({ name, server }));
  } catch (error) {
    return [{ name: "", server, error }];
  }
}

function checkOwnTools(results: readonly OpenedTool[]): readonly Finding[] {
  const check = "tools";
  const broken = results.filter(({ error }) => error !== undefined);
  if (broken.length > 0) return broken.map(({ error }) => findingFromError(check, error));
  const names = results.map(({ name }) => name).join(", ");
  return [{ check, state: "ok", message: names }];
}

/** An error that affects all tools of a server is reported once. */
function checkMcpServer(
  server: string,
  results: readonly OpenedTool[],
  { seconds, isOptional }: { readonly seconds: number; readonly isOptional: boolean },
): readonly Finding[] {
  const check = "mcp";
  const findings = results.flatMap(({ error }): Finding[] => {
    if (error === undefined) return [];
    const state = isOptional ? "warning" : "problem";
    if (!isTimeout(error)) return [findingFromError(check, error, state)];
    const message = `The MCP server "${server}" was not ready within ${seconds} s.`;
    return [{ check, state, message, hint: "To wait longer: jp doctor --timeout 60" }];
  });
  const once = findings.filter(
    ({ message }, index) => findings.findIndex((other) => other.message === message) === index,
  );
  if (once.length > 0) return once;
  const names = [...new Set(results.map(({ name }) => name))].join(", ");
  return [{ check, state: "ok", message: `${server} started, with ${names}` }];
}
