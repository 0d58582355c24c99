/** `jp conversation compact`: shortens old turns for the model, and undoes that. */
import {
  parseModelId,
  parseTurnBound,
  resolveCompaction,
  toRule,
} from "../../../settings/config/index.ts";
import {
  type Compaction,
  type CompactionRange,
  type CompactionRule,
  compactionsOf,
  type ConversationId,
  describeCompaction,
  describeTurns,
  type PlannedCompaction,
  StreamEntry,
  timestampFromDate,
  toCompaction,
  type TurnBound,
  turnsOf,
} from "../../../record/conversation/index.ts";
import { wrapProse } from "../../../surfaces/render/index.ts";
import {
  configuredSummarizer,
  machineOf,
  openProviders,
  planCompaction,
  toCfg,
  warnWithheld,
} from "../../../assemble/index.ts";
import type { ConversationWriter } from "../../../stores/index.ts";
import {
  isJsonArray,
  isJsonObject,
  JpError,
  type Json,
  jsonLine,
  parseJson,
} from "../../../util/index.ts";
import { compactInForeground, isMode, parseBound, rulesOf } from "../../compact.ts";
import type { CommandContext } from "../../context.ts";
import { resolveTargets, turnRange } from "../../conversations.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { trustedConfig } from "../../trust.ts";
import type { FlagsOf } from "../../options.ts";
import type { COMPACT } from "./options.ts";

export interface CompactFlags extends Partial<FlagsOf<typeof COMPACT>> {
  /** How to undo it, in the user's terms. */
  readonly undo?: string;
}

export async function compact({
  args,
  options,
  context,
}: Omit<Call, "options"> & { readonly options: CompactFlags }): Promise<void> {
  checkFlags(options);
  for (const { id } of await resolveTargets(context, args)) {
    if (options.reset === undefined) await compactOne(id, options, context);
    else await reset(id, options, context);
  }
}

async function compactOne(
  id: ConversationId,
  options: CompactFlags,
  context: CommandContext,
): Promise<void> {
  const found = await context.workspace.conversations.load(id);
  const { cfg, model } = options;
  const request = { cfg: toCfg({ cfg, model }), id, conversation: found };
  const trusted = await trustedConfig(context, request, {});
  warnWithheld(trusted, context);
  const { config } = trusted;
  const { output, clock } = context;
  const rules = findRules(options, resolveCompaction(config).rules);
  const wanted = { rules, ...boundsOf(options, turnsOf(found.stream.entries).length), clock };
  if (options.dryRun === true) {
    const now = timestampFromDate(clock.now());
    const planned = planCompaction(found, wanted).map((one) => toPreview(one, now));
    show(found, planned, { options, context });
    return output.notice("Dry run: nothing was changed.");
  }
  await using conversation = await context.workspace.conversations.open(id, { loaded: found });
  const summarizer = configuredSummarizer(config, openProviders(machineOf(context), config));
  const before = { stream: { ...conversation.stream, entries: [...conversation.stream.entries] } };
  const made = await compactInForeground(context, conversation, { ...wanted, summarizer });
  show(before, made, { options, context });
  if (made.length > 0)
    output.notice(`To undo: ${options.undo ?? "jp conversation compact --reset"}`);
}

/** Summaries are only generated when they are recorded. */
function toPreview(planned: PlannedCompaction, timestamp: Compaction["timestamp"]): Compaction {
  const preview = toCompaction(planned, timestamp);
  return planned.rule.summary === undefined ? preview : { ...preview, summary: "" };
}

/** Throws `usage`. */
function findRules(
  options: CompactFlags,
  configured: readonly CompactionRule[],
): readonly CompactionRule[] {
  const { reasoning, tools, summarize, model } = options;
  const mode = tools === true ? "strip" : tools;
  if (mode !== undefined && !isMode(mode)) {
    throw usageError(
      `Unknown mode for tool calls: ${mode}`,
      "Use strip, strip-requests, strip-responses or omit. Put the conversation before --tools.",
    );
  }
  const isPolicy = reasoning === true || mode !== undefined || summarize !== undefined;
  const context = typeof summarize === "string" && { context: summarize };
  const own = toRule({
    ...(reasoning === true && { reasoning: "strip" }),
    ...(mode !== undefined && { tool_calls: mode }),
    ...(summarize !== undefined && { summary: { ...context } }),
  });
  const rules = rulesOf(options, configured, isPolicy ? [own] : []);
  return model === undefined ? rules : rules.map((rule) => withModel(rule, model));
}

/** `--model` is for every summary, but a rule keeps its own parameters. */
function withModel(rule: CompactionRule, model: string): CompactionRule {
  if (rule.summary?.model === undefined) return rule;
  const { summary } = rule;
  return { ...rule, summary: { ...summary, model: { ...summary.model, id: parseModelId(model) } } };
}

interface Bounds {
  readonly from?: TurnBound;
  readonly to?: TurnBound;
}

/** Throws `usage`. */
function boundsOf(options: CompactFlags, count: number): Bounds {
  const { keepFirst, keepLast, first, last, turn, from, to } = options;
  const isSelected = first !== undefined || last !== undefined || turn !== undefined;
  const range = isSelected ? turnRange(options, count) : undefined;
  const start = keepFirst === undefined ? undefined : parseKept(keepFirst);
  const end = keepLast === undefined ? undefined : parseKept(keepLast);
  const selected = {
    from: from === undefined ? range && indexOf(range.from) : parseBound(from),
    to: to === undefined ? range && indexOf(range.to) : parseBound(to),
  };
  const bounds = { from: start ?? selected.from, to: end ?? selected.to };
  return {
    ...(bounds.from !== undefined && { from: bounds.from }),
    ...(bounds.to !== undefined && { to: bounds.to }),
  };
}

