/** Refuses settings that are valid but mean nothing here, before `jp config set` writes them. */
import {
  configError,
  type ConfigIssue,
  findModelIds,
  foldLayers,
  loadLayers,
  parseConfig,
  type PartialConfig,
} from "../../settings/config/index.ts";
import { PROVIDER_NAMES } from "../../reach/provider/index.ts";
import { configPlaces, shippedConfig } from "../../assemble/index.ts";
import {
  findClosest,
  isJpError,
  isJsonObject,
  type JsonObject,
  pathToText,
} from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";

/** Takes a config with a single key, as written. Warns about an unknown tool. Throws `config_invalid`. */
export async function assertMeaningful(
  where: string,
  written: JsonObject,
  context: CommandContext,
) {
  const config = await currentConfig(context);
  const issues = [...modelIssues(written, config), ...toolIssues(written, config)];
  if (issues.length > 0) throw configError(where, ...issues);
  const warning = findUnknownTool(written, config);
  if (warning !== undefined) warn(warning, context.output);
}

/** An unreadable config must not block an edit that may repair it. */
async function currentConfig(context: CommandContext): Promise<PartialConfig> {
  try {
    const { layers } = await loadLayers({ places: configPlaces(context), ...shippedConfig() });
    return foldLayers(layers);
  } catch (error) {
    if (!isJpError(error)) throw error;
    return shippedConfig().builtins;
  }
}

function modelIssues(written: JsonObject, config: PartialConfig): readonly ConfigIssue[] {
  const aliases = Object.keys(config.providers?.llm?.aliases ?? {});
  const providers: readonly string[] = PROVIDER_NAMES;
  return findModelIds(written).flatMap(({ path, id }): ConfigIssue[] => {
    if ("provider" in id) {
      if (providers.includes(id.provider)) return [];
      const message = `unknown provider ${id.provider}; use one of ${providers.join(", ")}`;
      return [{ path, message }];
    }
    if (aliases.includes(id.alias)) return [];
    const closest = findClosest(id.alias, aliases);
    const meant = closest === undefined ? "" : `; did you mean ${closest}?`;
    return [{ path, message: `${id.alias} is neither provider/name nor a known alias${meant}` }];
  });
}

function toolIssues(written: JsonObject, config: PartialConfig): readonly ConfigIssue[] {
  const { tools, groups } = toolNames(config);
  const { config: set } = parseConfig(written);
  const choice = set.assistant?.tool_choice;
  return [
    ...(choice !== undefined && groups.has(choice)
      ? [{ path: ["assistant", "tool_choice"], message: isGroup(choice, groups) }]
      : []),
    ...namedTools(set).flatMap(([name, { group }]) =>
      group !== undefined && tools.has(group)
        ? [
            {
              path: ["conversation", "tools", name, "group"],
              message: `${group} is the name of a tool`,
            },
          ]
        : [],
    ),
    ...writtenTools(written)
      .filter(([name]) => groups.has(name))
      .flatMap(([name, settings]) => groupIssues(name, settings, groups)),
  ];
}

/** A group takes the same settings as `*`. All others belong to a single tool. */
function groupIssues(name: string, settings: unknown, groups: Groups): readonly ConfigIssue[] {
  const asAll = { conversation: { tools: { "*": settings } } };
  const unknown = parseConfig(asAll).warnings.find(({ path }) => path.length === 4);
  const key = unknown?.path[3];
  if (key === undefined) return [];
  const [tool = "NAME"] = groups.get(name) ?? [];
  const meant = pathToText(["conversation", "tools", tool, key]);
  const message = `${isGroup(name, groups)}, and this belongs to one tool, such as ${meant}`;
  return [{ path: ["conversation", "tools", name, key], message }];
}

function isGroup(name: string, groups: Groups): string {
  return `${name} is a group of tools (${(groups.get(name) ?? []).join(", ")})`;
}

/** A tool may get its source later, or come from an MCP server. */
function findUnknownTool(written: JsonObject, config: PartialConfig): string | undefined {
  const { tools, groups } = toolNames(config);
  for (const [name, settings] of writtenTools(written)) {
    const isNew = isJsonObject(settings) && Object.hasOwn(settings, "source");
    if (name === "*" || isNew || tools.has(name) || groups.has(name)) continue;
    const closest = findClosest(name, [...tools, ...groups.keys()]);
    if (closest === undefined) return undefined;
    return `No tool is named ${name}; did you mean ${pathToText(["conversation", "tools", closest])}?`;
  }
  return undefined;
}

function writtenTools({ conversation }: JsonObject): readonly [string, unknown][] {
  const tools = isJsonObject(conversation) ? conversation["tools"] : undefined;
  return isJsonObject(tools) ? Object.entries(tools) : [];
}

/** The tools of each group. */
type Groups = ReadonlyMap<string, readonly string[]>;

function namedTools({ conversation }: PartialConfig) {
  const { "*": _defaults, ...tools } = conversation?.tools ?? {};
  return Object.entries(tools);
}

function toolNames(config: PartialConfig) {
  const known = namedTools(config).filter(([, { source }]) => source !== undefined);
  const tools = new Set(known.map(([name]) => name));
  const groups = new Map<string, string[]>();
  for (const [name, { group }] of known) {
    if (group === undefined || tools.has(group)) continue;
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  return { tools, groups };
}
