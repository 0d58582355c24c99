/** `jp conversation fork`: a copy to go on from. */
import { type ConversationId, type StreamEntry, TurnCounter } from "../../../conversation/index.ts";
import type { CommandContext } from "../../compose.ts";
import type { Call } from "../../define.ts";
import { resolveTarget } from "../../target.ts";
import { type TurnFlags, type TurnRange, turnRange } from "../../turn-range.ts";

export interface ForkFlags extends TurnFlags {
  readonly title?: string;
  readonly activate?: boolean;
}

export async function forkConversation({
  words,
  options,
  context,
}: Call<ForkFlags>): Promise<void> {
  const { workspace, output } = context;
  const { id } = await resolveTarget(context, words[0]);
  const { title } = options;
  const count = await countTurns(id, context);
  const range = turnRange(options, count);
  const isWhole = range.from === 0 && range.to === count - 1;
  const copy = await workspace.conversations.fork(id, {
    ...(title !== undefined && { title }),
    ...(!isWhole && { keep: keepTurns(range) }),
  });
  if (options.activate === true) await workspace.session.activate(copy);
  output.print(copy);
}

async function countTurns(id: ConversationId, { workspace }: CommandContext): Promise<number> {
  const counter = new TurnCounter();
  let turns = 0;
  for await (const { entries } of workspace.conversations.scan(id)) {
    for (const { eventType } of entries) {
      if (eventType !== undefined) turns = counter.next(eventType) + 1;
    }
  }
  return turns;
}

/** Config stays as it is; compactions name turns by number, and the numbers are others now. */
function keepTurns({ from, to }: TurnRange): (entry: StreamEntry) => boolean {
  const counter = new TurnCounter();
  return (entry) => {
    const { eventType } = entry;
    if (eventType === undefined) return entry.content.kind !== "compaction";
    const turn = counter.next(eventType);
    return from <= turn && turn <= to;
  };
}
