/**
 * The only path from a conversation to a provider. Providers take `ThreadParts` and nothing else, so
 * that no internal event can reach them.
 */
import type { JsonObject } from "../util/index.ts";
import type { StreamEntry } from "./entry.ts";
import {
  isProviderVisible,
  isProviderVisibleType,
  type ProviderEvent,
  type ToolCallResponse,
} from "./event.ts";
import { project } from "./projection.ts";
import { sanitize } from "./sanitize.ts";
import { type ConversationStream, eventsOf, findSchema } from "./stream.ts";
import { pairToolCalls } from "./turns.ts";

/** What goes to a model: the conversation, and the system prompt before it. */
export interface Thread {
  readonly systemPrompt?: string;
  readonly sections: readonly Section[];
  readonly attachments: readonly Attachment[];
  readonly stream: ConversationStream;
}

/** A part of the system prompt with its own title. */
export interface Section {
  readonly title?: string;
  readonly content: string;
}

/** A document sent along with the conversation. */
export interface Attachment {
  readonly source: string;
  readonly content: string;
}

/** A part of the system prompt. The tag tells a provider where to place cache points. */
export interface SystemPart {
  readonly tag: "prompt" | "section" | "attachments";
  readonly text: string;
}

/** A thread as a provider gets it, without anything a model must not see. */
export interface ThreadParts {
  /** Prompt, sections in order, attachments. */
  readonly systemParts: readonly SystemPart[];
  /** Every call has a result, and results are in the order of their calls. */
  readonly events: readonly ProviderEvent[];
  /** The structured output that the last turn requests. */
  readonly schema?: JsonObject;
}

/** Applies compactions, sanitizes, and removes what a model must not see. */
export function intoParts(thread: Thread): ThreadParts {
  // Compactions refer to turns by their number in the record, so they are applied first.
  const stream = sanitize(project(thread.stream), "calls");
  const schema = findSchema(stream);
  return {
    systemParts: renderSystemParts(thread),
    events: orderResults(visibleEvents(stream.entries)),
    ...(schema !== undefined && { schema }),
  };
}

/** Decodes no others. */
function visibleEvents(entries: readonly StreamEntry[]): readonly ProviderEvent[] {
  const visible = entries.filter(({ eventType }) => isProviderVisibleType(eventType));
  return [...eventsOf(visible)].filter(isProviderVisible);
}

/** For providers that want one list: system messages first, then the conversation. */
export function intoMessages<Message>(
  thread: Thread,
  toSystemMessages: (parts: readonly SystemPart[]) => readonly Message[],
  toMessages: (events: readonly ProviderEvent[]) => readonly Message[],
): Message[] {
  const { systemParts, events } = intoParts(thread);
  return [...toSystemMessages(systemParts), ...toMessages(events)];
}

function renderSystemParts(thread: Thread): SystemPart[] {
  const { systemPrompt, sections, attachments } = thread;
  const parts: SystemPart[] = [];
  if (systemPrompt !== undefined) parts.push({ tag: "prompt", text: systemPrompt });
  for (const section of sections) parts.push({ tag: "section", text: renderSection(section) });
  if (attachments.length > 0) {
    parts.push({ tag: "attachments", text: renderAttachments(attachments) });
  }
  return parts;
}

function renderSection({ title, content }: Section): string {
  return title === undefined ? content : `# ${title}\n\n${content}`;
}

function renderAttachments(attachments: readonly Attachment[]): string {
  const documents = attachments.map(({ source, content }) =>
    [
      "<document>",
      `<source>${escapeDocumentTags(source)}</source>`,
      `<content>\n${escapeDocumentTags(content)}\n</content>`,
      "</document>",
    ].join("\n"),
  );
  return `<documents>\n${documents.join("\n")}\n</documents>`;
}

/** A document must not close its own element and pose as another one. Other markup is unchanged. */
function escapeDocumentTags(text: string): string {
  return text.replaceAll(/<(?=\/?(?:documents?|source|content)\b)/gi, "&lt;");
}

/**
 * Puts results in the order of their calls. The record has them in order of completion; in this order
 * two runs of the same turn look the same to a model. Each call must have its result.
 */
function orderResults(events: readonly ProviderEvent[]): readonly ProviderEvent[] {
  const ranks = rankResults(events);
  const ordered: ProviderEvent[] = [];
  let run: ToolCallResponse[] = [];
  const endRun = () => {
    ordered.push(
      ...run.toSorted((left, right) => (ranks.get(left) ?? 0) - (ranks.get(right) ?? 0)),
    );
    run = [];
  };
  for (const event of events) {
    if (event.type === "tool_call_response") run.push(event);
    else {
      endRun();
      ordered.push(event);
    }
  }
  endRun();
  return ordered;
}

/** The position of each result's call among all calls. */
function rankResults(events: readonly ProviderEvent[]): ReadonlyMap<ToolCallResponse, number> {
  const ranks = new Map<ToolCallResponse, number>();
  for (const [rank, { response }] of pairToolCalls(events).pairs.entries()) {
    if (response !== undefined) ranks.set(response, rank);
  }
  return ranks;
}
