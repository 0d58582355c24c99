/**
 * Converts the events of a thread to pieces of messages, in the order that every API requires: the assistant's text and
 * tool calls, then the results of exactly those calls, in the order of the calls.
 */
import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import {
  type ChatRequest,
  type ChatResponse,
  fileText,
  fileUrl,
  type ProviderEvent,
  type RecordedFile,
  renderDocument,
  type ToolCallRequest,
  type ToolCallResponse,
  isReasoning,
} from "../../record/conversation/index.ts";
import { filesForModel, type ResultFile } from "../../record/tool/index.ts";
import { assertNever, base64Size, findJson, isJsonArray, isJsonObject } from "../../util/index.ts";
import type { CallHistory, Dialect } from "./dialect.ts";

export type Piece = (
  | { readonly role: "user"; readonly part: LanguageModelV4TextPart | LanguageModelV4FilePart }
  | { readonly role: "assistant"; readonly part: TextPart | LanguageModelV4ToolCallPart }
  | { readonly role: "tool"; readonly part: LanguageModelV4ToolResultPart }
) & { readonly event: ProviderEvent };

type TextPart = LanguageModelV4TextPart | LanguageModelV4ReasoningPart;

/** `ids` has the ids of earlier calls. */
export function toPieces(
  all: readonly ProviderEvent[],
  dialect: Dialect,
  ids = new ToolCallIds(dialect),
): readonly Piece[] {
  const own = new Set(dialect.ownReasoning(all.filter(isReasoning)));
  const events = all.filter((event) => !isReasoning(event) || own.has(event));
  const responses = pairResponses(events);
  const pieces: Piece[] = [];
  let reply: Piece[] = [];
  let results: Result[] = [];
  let hasResponse = false;

  /** Providers reject a reply that contains only reasoning. */
  const finishReply = () => {
    if (reply.some(({ part }) => part.type !== "reasoning")) {
      pieces.push(...arrange(reply, results, dialect.template?.calls ?? "as_made"));
    }
    [reply, results, hasResponse] = [[], [], false];
  };

  for (const event of events) {
    switch (event.type) {
      case "chat_request":
        finishReply();
        pieces.push(...toUserPieces(event));
        break;
      case "chat_response": {
        if (hasResponse) finishReply();
        const part = toTextPart(event);
        if (isSendable(part, event, dialect)) reply.push({ role: "assistant", event, part });
        break;
      }
      case "tool_call_request": {
        if (hasResponse) finishReply();
        const toolCallId = ids.next(event.id);
        const { name: toolName, arguments: input } = event;
        const part = { type: "tool-call" as const, toolCallId, toolName, input };
        reply.push({ role: "assistant", event, part });
        const response = responses.get(event);
        if (response !== undefined) {
          const output = toOutput(response, dialect);
          const result = { type: "tool-result" as const, toolCallId, toolName, output };
          results.push({ role: "tool", event: response, part: result });
        }
        break;
      }
      case "tool_call_response":
        // Already placed with its call. The assistant's next event starts another reply.
        hasResponse = true;
        break;
      default:
        assertNever(event);
    }
  }
  finishReply();
  return pieces;
}

/** Files come first: a model reads the question about them last. */
function toUserPieces(event: ChatRequest): readonly Piece[] {
  const files = (event.files ?? []).map(toFilePart);
  const isSilent = files.length > 0 && event.content.trim() === "";
  const texts = isSilent ? [] : [{ type: "text" as const, text: event.content }];
  return [...files, ...texts].map((part) => ({ role: "user", event, part }));
}

/** Every model accepts text, but few accept it as a file. */
function toFilePart(file: RecordedFile): LanguageModelV4TextPart | LanguageModelV4FilePart {
  const { mediaType, filename, data } = file;
  const content = fileText(file);
  if (content !== undefined) {
    return { type: "text", text: renderDocument({ source: filename ?? "attached", content }) };
  }
  const url = fileUrl(file);
  return {
    type: "file",
    mediaType,
    ...(filename !== undefined && { filename }),
    data: url === undefined ? { type: "data", data } : { type: "url", url },
  };
}

type Result = Extract<Piece, { readonly role: "tool" }>;

/** Orders a reply, its calls and their results. */
function arrange(
  reply: readonly Piece[],
  results: readonly Result[],
  calls: CallHistory,
): readonly Piece[] {
  if (calls === "as_made") return [...reply, ...results];
  const oneByOne = reply.flatMap((piece) => {
    const { part } = piece;
    if (part.type !== "tool-call") return [piece];
    return [piece, ...results.filter((result) => result.part.toolCallId === part.toolCallId)];
  });
  return calls === "one_by_one" ? oneByOne : oneByOne.map(toTextPiece);
}

/** The model did not write the result, so it is sent as the user's. */
function toTextPiece(piece: Piece): Piece {
  const { event, part } = piece;
  switch (part.type) {
    case "tool-call": {
      const text = `[I called the tool ${part.toolName} with ${JSON.stringify(part.input)}]`;
      return { role: "assistant", event, part: { type: "text", text } };
    }
    case "tool-result": {
      const text = `[The tool ${part.toolName} returned:]\n${resultText(part)}`;
      return { role: "user", event, part: { type: "text", text } };
    }
    default:
      return piece;
  }
}

