/** `jp model ls`: lists the providers' models. */
import { parseModelId, type PartialConfig, resolveModelId } from "../../settings/config/index.ts";
import { isLocalProvider, PROVIDER_NAMES, type Providers } from "../../reach/provider/index.ts";
import { type Cell, renderTable } from "../../surfaces/render/index.ts";
import type { Output } from "../../surfaces/terminal/index.ts";
import { isJpError, JpError, jsonLine, messageOf, oneLine } from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";
import type { Call } from "../define.ts";
import { ExitStatus } from "../exit-status.ts";
import { machineOf, openProviders, warnWithheld } from "../../assemble/index.ts";
import { trustedConfig } from "../trust.ts";
import type { LIST_MODELS } from "./options.ts";

export interface ListedModel {
  readonly id: string;
  readonly contextWindow?: number;
  /** Its aliases. */
  readonly aliases?: readonly string[];
}

const TIMEOUT_MS = 10_000;

export async function listModels({
  args,
  options,
  context,
}: Call<typeof LIST_MODELS>): Promise<void> {
  const [wanted] = args;
  const { output } = context;
  const trusted = await trustedConfig(context, options);
  warnWithheld(trusted, context);
  const { models, isAnyListed, problems } = await findModels(context, trusted.config, { wanted });
  // Few users have every provider, so a missing one is only an error if it was named.
  if (wanted !== undefined && problems.length > 0) throw problems[0];
  for (const problem of problems) warn(messageOf(problem), output);
  if (options.format === "json") for (const model of models) output.print(jsonLine(model));
  else printTable(models, output);
  if (!isAnyListed) throw new ExitStatus(1);
}

export interface FoundModels {
  readonly models: readonly ListedModel[];
  /** Whether any provider has listed a model, as opposed to the config alone. */
  readonly isAnyListed: boolean;
  /** Why a provider that the user seems to use lists no models. */
  readonly problems: readonly unknown[];
}

/** The models of one provider, or of all reachable ones, and those with aliases. */
export async function findModels(
  context: CommandContext,
  config: PartialConfig,
  {
    wanted,
    timeoutMs = TIMEOUT_MS,
  }: { readonly wanted?: string | undefined; readonly timeoutMs?: number } = {},
): Promise<FoundModels> {
  const providers = openProviders(machineOf(context), config);
  const names = wanted === undefined ? PROVIDER_NAMES : [wanted];
  const lists = await Promise.allSettled(
    names.map((name) => fetchModels(providers, name, timeoutMs)),
  );
  const listed = lists.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  return {
    models: withAliases(listed, aliasesIn(config, wanted)),
    isAnyListed: listed.length > 0,
    problems: lists.flatMap((result, index): readonly unknown[] =>
      result.status === "fulfilled" ||
      (wanted === undefined && isUnused(names[index] ?? "", result.reason))
        ? []
        : [result.reason],
    ),
  };
}

async function fetchModels(
  providers: Providers,
  provider: string,
  timeoutMs: number,
): Promise<readonly ListedModel[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  const models = await providers.list(provider, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    const seconds = timeoutMs / 1000;
    throw new JpError("timeout", `${provider} did not list its models within ${seconds} s.`);
  });
  return models.map(({ name, contextWindow }) => ({
    id: `${provider}/${name}`,
    ...(contextWindow !== undefined && { contextWindow }),
  }));
}

/** The aliases of each model, by model ID. Leaves out aliases that cannot be resolved. */
function aliasesIn(
  config: PartialConfig,
  provider?: string,
): ReadonlyMap<string, readonly string[]> {
  const { aliases = {} } = config.providers?.llm ?? {};
  const named = Object.keys(aliases).flatMap((alias) => {
    try {
      const model = resolveModelId(parseModelId(alias), aliases);
      const isWanted = provider === undefined || provider === model.provider;
      return isWanted ? [{ alias, id: `${model.provider}/${model.name}` }] : [];
    } catch {
      return [];
    }
  });
  const groups = Map.groupBy(named, ({ id }) => id);
  return new Map([...groups].map(([id, group]) => [id, group.map(({ alias }) => alias)]));
}

/** Models with an alias that were not listed come last. */
function withAliases(
  models: readonly ListedModel[],
  aliases: ReadonlyMap<string, readonly string[]>,
): readonly ListedModel[] {
  const known = new Set(models.map(({ id }) => id));
  return [
    ...models.map((model) => {
      const names = aliases.get(model.id);
      return names === undefined ? model : { ...model, aliases: names };
    }),
    ...[...aliases].filter(([id]) => !known.has(id)).map(([id, names]) => ({ id, aliases: names })),
  ];
}

/** No key, or no local server: the user does not use this provider. */
function isUnused(provider: string, error: unknown): boolean {
  if (!isJpError(error)) return false;
  if (error.code === "provider_network") return isLocalProvider(provider);
  return error.code === "provider_missing_key";
}

function printTable(models: readonly ListedModel[], output: Output): void {
  if (models.length === 0) {
    output.notice("No models available. Set an API key, or start a local server.");
    return;
  }
  const hasAliases = models.some(({ aliases }) => aliases !== undefined);
  const columns = [
    { title: "MODEL", shrinks: true },
    ...(hasAliases ? [{ title: "ALIAS", shrinks: true }] : []),
    { title: "CONTEXT" },
  ];
  const rows = models.map(({ id, aliases = [], contextWindow }): Cell[] => [
    { text: oneLine(id), style: "cyan" },
    ...(hasAliases ? [{ text: oneLine(aliases.join(", ")) }] : []),
    { text: contextWindow?.toLocaleString("en-US") ?? "", style: "dim" },
  ]);
  const { paint, lineWidth: width } = output;
  for (const line of renderTable({ columns, rows, paint, width })) output.print(line);
}
