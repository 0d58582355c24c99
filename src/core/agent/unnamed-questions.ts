/**
 * Reports likely typos in question ids: config for a misspelled id, such as a role, silently has no effect. A tool that
 * does not declare its questions cannot be checked in advance, so this looks at what it asks.
 */
import { type ConversationEvent, eventsOf } from "../../record/conversation/index.ts";
import { findClosest, pathToText } from "../../util/index.ts";
import type { TurnContext } from "./context.ts";
import type { CallableTool } from "./ports.ts";

type Context = Pick<TurnContext, "journal" | "observer" | "state">;

/**
 * Sends a notice if config names other questions of this tool, and the tool has never asked some of them in this
 * conversation. At most once a turn for each tool. Throws `read_failed`, `record_damaged`.
 */
export async function noticeUnnamed(
  { journal, observer, state }: Context,
  { settings, questionIds }: Pick<CallableTool, "settings" | "questionIds">,
  asked: readonly string[],
): Promise<void> {
  const { name, questions } = settings;
  const unnamed = asked.find((id) => !questions.has(id));
  const isChecked = questionIds !== undefined || questions.size === 0;
  if (observer === undefined || isChecked || unnamed === undefined) return;
  await journal.stream.load?.();
  const known = new Set([...asked, ...askedBy(name, journal.stream.entries)]);
  const unasked = [...questions.keys()].filter((id) => !known.has(id));
  if (unasked.length === 0 || state.hasNoticedUnnamed.has(name)) return;
  state.hasNoticedUnnamed.add(name);
  observer.observe({ type: "notice", message: describe(name, unnamed, unasked) });
}

function describe(tool: string, id: string, unasked: readonly string[]): string {
  const key = pathToText(["conversation", "tools", tool, "questions"]);
  const closest = findClosest(id, unasked);
  const advice =
    closest === undefined
      ? `If that is right, add the table ${key}.${quoted(id)}.`
      : `Did you mean ${quoted(id)}?`;
  return (
    `${tool} asks ${quoted(id)}, which ${key} does not name. It names ` +
    `${unasked.map(quoted).join(", ")}, which ${tool} has not asked. ${advice}`
  );
}

const MAX_ID_LENGTH = 80;

/** Shortened: the id comes from the tool. */
function quoted(id: string): string {
  return JSON.stringify(id.length > MAX_ID_LENGTH ? `${id.slice(0, MAX_ID_LENGTH)}…` : id);
}

function* askedBy(
  tool: string,
  entries: Parameters<typeof eventsOf>[0],
): Generator<string, void, undefined> {
  for (const event of eventsOf(entries)) if (isAskedBy(tool, event)) yield event.questionId ?? "";
}

function isAskedBy(
  tool: string,
  event: ConversationEvent,
): event is Extract<ConversationEvent, { type: "inquiry_request" }> {
  return (
    event.type === "inquiry_request" && event.source.source === "tool" && event.source.name === tool
  );
}
