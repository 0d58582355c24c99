/** Completion candidates for option and argument values that are quick to find. */
import { Argument, type Option } from "commander";
import {
  configJsonSchema,
  configToJson,
  foldLayers,
  loadLayers,
  type PartialConfig,
  resolveMcpServers,
  resolveTools,
  splitPath,
  valueAt,
} from "../../../settings/config/index.ts";
import { compareTimestamps } from "../../../record/conversation/index.ts";
import {
  firstLine,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  loadModule,
} from "../../../util/index.ts";
import { type CommandContext, createContext } from "../../context.ts";
import { lastActivity } from "../../conversations.ts";
import { TARGET_KEYWORDS } from "../../define.ts";
import type { Host } from "../../host.ts";
import { labelText } from "../../labels.ts";
import {
  describeScope,
  type InquiryRow,
  matchesInquiryFilter,
} from "../../../surfaces/render/index.ts";
import {
  configPlaces,
  findPending,
  listPending,
  peopleOf,
  shippedConfig,
  type PendingDecision,
} from "../../../assemble/index.ts";
import type { Position } from "./position.ts";

/** Something that could be typed next. */
export interface Candidate {
  readonly value: string;
  readonly description?: string;
  /** Replaces the typed word, even if it does not start with it. */
  readonly replacesWord?: boolean;
}

type Values = (position: Position, context: CommandContext) => Promise<readonly Candidate[]>;

/** By the placeholder in the help, such as `target` in `--id <target>`. */
const VALUES: Readonly<Record<string, Values>> = {
  target: findTargets,
  name: findTools,
  model: findModels,
  provider: async (_position, context) =>
    toCandidates(llmOf(await quietConfig(context)), ["aliases"]),
  server: async (_position, context) =>
    [...resolveMcpServers(await quietConfig(context)).keys()].map((value) => ({ value })),
  key: async ({ word }, context) => findKeys(word, await quietConfig(context)),
  value: (position, context) =>
    position.command.name() === "answer"
      ? findAnswers(position, context)
      : findKeyValues(position.operands[0] ?? ""),
  id: findDecisions,
  setting: findSettings,
  person: findPeople,
  permission: findPermissions,
  label: findLabels,
};

export async function findValues(position: Position, host: Host): Promise<readonly Candidate[]> {
  const { value, workspace } = position;
  if (value === undefined) return [];
  if (value.argChoices !== undefined) return value.argChoices.map((one) => ({ value: one }));
  const find = VALUES[placeholderOf(value)];
  if (find === undefined) return [];
  const flags = workspace === undefined ? {} : { workspace };
  const context = await createContext(host, flags, { waitsForStore: false });
  try {
    return await find(position, context);
  } finally {
    await context.close();
  }
}

function placeholderOf(value: Option | Argument): string {
  if (value instanceof Argument) return value.name();
  return /[<[](?<name>[^\]>]+)/.exec(value.flags)?.groups?.["name"] ?? "";
}

const KEYWORDS = Object.entries(TARGET_KEYWORDS).map(([value, { description }]): Candidate => ({
  value,
  description,
}));

/** Keywords and IDs. Part of a title that matches one conversation is replaced by its ID. */
async function findTargets({ word }: Position, context: CommandContext) {
  const summaries = await context.workspace.conversations.list({ which: "all" });
  const ids = summaries
    .toSorted((one, other) => compareTimestamps(lastActivity(other), lastActivity(one)))
    .map(({ id, metadata }) => ({ value: id, description: metadata?.title ?? "" }));
  const all = [...KEYWORDS, ...ids];
  if (all.some(({ value }) => value.startsWith(word))) return all;
  const titled = ids.filter(({ description }) =>
    description.toLowerCase().includes(word.toLowerCase()),
  );
  return titled.length === 1 ? titled.map((one) => ({ ...one, replacesWord: true })) : [];
}

