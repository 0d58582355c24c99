/**
 * The title of a new conversation: from its first message, or from a model asked while the turn runs, depending on
 * `conversation.title`. A title never causes an error or a delay.
 */
import { type PartialConfig, resolveAssistant } from "../../../settings/config/index.ts";
import {
  endOf,
  findRequest,
  intoParts,
  isReported,
  lastTurnOf,
  StreamEntry,
  timestampFromDate,
  type TokenUsage,
} from "../../../record/conversation/index.ts";
import { collectReply, type Providers } from "../../../reach/provider/index.ts";
import { truncate } from "../../../surfaces/render/index.ts";
import type { ConversationWriter } from "../../../stores/index.ts";
import {
  type Clock,
  findJson,
  firstLine,
  isJsonArray,
  isJsonObject,
  type JsonObject,
} from "../../../util/index.ts";

interface TitleRequest {
  readonly config: PartialConfig;
  readonly providers: Providers;
  readonly clock: Clock;
  /** Has its first message on record by the time of the request. */
  readonly conversation: ConversationWriter;
  /** The request waits for this, so that it does not delay the reply. */
  readonly after: Promise<unknown>;
}

/** A title that a model may still be writing. Disposing stops the request. */
export interface GeneratedTitle extends Disposable {
  /** Records the title if the model delivers it within a moment; otherwise stops the request. Never throws. */
  save(): Promise<void>;
}

/** How long a finished turn waits for its title. */
const MAX_WAIT_MS = 1000;
const MAX_TITLE_LENGTH = 60;
const MAX_MESSAGE_LENGTH = 4000;

const INSTRUCTIONS =
  "Write a title for a conversation that begins with the user's message: at most 50 characters, factual, in the " +
  "language of the message. Do not answer the message.";

const SCHEMA: JsonObject = {
  type: "object",
  properties: { titles: { type: "array", items: { type: "string" } } },
  required: ["titles"],
  additionalProperties: false,
};

/** The default title of a new conversation: the heading or first line of its first message. */
export function titleOf(message: string, config: PartialConfig): string {
  return truncate(headingOf(message, config) ?? firstLine(message), MAX_TITLE_LENGTH);
}

/** The heading that the message starts with, unless the config rules out headings as titles. */
function headingOf(message: string, { conversation }: PartialConfig): string | undefined {
  if (conversation?.title?.from_heading === false) return undefined;
  const [first = "", second = ""] = message.trimStart().split("\n", 2);
  if (/^#{1,6}[ \t]/.test(first))
    return first.trimEnd().replace(/^#+/, "").replace(/ #+$/, "").trim() || undefined;
  return /^ {0,3}(?:=+|-+)$/.test(second.trimEnd()) ? first.trim() : undefined;
}

/** Undefined unless the config asks for titles. */
export function generateTitle(request: TitleRequest): GeneratedTitle | undefined {
  const { auto, model } = request.config.conversation?.title?.generate ?? {};
  if (!(auto ?? model?.id !== undefined)) return undefined;
  const stop = new AbortController();
  const asked = request.after.then(() => askForTitle(request, stop.signal)).catch(() => undefined);
  return {
    save: async () => {
      const wait = request.clock.sleep(MAX_WAIT_MS, stop.signal).catch(() => undefined);
      const written = await Promise.race([asked, wait]);
      stop.abort();
      if (written === undefined) return;
      await record(written, request.conversation).catch(() => undefined);
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}

interface WrittenTitle {
  /** Undefined if the model wrote something else. */
  readonly title: string | undefined;
  readonly spent: TokenUsage;
}

/** Throws `write_failed`. */
async function record(
  { title, spent }: WrittenTitle,
  conversation: ConversationWriter,
): Promise<void> {
  if (isReported(spent.usage)) await conversation.append(spent);
  if (title === undefined) return;
  await conversation.updateMetadata((metadata) => ({ ...metadata, title }));
}

/** Undefined if the message has a heading as its title. Throws what the provider throws. */
async function askForTitle(
  { config, providers, clock, conversation: { stream } }: TitleRequest,
  signal: AbortSignal,
): Promise<WrittenTitle | undefined> {
  const { content: message = "" } = findRequest(lastTurnOf(endOf(stream))) ?? {};
  if (headingOf(message, config) !== undefined) return undefined;
  const { assistant = {}, conversation } = config;
  const { id = assistant.model?.id, parameters = {} } = conversation?.title?.generate?.model ?? {};
  const own = { ...assistant, model: { ...(id !== undefined && { id }), parameters } };
  const settings = resolveAssistant({ ...config, assistant: own });
  const model = await providers.model(settings.model.provider, settings.model.name);
  const timestamp = timestampFromDate(clock.now());
  const content = message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
  const entries = [
    { type: "turn_start", timestamp } as const,
    { type: "chat_request", timestamp, content, schema: SCHEMA } as const,
  ].map((event) => StreamEntry.fromEvent(event));
  const parts = intoParts({
    systemPrompt: INSTRUCTIONS,
    sections: [],
    attachments: [],
    stream: { createdAt: timestamp, baseConfig: {}, entries },
  });
  const { text, usage } = await collectReply({
    model,
    request: {
      parts,
      tools: [],
      toolChoice: "none",
      parameters: settings.parameters,
      cache: "off",
      signal,
    },
    policy: { ...settings.request, maxRetries: 0 },
    clock,
  });
  const spent = {
    type: "token_usage",
    timestamp: timestampFromDate(clock.now()),
    model: model.id,
    purpose: "title",
    usage,
  } as const;
  return { title: titleIn(text), spent };
}

/** The first of `{"titles": […]}`, the format that the Rust original requests. */
function titleIn(text: string): string | undefined {
  const data = findJson(text);
  const titles = isJsonObject(data) ? data["titles"] : undefined;
  const [title] = titles !== undefined && isJsonArray(titles) ? titles : [];
  if (typeof title !== "string" || title.trim() === "") return undefined;
  return truncate(firstLine(title.trim()), MAX_TITLE_LENGTH);
}
