/** `jp query --enqueue` leaves the turn to a worker; `--follow` shows its progress. */
import {
  type ConversationEvent,
  type ConversationId,
  eventToPlainJson,
  lastTurnOf,
  readTurnProgress,
} from "../../../record/conversation/index.ts";
import { directoryOf, enqueueTurn, type OpenTurn } from "../../../assemble/index.ts";
import { describeReplyFile, describeSources } from "../../../surfaces/render/index.ts";
import type { WorkspaceStore } from "../../../stores/index.ts";
import { jsonLine, neutralize, oneLine } from "../../../util/index.ts";
import { type CommandContext, untilSignal } from "../../context.ts";
import { ExitStatus, INTERRUPTED, WAITING } from "../../exit-status.ts";
import { activate } from "./conversation.ts";
import { reportPending } from "./start.ts";
import type { ViewFlags } from "./view-settings.ts";

/** Records the message. A worker picks up the turn once the conversation is released. */
export async function enqueue(
  context: CommandContext,
  { conversation, message, trusted }: OpenTurn,
  { queue, format }: Pick<ViewFlags, "format"> & { readonly queue?: string },
): Promise<void> {
  const { output } = context;
  await activate(context, conversation.id);
  await enqueueTurn(
    conversation,
    { content: "", ...message },
    {
      ...(queue !== undefined && { queue }),
      discardsPending: true, // The user has confirmed it.
      directory: await directoryOf(context, trusted.config),
      clock: conversation.clock ?? context.clock,
    },
  );
  if (format === "json") output.print(jsonLine({ conversation: conversation.id }));
  else output.print(conversation.id);
  output.flush();
}

/** Shows the turn's events until it ends or needs a person. Throws `ExitStatus` unless it succeeded. */
export async function follow(
  context: CommandContext,
  { conversation: { id }, trusted: { config } }: OpenTurn,
  { format }: Pick<ViewFlags, "format">,
): Promise<void> {
  const { output, workspace } = context;
  const { conversations } = workspace;
  using stop = untilSignal(context);
  using changes = new Changes(conversations, id);
  stop.signal.addEventListener("abort", () => changes.end(), { once: true });
  let shown = 0;
  while (await changes.next()) {
    // Read first: a decision it reports as pending has to be in the record read next.
    const summary = await conversations.find(id);
    const { stream } = await conversations.load(id);
    const events = lastTurnOf(stream.entries);
    for (const event of events.slice(shown)) show(event, context, format);
    output.flush();
    shown = events.length;
    const progress = readTurnProgress(events);
    if (progress.next === "done") return;
    const isWaiting = summary?.openTurn?.type === "waiting_for_input";
    const pending = isWaiting ? await reportPending(stream, context, config) : [];
    if (pending.length > 0) throw new ExitStatus(WAITING);
  }
  output.notice(`No longer following. The turn goes on: jp conversation print ${id}`);
  throw new ExitStatus(INTERRUPTED);
}

function show(
  event: ConversationEvent,
  { output }: CommandContext,
  format: ViewFlags["format"],
): void {
  if (format === "json") return output.print(jsonLine(eventToPlainJson(event)));
  switch (event.type) {
    case "chat_response": {
      const { content } = event;
      if (content.type === "reasoning") return;
      const text = content.type === "structured" ? JSON.stringify(content.data) : content.text;
      return output.print(output.isTerminal ? neutralize(text) : text);
    }
    case "tool_call_request":
      return output.notice(`Calling ${oneLine(event.name)}.`);
    case "reply_sources":
      for (const line of describeSources(event)) output.notice(line);
      return undefined;
    case "reply_file":
      return output.notice(describeReplyFile(event));
    case "reply_failure":
      return output.notice(`The model failed (${oneLine(event.code)}).`);
    default:
      return undefined;
  }
}

/** Resolves once at the start, then each time the conversation may have changed. */
class Changes implements Disposable {
  readonly #watch: Disposable;
  /** The watcher alone would not keep the process alive. */
  readonly #alive = setInterval(() => undefined, 2 ** 30);
  #hasChanged = true;
  #isEnded = false;
  #wake = Promise.withResolvers<void>();

  constructor(store: WorkspaceStore, id: ConversationId) {
    this.#watch = store.watch((change) => {
      if (change.id !== undefined && change.id !== id) return;
      this.#hasChanged = true;
      this.#wake.resolve();
    });
  }

  end(): void {
    this.#isEnded = true;
    this.#wake.resolve();
  }

  /** False once it has ended. */
  async next(): Promise<boolean> {
    while (!this.#hasChanged && !this.#isEnded) {
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
    this.#hasChanged = false;
    return !this.#isEnded;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#alive);
    this.#watch[Symbol.dispose]();
  }
}