/** The labels in use. */
async function findLabels(_position: Position, context: CommandContext) {
  const summaries = await context.workspace.conversations.list({ which: "all" });
  const labels = summaries.flatMap(({ metadata }) => Object.entries(metadata?.labels ?? {}));
  return [...new Set(labels.map(([key, value]) => labelText(key, value)))].map((value) => ({
    value,
  }));
}

/** Options also take groups. */
async function findTools({ command, value }: Position, context: CommandContext) {
  const parent = command.parent?.name() ?? "";
  if (value instanceof Argument && !["tool", "permissions"].includes(parent)) return [];
  const tools = [...resolveTools(await quietConfig(context)).values()];
  const candidates = tools.map(({ name, summary, description = "" }) => ({
    value: name,
    description: summary ?? description,
  }));
  if (value instanceof Argument) return candidates;
  const groups = new Set(tools.flatMap(({ group }) => group ?? []));
  return [
    ...candidates,
    ...[...groups].map((group) => ({ value: group, description: "tool group" })),
  ];
}

/** Aliases and the configured model; asking providers for more would be too slow. */
async function findModels(_position: Position, context: CommandContext) {
  const config = await quietConfig(context);
  const { aliases = {}, ...providers } = llmOf(config);
  const { id } = config.assistant?.model ?? {};
  const configured = id !== undefined && "provider" in id ? [`${id.provider}/${id.name}`] : [];
  return [
    ...toCandidates(aliases, [], "alias"),
    ...configured.map((value) => ({ value, description: "configured" })),
    ...toCandidates(providers).map(({ value }) => ({ value: `${value}/` })),
  ];
}

/** `key=value`; a completed key ends in `=`. */
async function findSettings({ word }: Position, context: CommandContext) {
  const { key, sign } = /^(?<key>[^=:+]+)(?<sign>:?=)/.exec(word)?.groups ?? {};
  if (key !== undefined && sign !== undefined) {
    const values = await findKeyValues(key);
    return values.map(({ value }) => ({ value: `${key}${sign}${value}` }));
  }
  const keys = await findKeys(word, await quietConfig(context));
  return keys.map(({ value, ...rest }) => ({
    value: value.endsWith(".") ? value : `${value}=`,
    ...rest,
  }));
}

async function findPeople(_position: Position, context: CommandContext) {
  const people = await (await peopleOf(context)).list();
  return people.map(({ name, rights }) => ({ value: name, description: rights.join(", ") }));
}

async function findPermissions(_position: Position, context: CommandContext) {
  const permissions = await loadModule(() => import("../permissions.ts"));
  const found = await permissions.findPermissions(context, false);
  return found.map(({ rule: { id, tool, scope } }) => ({
    value: id,
    description: `${tool} for ${describeScope(scope, true)}`,
  }));
}

/** Pending decisions; `show` also offers those of the last used conversation. */
async function findDecisions({ command }: Position, context: CommandContext) {
  const pending = await pendingIn(context);
  const recent = command.name() === "show" ? await recentDecisions(context) : [];
  return candidatesFor([...pending, ...recent]);
}

function candidatesFor(
  rows: readonly Pick<PendingDecision, "conversation" | "id" | "question">[],
): readonly Candidate[] {
  const ids = new Set(rows.map(({ conversation, id }) => `${conversation}/${id}`));
  return rows.flatMap(({ conversation, id, question }): Candidate[] => {
    const others = [...ids].filter((one) => one.endsWith(`/${id}`));
    const description = firstLine(question.text);
    const whole = { value: `${conversation}/${id}`, description };
    // Providers number their calls, so two conversations often share IDs.
    return others.length > 1 ? [whole] : [{ value: id, description }];
  });
}

async function pendingIn({ workspace }: CommandContext) {
  return listPending(workspace.conversations);
}

async function recentDecisions(context: CommandContext) {
  const { readInquiries } = await loadModule(() => import("../inquiry.ts"));
  const rows: InquiryRow[] = [];
  try {
    for await (const row of readInquiries({ conversation: ["recent"] }, context)) rows.push(row);
  } catch {
    // Without a conversation, or with a damaged one, there is less to offer.
  }
  return rows.filter((row) => matchesInquiryFilter(row, {})).toReversed();
}

