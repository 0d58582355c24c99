/**
 * One attempt of one tool. A tool that needs an answer says so and ends; it is entered again with the
 * same arguments and one answer more. Who answers is not decided here; who asks is, and only here.
 */
import type { InquirySource, ModelPrompt, Question } from "../tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";

/** Runs one tool. */
export interface Executor {
  /** Never throws; abort ends what the tool started and gives `cancelled`. */
  attempt(request: AttemptRequest): Promise<AttemptResult>;
}

/** One attempt of a call: its arguments, and the answers so far. */
export interface AttemptRequest {
  /** The same for all attempts of one call, and for no other: what a call has begun is kept by it. */
  readonly call: object;
  /** Validated, with defaults filled in. */
  readonly arguments: JsonObject;
  /** By question id, the latest answer to each. May hold secrets. */
  readonly answers: Readonly<Record<string, Json>>;
  /** The ids among them that were asked as `secret`: only the tool itself may come to see these. */
  readonly secretAnswers: readonly string[];
  /** What the person had to say besides, by question id. */
  readonly notes: Readonly<Record<string, string>>;
  /** How a model came to an answer to one of the `prompts`, by question id. */
  readonly replies?: Readonly<Record<string, ModelReply>>;
  readonly signal: AbortSignal;
  /** A line about what the tool is doing; never part of its result. Must not throw. */
  readonly onProgress?: (message: string) => void;
}

/** What an attempt came to. */
export type AttemptResult =
  | { readonly type: "success"; readonly content: string }
  /** `content` is what the model is told. */
  | { readonly type: "error"; readonly content: string }
  | NeedsInput
  | { readonly type: "cancelled" };

/** How a model came to its answer. */
export interface ModelReply {
  /** `provider/name` */
  readonly model: string;
  /** It reached the limit of its length. */
  readonly isCutOff: boolean;
}

/** The tool asks, and is entered again with the answer. */
export interface NeedsInput {
  readonly type: "needs_input";
  readonly question: Question;
  /** Asked together with it, as one form. */
  readonly more?: readonly Question[];
  readonly source: InquirySource;
  /**
   * By question id: those that no person is ever asked. A model goes on with these words, and sees
   * nothing else.
   */
  readonly prompts?: ReadonlyMap<string, ModelPrompt>;
  /** Nobody may be asked: the questions are recorded, and the call ends. */
  readonly refusal?: QuestionRefusal;
  /** Aborted when the tool does not want to know any more: then it is entered again as it is. */
  readonly closed?: AbortSignal;
  /** Called if there is no answer, and so no further attempt. Must not throw. */
  readonly onUnanswered?: (reason: UnansweredReason) => void;
}

/** Why nobody is asked, and what the model is told. */
export interface QuestionRefusal {
  readonly reason: "no_prompt_backend";
  readonly content: string;
}

/** Questions that nobody is asked, because no call under way has asked them. They are for the record. */
export interface RefusedQuestions {
  readonly source: Extract<InquirySource, { readonly name: string }>;
  readonly questions: readonly Question[];
  /** `interrupted`: the call that has asked them is over. */
  readonly reason: "interrupted" | "no_prompt_backend";
}

/** The person did not want to answer, or nobody was asked. */
export type UnansweredReason = "cancelled" | "refused";

/** What a model is told about a tool, and what its arguments are checked against. */
export interface ToolDescription {
  readonly name: string;
  /** Sent with every request. */
  readonly summary: string;
  /** Given when the model asks for it. */
  readonly description?: string;
  readonly examples?: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
}

/** A tool that can be called. */
export interface RunnableTool {
  readonly description: ToolDescription;
  readonly executor: Executor;
}
