/**
 * The only door between a conversation and a provider: what it may see, in two lists. Providers
 * take `ThreadParts` and nothing else, so no internal event can reach one.
 */
import type { JsonObject } from "../util/index.ts";
import { isProviderVisible, type ProviderEvent, type ToolCallResponse } from "./event.ts";
import { project } from "./projection.ts";
import { sanitize } from "./sanitize.ts";
import { type ConversationStream, eventsOf, findSchema } from "./stream.ts";
import { pairToolCalls } from "./turns.ts";

/** What goes to a model: the conversation, and what is said before it. */
export interface Thread {
  readonly systemPrompt?: string;
  readonly sections: readonly Section[];
  readonly attachments: readonly Attachment[];
  readonly stream: ConversationStream;
}

/** A part of the instructions with a name of its own. */
export interface Section {
  readonly title?: string;
  readonly content: string;
}

/** A document that goes along with the conversation. */
export interface Attachment {
  readonly source: string;
  readonly content: string;
}

/** What a part is, so that a provider can decide where a cache point pays. */
export interface SystemPart {
  readonly tag: "prompt" | "section" | "attachments";
  readonly text: string;
}

/** A thread as a provider takes it: nothing in it that a model must not see. */
export interface ThreadParts {
  /** Prompt, sections in order, attachments. */
  readonly systemParts: readonly SystemPart[];
  /** Complete: every call has its result, and results stand in the order of their calls. */
  readonly events: readonly ProviderEvent[];
  /** The structured output that the last turn wants. */
  readonly schema?: JsonObject;
}

/** Applies compactions, sanitizes, and leaves out what a model must not see. */
export function intoParts(thread: Thread): ThreadParts {
  // Compactions name turns by their number in the record, so they come before any repair.
  const stream = sanitize(project(thread.stream));
  const schema = findSchema(stream);
  return {
    systemParts: renderSystemParts(thread),
    events: orderResults([...eventsOf(stream.entries)].filter(isProviderVisible)),
    ...(schema !== undefined && { schema }),
  };
}

/** For providers that want one list: the system's messages, then the conversation's. */
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
      `<source>${fenced(source)}</source>`,
      `<content>\n${fenced(content)}\n</content>`,
      "</document>",
    ].join("\n"),
  );
  return `<documents>\n${documents.join("\n")}\n</documents>`;
}

/** A document cannot close its own element and speak as its neighbour; other markup stays as is. */
function fenced(text: string): string {
  return text.replaceAll(/<(?=\/?(?:documents?|source|content)\b)/gi, "&lt;");
}

/** `events` are complete: each result has its call, and each call its result. */
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
