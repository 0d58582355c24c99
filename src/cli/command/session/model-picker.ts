/** The model picker of `/model`: the providers' models, with aliases, context and prices. */
import {
  loadPrices,
  type PartialConfig,
  type Prices,
  resolveAssistant,
} from "../../../settings/config/index.ts";
import { createStatusLine } from "../../../surfaces/terminal/index.ts";
import { messageOf, oneLine } from "../../../util/index.ts";
import { warn } from "../../context.ts";
import { trustedConfig } from "../../trust.ts";
import { findModels, type ListedModel } from "../model.ts";
import type { OpenSession } from "./open-session.ts";

/** Slower providers are left out, because the user is waiting. */
const TIMEOUT_MS = 5000;

/** The model's ID. Undefined if there are none, or if the user chooses none or the current one, which is reported. */
export async function pickModel(session: OpenSession): Promise<string | undefined> {
  const { context, configFlags, prompter, signal } = session;
  const { output } = context;
  const { config } = await trustedConfig(context, configFlags);
  const current = currentModel(config);
  const models = await findAll(session, config);
  const others = models.filter(({ id }) => id !== current);
  const used = models.find(({ id }) => id === current) ?? (current && { id: current });
  const listed = [...(used ? [used] : []), ...others];
  const stays = current === undefined ? "No model selected." : `The model is ${oneLine(current)}.`;
  if (others.length === 0) {
    const found =
      current === undefined ? "No models were found." : `${stays} No others were found.`;
    output.notice(`${found} To name one: /model provider/name`);
    return undefined;
  }
  const prices = await loadPrices(config);
  const options = listed.map((model) => {
    const description = describe(model, prices);
    return {
      label: `${oneLine(model.id)}${model.id === current ? " (in use)" : ""}`,
      ...(description !== "" && { description }),
      searched: description,
    };
  });
  const list = { message: "Which model?", options, escape: "go back", isSkimmed: true };
  const index = await prompter.select({ ...list, signal });
  const picked = index === undefined ? undefined : listed[index]?.id;
  if (picked !== undefined && picked !== current) return picked;
  if (!signal.aborted) output.notice(stays);
  return undefined;
}

/** Undefined if none is configured: the next message detects one. */
function currentModel(config: PartialConfig): string | undefined {
  try {
    const { provider, name } = resolveAssistant(config).model;
    return `${provider}/${name}`;
  } catch {
    return undefined;
  }
}

async function findAll(
  { context, isPlain }: OpenSession,
  config: PartialConfig,
): Promise<readonly ListedModel[]> {
  const { clock, host, output } = context;
  const now = () => clock.now().getTime();
  const status = createStatusLine({ stream: host.notices, isPlain, now });
  status.set("Looking for models");
  const found = await findModels(context, config, { timeoutMs: TIMEOUT_MS }).finally(() =>
    status.set(undefined),
  );
  for (const problem of found.problems) warn(messageOf(problem), output);
  return found.models;
}

/** Such as `fast · 200,000 tokens of context · USD 3 in, 15 out per million tokens`. */
function describe({ id, aliases = [], contextWindow }: ListedModel, prices: Prices): string {
  const { input, output } = prices.of(id) ?? {};
  const price = [
    ...(input === undefined ? [] : [`${input} in`]),
    ...(output === undefined ? [] : [`${output} out`]),
  ].join(", ");
  return [
    ...aliases.map(oneLine),
    ...(contextWindow === undefined
      ? []
      : [`${contextWindow.toLocaleString("en-US")} tokens of context`]),
    ...(price === "" ? [] : [`${oneLine(prices.currency)} ${price} per million tokens`]),
  ].join(" · ");
}
