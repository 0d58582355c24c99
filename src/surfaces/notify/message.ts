/**
 * Composes notifications. They never say more than `notify.content` allows, and contain only these fields: no arguments
 * of a tool, no context, no answers. All text from tools and models is neutralized and limited in length.
 */
import { createHash, randomUUID } from "node:crypto";
import type { NotifySettings } from "../../settings/config/index.ts";
import { type DecisionJson, describePeopleChange } from "../render/index.ts";
import { type JsonObject, neutralize, oneLine } from "../../util/index.ts";

/** A pending decision. Fields not listed here are never sent. */
export interface PendingNotice extends Pick<
  DecisionJson,
  "workspace" | "conversation" | "title" | "id" | "kind" | "tool" | "asked_at"
> {
  readonly question: Pick<DecisionJson["question"], "text">;
}

/** A logged change of a person's signing keys. Fields not listed here are never sent. */
export interface ChangedKey extends JsonObject {
  readonly at: string;
  /** A code: `key_added`, `key_replaced` or `key_removed`. */
  readonly what: string;
  readonly person_id: string;
  readonly name: string;
  readonly by: JsonObject;
}

/** One notification, identical on all channels. */
export interface Notification {
  /** Stable for the same items, so that a receiver can recognize a repeat. */
  readonly id: string;
  /** One line. */
  readonly title: string;
  /** A few lines, with links. */
  readonly text: string;
  /** Opens the question, or the inbox if there are several. A link never answers. */
  readonly link?: string;
  /** For programs. */
  readonly json: JsonObject;
}

/** A message's level of detail, and the address of its links. */
export interface MessageOptions {
  readonly content: NotifySettings["content"];
  readonly link?: string | undefined;
  readonly now: Date;
}

const MAX_ITEMS = 10;
const MAX_NAME_LENGTH = 200;
const MAX_ID_LENGTH = 500;
const MAX_TEXT_LENGTH = 1000;

/** `items` has at least one element, oldest first. */
export function composeMessage(
  items: readonly PendingNotice[],
  options: MessageOptions,
): Notification {
  const { content, link: origin, now } = options;
  const isNamed = content !== "none";
  const inbox = origin && `${origin}/`;
  const [only, ...others] = items;
  const link = only && others.length === 0 && isNamed ? linkTo(only, origin) : inbox;
  const listed = isNamed ? items.slice(0, MAX_ITEMS) : [];
  const data = {
    count: items.length,
    ...(link !== undefined && { link }),
    ...(isNamed && { items: listed.map((item) => itemToJson(item, options)) }),
  };
  const rest = items.length - listed.length;
  const paragraphs = [
    ...listed.map((item) => describeItem(item, options)),
    ...(isNamed && rest > 0 ? [`And ${rest} more.`] : []),
    ...(inbox !== undefined && rest > 0 ? [inbox] : []),
  ];
  const title = `jp: ${items.length === 1 ? "1 question is" : `${items.length} questions are`} waiting`;
  return {
    id: idOf(items),
    title,
    text: paragraphs.length === 0 ? title : paragraphs.join("\n\n"),
    ...(link !== undefined && { link }),
    json: { type: "inquiries.pending", timestamp: now.toISOString(), data },
  };
}

/**
 * Reports a key change that the person may not have made. With `notify.content = "none"`, it does not say whose keys
 * changed.
 */
export function composeKeyMessage(
  change: ChangedKey,
  { content, link: origin, now }: MessageOptions,
): Notification {
  const { at, what, person_id, by, key, key_type, rp_id, replaced, allowed_by } = change;
  const link = origin && `${origin}/`;
  const shown = { at, what, person_id, name: name(change.name), by };
  const data = {
    ...(content !== "none" && { ...shown, key, key_type, rp_id, replaced, allowed_by }),
    ...(link !== undefined && { link }),
  };
  const title = "jp: someone's keys have changed";
  const words = `${name(change.name)}: ${name(describePeopleChange(change))}.`;
  const advice = "If they did not do this, remove the key: jp serve people key rm";
  const lines = content === "none" ? [title] : [words, advice];
  return {
    id: `msg_${createHash("sha256").update(JSON.stringify(change)).digest("base64url")}`,
    title,
    text: [...lines, ...(link === undefined ? [] : [link])].join("\n"),
    ...(link !== undefined && { link }),
    json: { type: "people.key_changed", timestamp: now.toISOString(), data },
  };
}

/** Tests a channel without a question. */
export function composeTestMessage(now: Date): Notification {
  const text = "This is a test. jp will notify you this way when a question is waiting.";
  return {
    id: `msg_${randomUUID()}`,
    title: "jp: test notification",
    text,
    json: { type: "test", timestamp: now.toISOString(), data: { text } },
  };
}

/** Identifies a pending decision, independent of its other fields. */
export function itemKey({
  workspace,
  conversation,
  id,
}: Pick<PendingNotice, "workspace" | "conversation" | "id">): string {
  return JSON.stringify([workspace, conversation, id]);
}

function idOf(items: readonly PendingNotice[]): string {
  const keys = items.map((item) => [itemKey(item), item.asked_at]);
  return `msg_${createHash("sha256").update(JSON.stringify(keys)).digest("base64url")}`;
}

/** The page reads the link's fragment, which browsers do not send: opening it changes nothing. */
function linkTo(
  { conversation, id }: PendingNotice,
  origin: string | undefined,
): string | undefined {
  if (origin === undefined) return undefined;
  // Models and providers choose ids: a long one must not prevent a message.
  if (id.length > MAX_ID_LENGTH) return `${origin}/`;
  const path = [conversation, id].map((part) => encodeURIComponent(part.toWellFormed()));
  return `${origin}/#/inquiries/${path.join("/")}`;
}

/** The decision's fields and the link. */
function itemToJson(item: PendingNotice, { content, link: origin }: MessageOptions): JsonObject {
  const { kind, conversation, id, asked_at } = item;
  const title = titleOf(item);
  const link = linkTo(item, origin);
  return {
    kind,
    tool: name(item.tool),
    conversation,
    ...(title !== undefined && { title }),
    id: truncate(id, MAX_ID_LENGTH),
    asked_at,
    ...(content === "question" && { question: { text: textOf(item) } }),
    ...(link !== undefined && { link }),
  };
}

const PHRASES: Readonly<Record<PendingNotice["kind"], string>> = {
  question: "asks a question",
  permission: "needs permission to run",
  delivery: "has a result for you to approve",
  in_doubt: "may or may not have run",
};

function describeItem(item: PendingNotice, { content, link: origin }: MessageOptions): string {
  const title = titleOf(item);
  const place = title === undefined ? name(item.conversation) : `"${title}"`;
  const lines = [
    `${name(item.tool)} ${PHRASES[item.kind]}, in ${place}.`,
    content === "question" ? textOf(item) : "",
    linkTo(item, origin) ?? "",
  ];
  return lines.filter((line) => line !== "").join("\n");
}

/** The conversation's title, if any. */
function titleOf({ title = "" }: PendingNotice): string | undefined {
  return title === "" ? undefined : name(title);
}

function name(text: string): string {
  return oneLine(truncate(text, MAX_NAME_LENGTH));
}

function textOf({ question }: PendingNotice): string {
  return neutralize(truncate(question.text, MAX_TEXT_LENGTH));
}

function truncate(text: string, length: number): string {
  return text.length <= length ? text.toWellFormed() : `${text.slice(0, length).toWellFormed()}…`;
}