/** Pairs by id, and calls with the same id in order. */
function pairResponses(
  events: readonly ProviderEvent[],
): ReadonlyMap<ToolCallRequest, ToolCallResponse> {
  const open = new Map<string, ToolCallRequest[]>();
  const pairs = new Map<ToolCallRequest, ToolCallResponse>();
  for (const event of events) {
    if (event.type === "tool_call_request") {
      const waiting = open.get(event.id);
      if (waiting === undefined) open.set(event.id, [event]);
      else waiting.push(event);
    }
    if (event.type === "tool_call_response") {
      const request = open.get(event.id)?.shift();
      if (request !== undefined) pairs.set(request, event);
    }
  }
  return pairs;
}

/** Accepted by all six providers. */
const ACCEPTED_ID = /^[A-Za-z0-9_-]{1,64}$/;
const SHORT_ID = /^[A-Za-z0-9]{9}$/;

/**
 * The call ids for requests. Recorded ids may come from another provider or occur twice; every API requires them to be
 * short, plain and unique.
 */
export class ToolCallIds {
  readonly #accepted: RegExp;
  readonly #before: ReadonlySet<string>;
  readonly #own = new Set<string>();

  constructor({ template }: Pick<Dialect, "template">, before: ReadonlySet<string> = new Set()) {
    this.#accepted = template?.hasShortIds === true ? SHORT_ID : ACCEPTED_ID;
    this.#before = before;
  }

  /** All ids so far, including earlier ones. */
  get taken(): ReadonlySet<string> {
    return new Set([...this.#before, ...this.#own]);
  }

  /** The recorded id if possible. The same calls in the same order always get the same ids. */
  next(id: string): string {
    let unique = id;
    let number = this.#before.size + this.#own.size;
    while (!this.#accepted.test(unique) || this.#before.has(unique) || this.#own.has(unique)) {
      unique = `call${String(number).padStart(5, "0")}`;
      number += 1;
    }
    this.#own.add(unique);
    return unique;
  }
}

function toTextPart({ content }: ChatResponse): TextPart {
  switch (content.type) {
    case "message":
      return { type: "text", text: content.text };
    case "reasoning":
      return { type: "reasoning", text: content.text };
    case "structured": {
      // A string is what a model wrote instead of valid JSON.
      const { data } = content;
      return { type: "text", text: typeof data === "string" ? data : JSON.stringify(data) };
    }
    default:
      return assertNever(content);
  }
}

/** Providers reject blank text, unless it carries a signature. */
function isSendable(part: TextPart, event: ProviderEvent, dialect: Dialect): boolean {
  return part.text.trim() !== "" || Object.keys(dialect.toPartOptions(event)).length > 0;
}

/** The text of an output that `toOutput` made. */
function resultText({ output }: LanguageModelV4ToolResultPart): string {
  return output.type === "text" || output.type === "error-text" ? output.value : "";
}

/** How the base64 of each type starts. A mislabelled file would fail this request and every later one. */
const FILE_STARTS: Readonly<Record<string, string>> = {
  "image/png": "iVBORw0KGgo",
  "image/jpeg": "/9j/",
  "image/gif": "R0lGOD",
  "image/webp": "UklGR",
  "application/pdf": "JVBERi",
};

function isSendableFile({ mediaType, data }: ResultFile): boolean {
  const start = FILE_STARTS[mediaType];
  return start !== undefined && data.startsWith(start) && base64Size(data) !== undefined;
}

/** An error is text only: APIs do not support errors with files. */
function toOutput(
  response: ToolCallResponse,
  { takesResultFiles: takesFiles, takesJsonResults }: Dialect,
): LanguageModelV4ToolResultPart["output"] {
  const { content, isError, blocks = [] } = response;
  const value = takesJsonResults ? findJsonResult(response) : undefined;
  if (value !== undefined) return { type: "json", value };
  const files = filesForModel(blocks);
  const sent = takesFiles && !isError ? files.filter(isSendableFile) : [];
  const omitted = files.length - sent.length;
  const note = omitted === 0 ? "" : `\n\n[${omitted} of its files cannot be shown to you.]`;
  const text = `${content}${note}`;
  if (sent.length === 0) return { type: isError ? "error-text" : "text", value: text };
  return {
    type: "content",
    value: [
      { type: "text", text },
      ...sent.map(({ mediaType, data }) => ({
        type: "file" as const,
        mediaType,
        data: { type: "data" as const, data },
      })),
    ],
  };
}

/** Undefined if it is text, or if jp has added text to it. */
function findJsonResult({ content, isError, isJson, added }: ToolCallResponse) {
  const isWhole = isJson === true && !isError && added === undefined;
  const value = isWhole ? findJson(content) : undefined;
  return isJsonObject(value) || isJsonArray(value) ? (value as JSONValue) : undefined;
}
