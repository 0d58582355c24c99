/**
 * A model on the user's machine. Its server turns a conversation into one text with the model's own chat template, which
 * may reject parts of it, and enforces a schema with a grammar that leaves no room for calls.
 */
import {
  addUsage,
  type ProviderEvent,
  timestampFromDate,
} from "../../record/conversation/index.ts";
import { findViolations } from "../json-schema/index.ts";
import { findJson, type JsonObject } from "../../util/index.ts";
import type { CallHistory, TemplateRules } from "./dialect.ts";
import type { Model, ModelEvent, ModelRequest } from "./port.ts";
import { ProviderError } from "./provider-error.ts";
import { type ModelSource, openAndStream } from "./reply.ts";

/** Remembers what the model's chat template has rejected, for later requests. */
export function createLocalModel(
  source: ModelSource,
  properties: NonNullable<Model["properties"]>,
): Model {
  const {
    dialect,
    endpoint: { id },
  } = source;
  let template: TemplateRules = { calls: "as_made", hasShortIds: false };

  async function* sendAccepted(request: ModelRequest): AsyncGenerator<ModelEvent> {
    for (;;) {
      const used = template;
      try {
        yield* openAndStream({ ...source, dialect: { ...dialect, template: used } }, request);
        return;
      } catch (error) {
        const next = nextRules(error, used);
        if (next === undefined) throw error;
        if (template !== used) continue; // A concurrent request was rejected too.
        const notice = next.calls === used.calls ? "" : NOTICES[next.calls];
        if (notice !== "") request.observe?.({ type: "notice", message: `${id}: ${notice}` });
        template = next;
      }
    }
  }

  return {
    id,
    isLocal: true,
    acceptsFile: dialect.acceptsFile,
    properties,
    stream(request) {
      const { parts, tools, toolChoice, schemaMayChange } = request;
      const isUseful = tools.some(({ isAuxiliary }) => isAuxiliary !== true);
      const canCall =
        isUseful &&
        toolChoice !== "none" &&
        schemaMayChange !== "nothing" &&
        !isCorrection(parts.events.findLast(({ type }) => type === "chat_request"));
      return parts.schema !== undefined && canCall
        ? streamDocument(sendAccepted, request, parts.schema)
        : sendAccepted(request);
    },
  };
}

/** The model has already had its chance to call tools and to answer without a grammar. */
function isCorrection(event: ProviderEvent | undefined): boolean {
  return event?.type === "chat_request" && event.correction !== undefined;
}

const NOTICES = {
  as_made: "",
  one_by_one:
    "the model's chat template takes one tool call at a time, so jp sends earlier calls one by one.",
  as_text:
    "the model's chat template does not accept this conversation as it is, so jp sends instructions, " +
    "tool calls and results as plain text.",
} as const satisfies Record<CallHistory, string>;

/** How to resend a conversation that the template has rejected. It never rejects after a reply has started. */
function nextRules(error: unknown, rules: TemplateRules): TemplateRules | undefined {
  if (!(error instanceof ProviderError) || error.kind !== "template_refused") return undefined;
  const { calls, hasShortIds } = rules;
  if (!hasShortIds && /call ids/i.test(error.message)) return { ...rules, hasShortIds: true };
  if (calls === "as_made" && /single tool-calls/i.test(error.message)) {
    return { ...rules, calls: "one_by_one" };
  }
  return calls === "as_text" ? undefined : { ...rules, calls: "as_text" };
}

type Send = (request: ModelRequest) => AsyncIterable<ModelEvent>;

/**
 * Lets the model call tools before it answers with a document. The schema is described in the prompt; only if the answer
 * does not match is it enforced, in a second request without calls.
 */
async function* streamDocument(
  send: Send,
  request: ModelRequest,
  schema: JsonObject,
): AsyncGenerator<ModelEvent> {
  const { schema: _, ...parts } = request.parts;
  const events = describeSchema(parts.events, schema);
  let text = "";
  let heldBack: ModelEvent[] = [];
  let hasCalls = false;
  for await (const event of send({ ...request, parts: { ...parts, events } })) {
    switch (event.type) {
      case "message_delta":
        text += event.text;
        heldBack.push(event);
        request.observe?.({ type: "alive", isReply: true, bytes: Buffer.byteLength(event.text) });
        break;
      case "message_end":
        heldBack.push(event);
        break;
      case "response_end": {
        const isHalf = event.reason === "length" && /^\s*[[{]/.test(text);
        const isFinal = hasCalls || isHalf || event.reason === "refused";
        if (!isFinal && !(await matches(text, schema))) {
          const asked = { ...parts, events: correct(events, text), schema };
          const second = send({ ...request, parts: asked, toolChoice: "none" });
          for await (const next of second) {
            const isEnd = next.type === "response_end";
            yield isEnd ? { ...next, usage: addUsage(event.usage, next.usage) } : next;
          }
          return;
        }
        yield* heldBack;
        yield event;
        break;
      }
      default:
        hasCalls ||= event.type === "tool_call_start" || event.type === "tool_call_request";
        yield* heldBack;
        heldBack = [];
        yield event;
    }
  }
}

async function matches(text: string, schema: JsonObject): Promise<boolean> {
  const data = findJson(text);
  return data !== undefined && (await findViolations(schema, data)).length === 0;
}

/** Goes right after the user's message: the part after it grows from request to request. */
function describeSchema(
  events: readonly ProviderEvent[],
  schema: JsonObject,
): readonly ProviderEvent[] {
  const index = events.findLastIndex(({ type }) => type === "chat_request");
  const content =
    "When you have what you need, answer with one JSON document and nothing else. It must match this " +
    `JSON Schema: ${JSON.stringify(schema)}`;
  return events.toSpliced(index + 1, 0, message(events, content));
}

function correct(events: readonly ProviderEvent[], text: string): readonly ProviderEvent[] {
  const { timestamp } = message(events, "");
  const reply = { type: "chat_response", timestamp, content: { type: "message", text } } as const;
  const request = message(events, "Now answer with the JSON document and nothing else.");
  return text.trim() === "" ? [...events, request] : [...events, reply, request];
}

/** Never recorded, so its time does not matter. */
function message(events: readonly ProviderEvent[], content: string) {
  const timestamp = events[0]?.timestamp ?? timestampFromDate(new Date(0));
  return { type: "chat_request", timestamp, content } as const;
}
