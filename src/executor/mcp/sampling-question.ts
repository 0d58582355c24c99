/** What a server has for a model, as the question that is recorded for it. No person is asked. */
import { type ModelPrompt, type Question, textQuestion } from "../../tool/index.ts";

const SPEAKERS = { user: "User", assistant: "Assistant" } as const;

/** All that the model is told is in the context, for whoever reads the record. */
export function samplingQuestion(id: string, server: string, prompt: ModelPrompt): Question {
  const { systemPrompt, messages } = prompt;
  const context = [
    ...(systemPrompt === undefined ? [] : [`System:\n${systemPrompt}`]),
    ...messages.map(({ role, text }) => `${SPEAKERS[role]}:\n${text}`),
  ].join("\n\n");
  const text = `The MCP server ${server} wants a model to go on.`;
  return textQuestion(id, text, { context, persistence: "none" });
}