/**
 * The valid answers to the pending decision whose ID comes first. Text and secrets have to be typed. A yes or no may have
 * more IDs before it.
 */
async function findAnswers(
  { operands }: Position,
  context: CommandContext,
): Promise<readonly Candidate[]> {
  const pending = await pendingIn(context);
  const { answerType } = findPending(pending, operands[0] ?? "").question;
  if (answerType.type === "boolean") {
    const rows = pending.filter(({ question }) => question.answerType.type === "boolean");
    const others = candidatesFor(rows).filter(({ value }) => !operands.includes(value));
    return [{ value: "yes" }, { value: "no" }, ...others];
  }
  if (answerType.type !== "select") return [];
  return answerType.options.map(({ value, description = "" }) => ({
    value: typeof value === "string" ? value : JSON.stringify(value),
    description,
  }));
}

function llmOf(config: PartialConfig) {
  return config.providers?.llm ?? {};
}

function toCandidates(
  table: object,
  but: readonly string[] = [],
  description?: string,
): Candidate[] {
  return Object.keys(table)
    .filter((name) => !but.includes(name))
    .map((value) => ({ value, ...(description !== undefined && { description }) }));
}

/** Ignores config mistakes; other commands report them. */
async function quietConfig(context: CommandContext): Promise<PartialConfig> {
  const shipped = shippedConfig();
  try {
    const { layers } = await loadLayers({ places: configPlaces(context), ...shipped });
    return foldLayers(layers);
  } catch {
    return shipped.builtins;
  }
}

/** The next part of a config key. A key of a table ends in a dot. */
async function findKeys(typed: string, config: PartialConfig): Promise<readonly Candidate[]> {
  const typedPath = typed.slice(0, typed.lastIndexOf(".") + 1);
  const path = splitPath(typedPath);
  const table = tableOf(await findNode(path));
  const named = valueAt(configToJson(config), path);
  const names = new Set([
    ...Object.keys(propertiesOf(table)),
    ...(isJsonObject(table?.["additionalProperties"]) && isJsonObject(named)
      ? Object.keys(named)
      : []),
  ]);
  return [...names]
    .filter((name) => /^(?:[\w-]+|\*)$/.test(name))
    .map((name) => {
      const child = childOf(table, name);
      const { description } = child ?? {};
      return {
        value: `${typedPath}${name}${child?.["type"] === "object" ? "." : ""}`,
        ...(typeof description === "string" && { description }),
      };
    });
}

/** The allowed values of a key, if it is a boolean or an enum. */
async function findKeyValues(key: string): Promise<readonly Candidate[]> {
  const node = await findNode(splitPath(key));
  const forms = node === undefined ? [] : [node, ...listOf(node["anyOf"])];
  return forms
    .flatMap((form) => (form["type"] === "boolean" ? ["true", "false"] : asArray(form["enum"])))
    .filter((value) => typeof value === "string")
    .map((value) => ({ value }));
}

async function findNode(path: readonly string[]): Promise<JsonObject | undefined> {
  let node: JsonObject | undefined = await configJsonSchema();
  for (const name of path) node = childOf(tableOf(node), name);
  return node;
}

/** Picks the table among several alternatives. */
function tableOf(node: JsonObject | undefined): JsonObject | undefined {
  if (node === undefined || node["type"] === "object") return node;
  return listOf(node["anyOf"]).find((form) => form["type"] === "object");
}

function childOf(table: JsonObject | undefined, name: string): JsonObject | undefined {
  const child = propertiesOf(table)[name] ?? table?.["additionalProperties"];
  return isJsonObject(child) ? child : undefined;
}

function propertiesOf(table: JsonObject | undefined): JsonObject {
  const properties = table?.["properties"];
  return isJsonObject(properties) ? properties : {};
}

function listOf(value: Json | undefined): readonly JsonObject[] {
  return asArray(value).filter((one) => isJsonObject(one));
}

function asArray(value: Json | undefined): readonly Json[] {
  return isJsonArray(value) ? value : [];
}
