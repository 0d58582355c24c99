/** What a server wants a model to go on with: `sampling/createMessage`, in both generations. */
import type { ModelPrompt, PromptMessage } from "../tool/index.ts";
import {
  arrayField,
  fieldPath,
  integerField,
  isJsonObject,
  oneOf,
  optionalString,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../util/index.ts";

/** The name of the request, in both generations. */
export const SAMPLING = "sampling/createMessage";

export type SamplingResponse = {
  readonly role: "assistant";
  readonly content: { readonly type: "text"; readonly text: string };
  readonly model: string;
  readonly stopReason: "endTurn" | "maxTokens";
};

/** All of it is recorded. */
const MOST_CHARACTERS = 100_000;

/**
 * Throws `ShapeError` for what is not offered. What it wishes for besides (context, a temperature,
 * another model) is left out, as the protocol allows.
 */
export function parseSampling(params: unknown): ModelPrompt {
  const shape = shapeOf(params);
  for (const key of ["tools", "toolChoice"]) {
    if (shape.value[key] !== undefined) throw new ShapeError(key, "no tools are offered");
  }
  const systemPrompt = optionalString(shape, "systemPrompt");
  const messages = arrayField(shape, "messages").flatMap((message, index) =>
    parseMessage(shapeOf(message, `messages.${index}`)),
  );
  if (messages[0]?.role !== "user" || messages.at(-1)?.role !== "user") {
    throw new ShapeError("messages", "the first and the last have to be the user's");
  }
  const maxTokens = integerField(shape, "maxTokens");
  if (maxTokens < 1) throw new ShapeError("maxTokens", "less than one");
  const prompt = { ...(systemPrompt !== undefined && { systemPrompt }), messages, maxTokens };
  if (JSON.stringify(prompt).length > MOST_CHARACTERS) {
    throw new ShapeError("", `more than ${MOST_CHARACTERS} characters`);
  }
  return prompt;
}

/** The newer protocol may have several blocks in one message. */
function parseMessage(message: Shape): readonly PromptMessage[] {
  const role = oneOf(message, "role", ["user", "assistant"]);
  const { content } = message.value;
  const blocks = Array.isArray(content) ? content : [content];
  return blocks.map((block) => ({ role, text: parseText(message, block) }));
}

function parseText(message: Shape, block: unknown): string {
  const path = fieldPath(message, "content");
  const { type } = isJsonObject(block) ? block : {};
  if (typeof type === "string" && type !== "text") {
    throw new ShapeError(path, `${JSON.stringify(type)} is not offered, only text is`);
  }
  return stringField(shapeOf(block, path), "text");
}
