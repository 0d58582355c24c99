/** `jp conversation print`: as text, as Markdown, or as JSON with one event per line. */
import {
  eventToPlainJson,
  type StreamEntry,
  type Turn,
  turnsOf,
} from "../../../conversation/index.ts";
import { jsonLine, renderMarkdown, renderTurn } from "../../../render/index.ts";
import type { ConversationSummary } from "../../../storage/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import {
  readEntries,
  resolveTargetForReading,
  type TurnFlags,
  turnRange,
} from "../../conversations.ts";
import type { Call } from "../../define.ts";

export interface PrintFlags extends TurnFlags {
  readonly full?: boolean;
  readonly reasoning?: boolean;
  readonly format?: "text" | "markdown" | "json";
}

const FOLDED_LINES = 10;

export async function printConversation({
  args,
  options,
  context,
}: Call<PrintFlags>): Promise<void> {
  const summary = await resolveTargetForReading(context, args[0]);
  const entries = await readAllEntries(summary, context);
  const all = turnsOf(entries);
  const { from, to } = turnRange(options, all.length);
  const turns = all.slice(from, to + 1);
  if (turns.length === 0) context.output.notice("(no turns)");
  PRINTERS[options.format ?? "text"]({ summary, turns, options, context });
}

async function readAllEntries(
  { id }: ConversationSummary,
  context: CommandContext,
): Promise<readonly StreamEntry[]> {
  const all: StreamEntry[] = [];
  for await (const entries of readEntries(id, context, "throw")) {
    for (const entry of entries) {
      const { content } = entry;
      if (content.kind === "malformed") {
        const { events } = context.workspace.files.paths(id);
        warn(`${events}: element ${all.length}: ${content.error.message}`, context.output);
      }
      all.push(entry);
    }
  }
  return all;
}

interface Job {
  readonly summary: ConversationSummary;
  readonly turns: readonly Turn[];
  readonly options: PrintFlags;
  readonly context: CommandContext;
}

const PRINTERS = { text: printText, markdown: printMarkdown, json: printJson };

function printText({ turns, options, context }: Job): void {
  const { output, clock } = context;
  for (const turn of turns) {
    const lines = renderTurn(turn, {
      paint: output.paint,
      now: clock.now(),
      width: output.lineWidth,
      resultLines: options.full === true ? Number.POSITIVE_INFINITY : FOLDED_LINES,
      showsReasoning: options.reasoning !== false,
    });
    for (const line of lines) output.print(line);
  }
}

function printMarkdown({ summary, turns, context }: Job): void {
  const title = summary.metadata?.title;
  const document = renderMarkdown({ turns, ...(title !== undefined && { title }) });
  context.output.print(document.trimEnd());
}

function printJson({ turns, context }: Job): void {
  for (const { events } of turns) {
    for (const event of events) context.output.print(jsonLine(eventToPlainJson(event)));
  }
}