function indexOf(index: number): TurnBound {
  return { type: "turn", index };
}

function parseKept(written: string): TurnBound {
  const bound = parseTurnBound(written);
  if (bound !== undefined) return bound;
  throw usageError(`Not a number of turns: ${written}`, "Write a number, or a duration like 5h.");
}

const SELECTORS = ["keepFirst", "keepLast", "first", "last", "turn", "from", "to"] as const;
const POLICIES = ["reasoning", "tools", "summarize"] as const;
const TOGETHER: readonly (readonly [keyof CompactFlags, readonly (keyof CompactFlags)[]])[] = [
  ["keepFirst", ["from", "last", "turn"]],
  ["keepLast", ["to", "first", "turn"]],
  ["from", ["first", "last", "turn"]],
  ["to", ["first", "last", "turn"]],
  ["compact", POLICIES],
  ["reset", [...SELECTORS, ...POLICIES, "compact", "model"]],
];

/** Throws `usage`. */
function checkFlags(options: CompactFlags): void {
  for (const [flag, others] of TOGETHER) {
    const other = others.find((name) => options[name] !== undefined);
    if (options[flag] === undefined || other === undefined) continue;
    throw usageError(`${toFlag(flag)} and ${toFlag(other)} cannot be used together.`);
  }
  for (const [kept, of] of [
    ["keepFirst", "first"],
    ["keepLast", "last"],
  ] as const) {
    const [keeps, selects] = [Number(options[kept]), options[of]];
    if (selects === undefined || !(keeps > selects)) continue;
    throw usageError(
      `${toFlag(kept)} ${keeps} keeps all of ${toFlag(of)} ${selects}: nothing is left to compact.`,
    );
  }
}

function toFlag(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

interface Shown {
  readonly options: CompactFlags;
  readonly context: CommandContext;
}

/** Lists all turns in order: compacted now, compacted earlier, or kept. */
function show(
  { stream }: Pick<ConversationWriter, "stream">,
  made: readonly Compaction[],
  { options, context: { output } }: Shown,
): void {
  if (options.format === "json") {
    for (const compaction of made) {
      output.print(jsonLine(StreamEntry.fromCompaction(compaction).raw));
    }
    return;
  }
  if (made.length === 0) return output.notice("Nothing to compact.");
  const rows = [
    ...compactionsOf(stream).map((one) => ({
      ...one,
      text: `compacted before (${describeCompaction(one)})`,
    })),
    ...made.map((one) => ({ ...one, text: `compacted (${describeCompaction(one)})` })),
  ].toSorted((left, right) => left.fromTurn - right.fromTurn);
  const last = turnsOf(stream.entries).length - 1;
  const shown: (CompactionRange & { readonly text: string })[] = [];
  let next = 0;
  for (const row of rows) {
    if (row.fromTurn > next) shown.push({ fromTurn: next, toTurn: row.fromTurn - 1, text: "kept" });
    shown.push(row);
    next = Math.max(next, row.toTurn + 1);
  }
  if (next <= last) shown.push({ fromTurn: next, toTurn: last, text: "kept" });
  const width = Math.max(...shown.map((row) => describeTurns(row).length));
  for (const row of shown) output.print(`${describeTurns(row).padEnd(width)}  ${row.text}`);
}

/** Removes compactions from the record, as the Rust original does. Everything else stays as it is, byte for byte. */
async function reset(
  id: ConversationId,
  { reset: index, dryRun = false }: CompactFlags,
  { workspace, output }: CommandContext,
): Promise<void> {
  const before = (await workspace.files.read(id, "events")) ?? "[]\n";
  const parsed = parseJson(before);
  const elements = isJsonArray(parsed) ? parsed : [];
  const positions = elements.flatMap((element, position) =>
    isCompaction(element) ? [position] : [],
  );
  if (index !== undefined && index !== true && positions[index - 1] === undefined) {
    const count = positions.length === 1 ? "1 compaction" : `${positions.length} compactions`;
    throw new JpError("no_compaction", `No compaction ${index}: the conversation has ${count}.`, {
      hint: "`jp conversation show` lists them.",
    });
  }
  const removed =
    index === true || index === undefined ? positions : positions.slice(index - 1, index);
  if (removed.length === 0) return output.notice("No compactions to remove.");
  const count = removed.length === 1 ? "1 compaction" : `${removed.length} compactions`;
  if (dryRun) return output.notice(`Would remove ${count}. Nothing was changed.`);
  const after = withoutElements(before, elements, new Set(removed));
  await workspace.files.replace(id, "events", { before, after });
  const done = `Removed ${count}: the model sees those turns in full again.`;
  for (const row of wrapProse(done, output.noticeWidth)) output.notice(row);
}

function isCompaction(element: Json): boolean {
  return isJsonObject(element) && element["type"] === "compaction";
}

/** In the usual layout each element starts and ends on its own line. A file in any other layout is rewritten. */
function withoutElements(
  text: string,
  elements: readonly Json[],
  removed: ReadonlySet<number>,
): string {
  const found = text.match(/^ {2}\{$[^]*?^ {2}\},?$/gm) ?? [];
  const kept = found
    .filter((_, index) => !removed.has(index))
    .map((element) => element.replace(/,$/, ""));
  const isInLayout = text === `[\n${found.join("\n")}\n]\n` && found.length === elements.length;
  if (isInLayout) return kept.length === 0 ? "[]\n" : `[\n${kept.join(",\n")}\n]\n`;
  return `${JSON.stringify(
    elements.filter((_, index) => !removed.has(index)),
    null,
    2,
  )}\n`;
}
