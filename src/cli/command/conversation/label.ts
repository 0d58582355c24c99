/** `jp conversation label`: adds, removes and lists the labels of conversations. */
import type { ConversationMetadata } from "../../../record/conversation/index.ts";
import type { WorkspaceSummary } from "../../../stores/index.ts";
import { jsonLine, oneLine } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { resolveTargets } from "../../conversations.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { labelText, ownValue, parseLabel, parseLabelKey, withLabels } from "../../labels.ts";
import type { LABEL, LIST_LABELS } from "./options.ts";

export async function listLabels({ options, context }: Call<typeof LIST_LABELS>): Promise<void> {
  const { output } = context;
  const targets = await resolveTargets(context, options.id ?? []);
  for (const target of targets) {
    const labels = target.metadata?.labels ?? {};
    if (options.format === "json") {
      output.print(jsonLine({ id: target.id, labels }));
      continue;
    }
    if (targets.length > 1) output.print(nameOf(target));
    for (const [key, value] of Object.entries(labels)) output.print(shown(key, value));
    if (Object.keys(labels).length === 0) output.notice(`${target.id} has no labels.`);
  }
}

/** Throws `usage` before it changes anything. */
export async function addLabels({ args, options, context }: Call<typeof LABEL>): Promise<void> {
  const added = args.map((text) => checked(text, parseLabel));
  for (const target of await resolveTargets(context, options.id ?? [])) {
    await update(target, context, (metadata) => withLabels(metadata, added));
    const named = added.map(({ key, value = "" }) => shown(key, value)).join(", ");
    context.output.notice(`Added to ${nameOf(target)}: ${named}`);
  }
}

/** Without keys, removes all. Prints what it removed, with values, so that it can be added back. */
export async function removeLabels({ args, options, context }: Call<typeof LABEL>): Promise<void> {
  const keys = args.map((text) => checked(text, parseLabelKey));
  for (const target of await resolveTargets(context, options.id ?? [])) {
    let before: Readonly<Record<string, string>> = {};
    const isRemoved = (key: string) => keys.length === 0 || keys.includes(key);
    await update(target, context, ({ labels = {}, ...rest }) => {
      before = labels;
      const kept = Object.entries(labels).filter(([key]) => !isRemoved(key));
      return { ...rest, ...(kept.length > 0 && { labels: Object.fromEntries(kept) }) };
    });
    for (const key of keys) {
      if (ownValue(before, key) === undefined)
        context.output.notice(`${nameOf(target)} has no label ${key}.`);
    }
    const removed = Object.entries(before).filter(([key]) => isRemoved(key));
    const named = removed.map(([key, value]) => shown(key, value)).join(", ");
    if (removed.length > 0) context.output.notice(`Removed from ${nameOf(target)}: ${named}`);
    else if (keys.length === 0) context.output.notice(`${nameOf(target)} has no labels.`);
  }
}

async function update(
  { id }: WorkspaceSummary,
  { workspace }: CommandContext,
  change: (metadata: ConversationMetadata) => ConversationMetadata,
): Promise<void> {
  await using writer = await workspace.conversations.open(id);
  await writer.updateMetadata(change);
}

function checked<Value>(text: string, parse: (text: string) => Value): Value {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw usageError(`Not a label: ${oneLine(text)}`, error.message);
  }
}

function nameOf({ id, metadata }: WorkspaceSummary): string {
  return metadata?.title === undefined ? id : `${id} (${oneLine(metadata.title)})`;
}

function shown(key: string, value: string): string {
  return oneLine(labelText(key, value));
}
