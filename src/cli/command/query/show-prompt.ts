/** `jp query --show-prompt`: prints the request that the message would produce. Sends and records nothing. */
import {
  eventToPlainJson,
  fileText,
  type ProviderEvent,
  type RecordedFile,
  renderDocument,
} from "../../../record/conversation/index.ts";
import type { Model, ModelEvent, ModelRequest } from "../../../reach/provider/index.ts";
import { createTurn, openTurn, type OpenTurnOptions } from "../../../assemble/index.ts";
import type { AssistantSettings } from "../../../settings/config/index.ts";
import { assertNever, jsonLine, neutralize } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { usageError } from "../../exit-status.ts";
import { findTruster } from "../../trust.ts";
import { readMessage } from "./message.ts";
import { chooseReplay } from "./start.ts";
import type { ViewFlags } from "./view-settings.ts";

interface Preview extends Pick<ViewFlags, "format"> {
  readonly words: readonly string[];
  readonly replay: boolean | undefined;
  readonly nonInteractive: boolean;
}

/**
 * Runs the turn itself, up to its first request, on a copy of the conversation and without a model. Starts MCP
 * servers, because they describe their tools. Throws `usage` without a message.
 */
export async function showPrompt(
  context: CommandContext,
  options: OpenTurnOptions,
  { words, replay = false, nonInteractive, format }: Preview,
): Promise<void> {
  const model = new CapturingModel();
  await using ready = await openTurn(context, {
    ...options,
    storage: { ...options.storage, persist: false },
    findTruster: (config) => findTruster(context, config, { nonInteractive }),
    createModel: (settings) => model.named(settings),
    chooseStart: async ({ found }) => (replay ? chooseReplay(found) : { type: "new" }),
    readMessage: async (start, { config }) => {
      const source = { words, start, edit: false, isOptional: true, nonInteractive };
      const message = await readMessage(source, context, config);
      if (message === undefined) throw usageError("--show-prompt needs a message.");
      return message;
    },
  });
  if (ready === undefined) return;
  const { conversation, tools, attachments, assistant, surroundings } = ready;
  const { id } = model;
  const turn = createTurn({
    conversation,
    model,
    assistant,
    surroundings: await surroundings.complete,
    toolbox: tools.toolbox,
    attachments,
    allowsForeignTurn: true,
    clock: context.clock,
    isTraced: false, // No model is asked.
  });
  if (ready.message !== undefined) await turn.run(ready.message);
  if (model.request === undefined) throw new TypeError("the turn ended without a request");
  const { output } = context;
  if (format === "json") return output.print(jsonLine(toJson(id, model.request)));
  const text = toText(id, model.request);
  output.print(output.isTerminal ? neutralize(text) : text);
}

/** Captures the request, and replies nothing. */
class CapturingModel implements Model {
  id = "";
  request: ModelRequest | undefined;

  named({ model: { provider, name } }: AssistantSettings): this {
    this.id = `${provider}/${name}`;
    return this;
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

/** Text as the model gets it; for other files, a description. */
function documentText(file: RecordedFile): string {
  const { mediaType, filename: source = "attached" } = file;
  return renderDocument({ source, content: fileText(file) ?? `(a file of type ${mediaType})` });
}

function titled(title: string, text: string): string {
  return `--- ${title} ---\n${text}`;
}
