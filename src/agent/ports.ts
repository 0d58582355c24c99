/** What the agent needs of the world around it. A terminal, a test, a page and a program are equals. */
import type { InquiryQuestion } from "../tool/index.ts";
import type { Json } from "../util/index.ts";

/** Puts a question to a person. */
export interface Prompter {
  /** How the person is reached; recorded with every answer. */
  readonly channel: string;

  /** Whether anybody can be asked at the moment. Never throws. */
  canAsk(): boolean;

  /** One question at a time. Abort closes it and gives `cancelled`. Throws if it cannot be shown. */
  ask(request: PromptRequest): Promise<PromptResult>;
}

export interface PromptRequest {
  readonly question: InquiryQuestion;
  /** Who is asking, for the eye; absent where nothing is said about it. */
  readonly label?: string;
  readonly signal: AbortSignal;
}

export type PromptResult =
  /** `isRemembered`: the person wants it to hold until the turn ends. */
  | { readonly type: "answered"; readonly answer: Json; readonly isRemembered: boolean }
  /** The person did not answer, and said so. */
  | { readonly type: "cancelled" };
