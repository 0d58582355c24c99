/** `jp model ls`: what the providers say they have. */
import { PROVIDER_NAMES, type Providers } from "../../provider/index.ts";
import { type Cell, jsonLine, oneLine, renderTable } from "../../render/index.ts";
import type { Output } from "../../terminal/index.ts";
import { isCodedError, messageOf } from "../../util/index.ts";
import { warn } from "../context.ts";
import type { Call } from "../define.ts";
import { ExitStatus } from "../exit-status.ts";
import type { ConfigFlags } from "../load-config.ts";
import { openProviders } from "../models.ts";
import { tellWithheld, trustedConfig } from "../trust.ts";

export interface ListModelsFlags extends ConfigFlags {
  readonly format?: "text" | "json";
}

interface ListedModel {
  readonly id: string;
  readonly contextWindow?: number;
}

const PATIENCE_MS = 10_000;

export async function listModels({
  words,
  options,
  context,
}: Call<ListModelsFlags>): Promise<void> {
  const [wanted] = words;
  const { output } = context;
  const trusted = await trustedConfig(context, options);
  tellWithheld(trusted, context);
  const providers = openProviders(context, trusted.config);
  const names = wanted === undefined ? PROVIDER_NAMES : [wanted];
  const lists = await Promise.allSettled(names.map((name) => list(providers, name)));
  const models = lists.flatMap((end) => (end.status === "fulfilled" ? end.value : []));
  for (const end of lists) {
    if (end.status === "fulfilled") continue;
    // Of all providers there are, hardly anybody has all.
    if (wanted !== undefined) throw end.reason;
    if (!isExpected(end.reason)) warn(messageOf(end.reason), output);
  }
  if (options.format === "json") for (const model of models) output.print(jsonLine(model));
  else print(models, output);
  if (models.length === 0) throw new ExitStatus(1);
}

async function list(providers: Providers, provider: string): Promise<readonly ListedModel[]> {
  const models = await providers.list(provider, AbortSignal.timeout(PATIENCE_MS));
  return models.map(({ name, contextWindow }) => ({
    id: `${provider}/${name}`,
    ...(contextWindow !== undefined && { contextWindow }),
  }));
}

/** No key, and nothing that listens: not everybody has everything. */
function isExpected(error: unknown): boolean {
  if (!isCodedError(error)) return false;
  return error.code === "provider_missing_key" || error.code === "provider_network";
}

function print(models: readonly ListedModel[], output: Output): void {
  if (models.length === 0) {
    output.notice("No provider can be reached: there is no key, and no server on this machine.");
    return;
  }
  const columns = [{ title: "MODEL", shrinks: true }, { title: "CONTEXT" }];
  const rows = models.map(({ id, contextWindow }): Cell[] => [
    { text: oneLine(id), style: "cyan" },
    { text: contextWindow?.toLocaleString("en-US") ?? "", style: "dim" },
  ]);
  const { paint, lineWidth: width } = output;
  for (const line of renderTable({ columns, rows, paint, width })) output.print(line);
}
