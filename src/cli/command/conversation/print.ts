/** `jp conversation print`: as text, as Markdown, or as JSON with one event per line. */
import {
  type Compaction,
  type ConversationId,
  describeCompaction,
  describeTurns,
  eventToPlainJson,
  projectTurns,
  readTurnProgress,
  type RecordedTurn,
  turnsOf,
  TurnSplitter,
} from "../../../record/conversation/index.ts";
import { describeIncomplete, renderMarkdown, renderTurn } from "../../../surfaces/render/index.ts";
import type { ConversationSummary } from "../../../stores/index.ts";
import { jsonLine } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import { readEntries, resolveTargetForReading, turnRange } from "../../conversations.ts";
import type { Call } from "../../define.ts";
import type { FlagsOf, TURN_OPTIONS } from "../../options.ts";
import type { PRINT } from "./options.ts";

const FOLDED_LINES = 10;

export async function printConversation({
  args,
  options,
  context,
}: Call<typeof PRINT>): Promise<void> {
  const summary = await resolveTargetForReading(context, args[0]);
  const printer = PRINTERS[options.format]({ summary, options, context });
  let isEmpty = true;
  const compactions: Compaction[] = [];
  const turnsIn =
    options.compacted === true
      ? selectCompacted(summary.id, options, context)
      : selectTurns(summary.id, { ...options, compactions }, context);
  for await (const turns of turnsIn) {
    if (turns.length > 0) isEmpty = false;
    printer.print(turns);
  }
  if (isEmpty) context.output.notice("(no turns)");
  printer.end?.();
  for (const compaction of compactions) {
    const what = `${describeTurns(compaction)}: ${describeCompaction(compaction)}`;
    context.output.notice(`(compacted for the model: ${what}; see --compacted)`);
  }
}

/** The turns as the model sees them. They keep their numbers; a summary has the numbers of all its turns. */
async function* selectCompacted(
  id: ConversationId,
  flags: FlagsOf<typeof TURN_OPTIONS>,
  { workspace }: CommandContext,
): AsyncGenerator<readonly RecordedTurn[]> {
  const { stream } = await workspace.conversations.load(id);
  const { from, to } = turnRange(flags, turnsOf(stream.entries).length);
  yield projectTurns(stream).filter(
    ({ index, lastIndex = index }) => index <= to && from <= lastIndex,
  );
}

/**
 * In batches. Without a selection, the record is never in memory as a whole. Appends its compactions to
 * `compactions`.
 */
export async function* selectTurns(
  id: ConversationId,
  flags: FlagsOf<typeof TURN_OPTIONS> & { readonly compactions?: Compaction[] },
  context: CommandContext,
): AsyncGenerator<readonly RecordedTurn[]> {
  const { first, last, turn } = flags;
  if (first === undefined && last === undefined && turn === undefined) {
    yield* readTurns(id, context, flags.compactions);
    return;
  }
  const isLast = first === undefined && turn === undefined && last !== undefined && last > 0;
  const ending = isLast ? await findLastTurns(id, last, context) : undefined;
  const turns = ending ?? (await readAllTurns(id, context, flags.compactions));
  const { from, to } = turnRange(flags, turns.length);
  yield turns.slice(from, to + 1);
}

async function readAllTurns(
  id: ConversationId,
  context: CommandContext,
  compactions?: Compaction[],
): Promise<readonly RecordedTurn[]> {
  const batches: (readonly RecordedTurn[])[] = [];
  for await (const turns of readTurns(id, context, compactions)) batches.push(turns);
  return batches.flat();
}

async function* readTurns(
  id: ConversationId,
  context: CommandContext,
  compactions: Compaction[] = [],
): AsyncGenerator<readonly RecordedTurn[]> {
  const splitter = new TurnSplitter();
  let position = 0;
  for await (const entries of readEntries(id, context, "throw")) {
    for (const { content } of entries) {
      if (content.kind === "malformed") {
        const events = context.workspace.files.nameOf(id, "events");
        warn(`${events}: element ${position}: ${content.error.message}`, context.output);
      }
      if (content.kind === "compaction") compactions.push(content.compaction);
      position += 1;
    }
    yield splitter.read(entries);
  }
  yield splitter.end();
}

/** Undefined if the whole record has to be read, for example to locate a malformed element. */
async function findLastTurns(
  id: ConversationId,
  count: number,
  { workspace }: CommandContext,
): Promise<readonly RecordedTurn[] | undefined> {
  const found = await workspace.conversations.findLastTurns(id, count);
  if (found === undefined || found.entries.some(({ content }) => content.kind === "malformed"))
    return undefined;
  const splitter = new TurnSplitter(found.firstTurn);
  return [...splitter.read(found.entries), ...splitter.end()];
}

interface Job {
  readonly summary: ConversationSummary;
  readonly options: FlagsOf<typeof PRINT>;
  readonly context: CommandContext;
}

interface Printer {
  readonly print: (turns: readonly RecordedTurn[]) => void;
  /** Prints output that needs all turns. */
  readonly end?: () => void;
}

const PRINTERS = { text: textPrinter, markdown: markdownPrinter, json: jsonPrinter };

function textPrinter({ options, context: { output, clock } }: Job): Printer {
  const settings = {
    paint: output.paint,
    now: clock.now(),
    width: output.lineWidth,
    resultLines: options.full === true ? Number.POSITIVE_INFINITY : FOLDED_LINES,
    showsReasoning: options.reasoning,
  };
  let last: RecordedTurn | undefined;
  return {
    print: (turns) => {
      for (const turn of turns) {
        last = turn;
        for (const line of renderTurn(turn, settings)) output.print(line);
      }
    },
    end: () => {
      const progress = readTurnProgress(last?.events ?? []);
      if (progress.next !== "calls") return;
      output.print(output.paint("yellow", "Incomplete turn:"));
      for (const line of describeIncomplete(progress)) output.print(`  ${line}`);
    },
  };
}

function markdownPrinter({ summary, context }: Job): Printer {
  const title = summary.metadata?.title;
  const all: RecordedTurn[] = [];
  return {
    print: (turns) => {
      for (const turn of turns) all.push(turn);
    },
    end: () => {
      const document = renderMarkdown({ turns: all, ...(title !== undefined && { title }) });
      context.output.print(document.trimEnd());
    },
  };
}

function jsonPrinter({ context: { output } }: Job): Printer {
  return {
    print: (turns) => {
      for (const event of turns.flatMap(({ events }) => events)) {
        output.print(jsonLine(eventToPlainJson(event)));
      }
    },
  };
}
