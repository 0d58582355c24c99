/** Parses `sampling/createMessage` requests of a server to a model, in both generations of the protocol. */
import type { ModelPrompt, PromptMessage } from "../../record/tool/index.ts";
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
} from "../../util/index.ts";

/** The method of a server's request to a model. */
export const SAMPLING = "sampling/createMessage";

export type SamplingResponse = {
  readonly role: "assistant";
  readonly content: { readonly type: "text"; readonly text: string };
  readonly model: string;
  readonly stopReason: "endTurn" | "maxTokens";
};

/** All of it is recorded. */
const MAX_CHARACTERS = 100_000;

/**
 * Throws `ShapeError` for unsupported requests. Preferences (context, temperature, model) are ignored, as the protocol
 * allows.
 */
export function parseSampling(params: unknown): ModelPrompt {
  const shape = shapeOf(params);
  for (const key of ["tools", "toolChoice"]) {
    if (shape.value[key] !== undefined) throw new ShapeError(key, "tools are not supported");
  }
  const systemPrompt = optionalString(shape, "systemPrompt");
  const messages = arrayField(shape, "messages").flatMap((message, index) =>
    parseMessage(shapeOf(message, `messages.${index}`)),
  );
  if (messages[0]?.role !== "user" || messages.at(-1)?.role !== "user") {
    throw new ShapeError("messages", "the first and the last must be from the user");
  }
  const maxTokens = integerField(shape, "maxTokens");
  if (maxTokens < 1) throw new ShapeError("maxTokens", "less than one");
  const prompt = { ...(systemPrompt !== undefined && { systemPrompt }), messages, maxTokens };
  if (JSON.stringify(prompt).length > MAX_CHARACTERS) {
    throw new ShapeError("", `more than ${MAX_CHARACTERS} characters`);
  }
  return prompt;
}

/** The newer protocol allows several blocks in one message. */
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
    throw new ShapeError(path, `${JSON.stringify(type)} is not supported, only text is`);
  }
  return stringField(shapeOf(block, path), "text");
}
