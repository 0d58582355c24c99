/** `jp conversation print`: the whole of it, for a screen, as Markdown, or as one event a line. */
import { eventToPlainJson, type Turn, turnsOf } from "../../../conversation/index.ts";
import { jsonLine, renderMarkdown, renderTurn } from "../../../render/index.ts";
import type { Conversation } from "../../../storage/index.ts";
import { warn, warnOf } from "../../activity.ts";
import type { CommandContext } from "../../compose.ts";
import type { Call } from "../../define.ts";
import { resolveTargetForReading } from "../../target.ts";
import { type TurnFlags, turnRange } from "../../turn-range.ts";

export interface PrintFlags extends TurnFlags {
  readonly full?: boolean;
  readonly reasoning?: boolean;
  readonly format?: "text" | "markdown" | "json";
}

const FOLDED_LINES = 10;

export async function printConversation({
  words,
  options,
  context,
}: Call<PrintFlags>): Promise<void> {
  const { id } = await resolveTargetForReading(context, words[0]);
  const conversation = await context.workspace.conversations.load(id);
  warnOf(conversation.problems, context.output);
  warnOfMalformed(conversation, context);
  const all = turnsOf(conversation.stream.entries);
  const { from, to } = turnRange(options, all.length);
  const turns = all.slice(from, to + 1);
  PRINTERS[options.format ?? "text"]({ conversation, turns, options, context });
}

interface Job {
  readonly conversation: Conversation;
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
      width: output.isTerminal ? output.width : Number.POSITIVE_INFINITY,
      resultLines: options.full === true ? Number.POSITIVE_INFINITY : FOLDED_LINES,
      showsReasoning: options.reasoning !== false,
    });
    for (const line of lines) output.print(line);
  }
}

function printMarkdown({ conversation, turns, context }: Job): void {
  const title = conversation.summary.metadata?.title;
  const document = renderMarkdown({ turns, ...(title !== undefined && { title }) });
  context.output.print(document.trimEnd());
}

function printJson({ turns, context }: Job): void {
  for (const { events } of turns) {
    for (const event of events) context.output.print(jsonLine(eventToPlainJson(event)));
  }
}

function warnOfMalformed({ stream }: Conversation, { output }: CommandContext): void {
  for (const [index, { content }] of stream.entries.entries()) {
    if (content.kind !== "malformed") continue;
    warn(`element ${index}: ${content.error.message}`, output);
  }
}
