/** Words that a tool has for a model, in the place of the conversation: they are all that it gets to see. */
export interface ModelPrompt {
  readonly systemPrompt?: string;
  /** The first and the last of them are the user's. */
  readonly messages: readonly PromptMessage[];
  /** The most that the model may reply, unless its own limit is lower. */
  readonly maxTokens: number;
}

/** One of them, and who says it. */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}
