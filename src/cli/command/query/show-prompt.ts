/** `jp query --show-prompt`: prints the request that the message would lead to. Sends and records nothing. */
import type { TurnMessage } from "../../../agent/index.ts";
import type { PartialConfig } from "../../../config/index.ts";
import {
  eventToPlainJson,
  fileText,
  type ProviderEvent,
  type RecordedFile,
  renderDocument,
} from "../../../conversation/index.ts";
import type { Model, ModelEvent, ModelRequest } from "../../../provider/index.ts";
import { jsonLine, neutralize } from "../../../render/index.ts";
import {
  createTurn,
  openConfiguredServers,
  openTools,
  switchServerTools,
} from "../../../runtime/index.ts";
import type { Conversation, ConversationWriter } from "../../../storage/index.ts";
import { assertNever, type JsonObject } from "../../../util/index.ts";
import { type AttachmentFlags, attachmentNames, attachToTurn } from "../../attachments.ts";
import type { CommandContext } from "../../context.ts";
import { usageError } from "../../exit-status.ts";
import { type ConfigFlags, machineOf } from "../../load-config.ts";
import { type LoadedAssistant, requestParts, type RequestParts } from "./assistant.ts";
import { type ConversationFlags, openConversation } from "./conversation.ts";
import type { Message } from "./message.ts";
import { chooseReplay, replayed, type Start } from "./start.ts";

interface Preview {
  readonly context: CommandContext;
  readonly options: AttachmentFlags &
    ConversationFlags &
    Pick<ConfigFlags, "directives"> &
    Pick<Partial<ShownPrompt>, "format">;
  readonly loaded: LoadedAssistant;
  readonly schema: JsonObject | undefined;
  readonly found: Conversation | undefined;
  readonly readMessage: (start: Start, config: PartialConfig) => Promise<Message | undefined>;
}

/** On a copy of the conversation, and without a model. */
export async function previewPrompt(preview: Preview): Promise<void> {
  const { context, options, loaded, found, schema, readMessage } = preview;
  const { config, assistant } = loaded;
  const start: Start = options.replay === true ? chooseReplay(found) : { type: "new" };
  const message = await readMessage(start, config);
  if (message === undefined) throw usageError("--show-prompt needs a message.");
  const model = new CapturingModel(`${assistant.model.provider}/${assistant.model.name}`);
  await using servers = openConfiguredServers(machineOf(context), config);
  const names = attachmentNames(options, message.mentions);
  const { directives = [] } = options;
  const switched = { ...loaded, config: await switchServerTools(config, { directives, servers }) };
  const attached = await attachToTurn({ ...switched, model, servers }, names, context);
  const opened = { config, message: message.text, flags: { ...options, persist: false } };
  await using conversation = await openConversation(context, found, opened);
  await using tools = openTools(machineOf(context), switched.config, {
    conversation: conversation.id,
    servers,
  });
  const again: Omit<TurnMessage, "content"> =
    start.type === "replay" ? replayed(start.request) : {};
  await showPrompt(
    {
      ...(await requestParts({ ...attached, tools })),
      model,
      conversation,
      message: {
        ...again,
        content: message.text,
        files: [...(again.files ?? []), ...attached.files],
        ...(schema && { schema }),
      },
      format: options.format ?? "text",
    },
    context,
  );
}

interface ShownPrompt extends RequestParts {
  readonly model: CapturingModel;
  /** A copy in memory. */
  readonly conversation: ConversationWriter;
  readonly message: TurnMessage;
  readonly format: "text" | "json";
}

/** Runs the turn itself, up to its first request. Starts MCP servers, because they describe their tools. */
async function showPrompt(shown: ShownPrompt, context: CommandContext): Promise<void> {
  const { message, format, ...parts } = shown;
  const { model } = parts;
  const { id } = model;
  const turn = createTurn({ ...parts, allowsForeignTurn: true, clock: context.clock });
  await turn.run(message);
  if (model.request === undefined) throw new TypeError("the turn ended without a request");
  const { output } = context;
  if (format === "json") return output.print(jsonLine(toJson(id, model.request)));
  const text = toText(id, model.request);
  output.print(output.isTerminal ? neutralize(text) : text);
}

/** Keeps the request, and says nothing. */
class CapturingModel implements Model {
  readonly id: string;
  request: ModelRequest | undefined;

  constructor(id: string) {
    this.id = id;
  }

  async *stream(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    this.request ??= request;
    yield { type: "response_end", reason: "stop", usage: {} };
  }
}

function toJson(model: string, request: ModelRequest) {
  const { parts, tools, toolChoice, parameters } = request;
  return {
    model,
    system: parts.systemParts,
    messages: parts.events.map(eventToPlainJson),
    tools: tools.map(({ name, description, parameters: schema }) => ({
      name,
      description,
      parameters: schema,
    })),
    tool_choice: toolChoice,
    parameters,
    ...(parts.schema !== undefined && { schema: parts.schema }),
  };
}

function toText(model: string, { parts, tools }: ModelRequest): string {
  const sections = [
    `Model: ${model}`,
    ...parts.systemParts.map(({ tag, text }) => titled(`system, ${tag}`, text)),
    ...parts.events.map(eventText),
    ...(parts.schema === undefined ? [] : [titled("schema", JSON.stringify(parts.schema))]),
    ...tools.map(({ name, description, parameters }) =>
      titled(`tool ${name}`, `${description}\n${JSON.stringify(parameters)}`),
    ),
  ];
  return sections.join("\n\n");
}

function eventText(event: ProviderEvent): string {
  switch (event.type) {
    case "chat_request":
      return titled("user", [...(event.files ?? []).map(documentText), event.content].join("\n"));
    case "chat_response": {
      const { content } = event;
      const text = content.type === "structured" ? JSON.stringify(content.data) : content.text;
      return titled(content.type === "reasoning" ? "assistant, reasoning" : "assistant", text);
    }
    case "tool_call_request":
      return titled(`call to ${event.name}`, JSON.stringify(event.arguments));
    case "tool_call_response":
      return titled(event.isError ? "result (error)" : "result", event.content);
    default:
      return assertNever(event);
  }
}

/** Text as the model gets it; of other files, what they are. */
function documentText(file: RecordedFile): string {
  const { mediaType, filename: source = "attached" } = file;
  return renderDocument({ source, content: fileText(file) ?? `(a file of type ${mediaType})` });
}

function titled(title: string, text: string): string {
  return `--- ${title} ---\n${text}`;
}
