/** `jp query --show-prompt`: prints the request that the message would lead to. Sends and records nothing. */
import type { Assistant, Toolbox, Turn } from "../../../agent/index.ts";
import {
  type Attachment,
  eventToPlainJson,
  type ProviderEvent,
} from "../../../conversation/index.ts";
import type { Model, ModelEvent, ModelRequest } from "../../../provider/index.ts";
import { jsonLine, neutralize } from "../../../render/index.ts";
import { createTurn, type Surroundings } from "../../../runtime/index.ts";
import type { ConversationWriter } from "../../../storage/index.ts";
import { assertNever } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";

/** What a request is made of. */
export interface RequestParts {
  readonly assistant: Assistant;
  readonly surroundings: Surroundings;
  readonly toolbox: Toolbox;
  readonly attachments: readonly Attachment[];
}

interface ShownPrompt extends RequestParts {
  readonly model: CapturingModel;
  /** A copy in memory. */
  readonly conversation: ConversationWriter;
  readonly message: Parameters<Turn["run"]>[0];
  readonly format: "text" | "json";
}

/** Runs the turn itself, up to its first request. Starts MCP servers, because they describe their tools. */
export async function showPrompt(shown: ShownPrompt, context: CommandContext): Promise<void> {
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
export class CapturingModel implements Model {
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
      return titled("user", event.content);
    case "chat_response": {
      const { content } = event;
      const text = content.type === "structured" ? JSON.stringify(content.data) : content.text;
      return titled(content.type === "reasoning" ? "assistant, reasoning" : "assistant", text);
    }
    case "tool_call_request":
      return titled(`call of ${event.name}`, JSON.stringify(event.arguments));
    case "tool_call_response":
      return titled(event.isError ? "result, an error" : "result", event.content);
    default:
      return assertNever(event);
  }
}

function titled(title: string, text: string): string {
  return `--- ${title} ---\n${text}`;
}
