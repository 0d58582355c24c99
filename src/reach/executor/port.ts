/**
 * The executor port: one attempt to run one tool. A tool that needs an answer ends its attempt with a question, and runs
 * again with the same arguments and the answer. The executor says who is asking; the agent decides who answers.
 */
import type { ToolEffect } from "../../settings/config/index.ts";
import type {
  ContentBlock,
  InquirySource,
  ModelPrompt,
  Question,
  RunStep,
  ToolSource,
} from "../../record/tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";

/** Runs one tool. */
export interface Executor {
  /** Never throws. On abort, stops everything the tool started and resolves to `cancelled`. */
  attempt(request: AttemptRequest): Promise<AttemptResult>;
  /**
   * Finds out how an interrupted call ended, without doing its work. Never throws. Absent if the tool does not support
   * it.
   */
  check?(request: CheckRequest): Promise<CheckResult>;
}

/** A call that was interrupted while running, with the arguments it ran with. */
export type CheckRequest = Pick<
  AttemptRequest,
  "toolCallId" | "arguments" | "signal" | "onProgress" | "idempotencyKey"
>;

/** The state of the call. `failed` and `timed_out`: the check itself went wrong, so the state stays unknown. */
export type CheckResult =
  | ({ readonly type: "done"; readonly isError: boolean } & ResultContent)
  | { readonly type: "not_done" | "unknown" | "failed" | "timed_out" };

/** One attempt of a call: its arguments and the answers so far. */
export interface AttemptRequest {
  /** Identifies the call across its attempts, for executors that keep state between them. */
  readonly call: object;
  /** The id that the model gave the call. */
  readonly toolCallId?: string;
  /** Validated, with defaults filled in. */
  readonly arguments: JsonObject;
  /** The latest answer to each question, by question id. May contain secrets. */
  readonly answers: Readonly<Record<string, Json>>;
  /** The ids of answers that only the tool itself may see. */
  readonly secretAnswers: readonly string[];
  /** Notes you added to answers, by question id. */
  readonly notes: Readonly<Record<string, string>>;
  /** The bindings of the answered questions, by question id. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** The ids of answers given by a person rather than config, a rule, a default or a model. */
  readonly personAnswers?: readonly string[];
  /** How a model answered one of the `prompts`, by question id. */
  readonly replies?: Readonly<Record<string, ModelReply>>;
  /** The state that the tool returned with its questions, if another process asked them. */
  readonly state?: string;
  readonly signal: AbortSignal;
  /** Reports progress, one line at a time; not part of the result. Must not throw. */
  readonly onProgress?: (message: string) => void;
  /** Unique per call and the same in every attempt, so that a service can ignore a repeated request. */
  readonly idempotencyKey?: string;
  /** Runs a step of a tool in this process, unless an earlier attempt has completed it. */
  readonly runStep?: RunStep;
  /** Another machine may run the next attempt: see `ConversationWriter.isShared`. */
  readonly isShared?: boolean;
}

/** The result of an attempt. */
export type AttemptResult =
  | ({ readonly type: "success" } & ResultContent)
  | ({ readonly type: "error" } & ResultContent)
  | NeedsInput
  | { readonly type: "cancelled" };

/** The content that a tool returned. */
export interface ResultContent {
  /** The text for the model. */
  readonly content: string;
  /** Set if there is more than text. */
  readonly blocks?: readonly ContentBlock[];
  /** The tool returned an object or a list, and `content` is its JSON. */
  readonly isJson?: boolean;
}

/** Details of an answer that a model gave. */
export interface ModelReply {
  /** `provider/name` */
  readonly model: string;
  /** The reply reached its length limit. */
  readonly isCutOff: boolean;
}

/** The tool asks questions, and runs again with the answers. */
export interface NeedsInput {
  readonly type: "needs_input";
  readonly question: Question;
  /** Asked together with `question`, as one form. */
  readonly more?: readonly Question[];
  readonly source: InquirySource;
  /** Prompts by question id: these questions go to a model, with this prompt alone, and never to a person. */
  readonly prompts?: ReadonlyMap<string, ModelPrompt>;
  /** The state that the tool needs back with the answers, if another process continues. */
  readonly state?: string;
  /** No other process can continue: only this one can use the answers. */
  readonly isBound?: boolean;
  /** Set if the questions may not be asked: they are recorded, and the call ends. */
  readonly refusal?: QuestionRefusal;
  /** Aborted when the tool withdraws the questions: it then runs again without the answers. */
  readonly closed?: AbortSignal;
  /** Called if there is no answer, and therefore no further attempt. Must not throw. */
  readonly onUnanswered?: () => void;
}

/** Why the questions may not be asked. */
export interface QuestionRefusal {
  readonly reason: "no_prompt_backend";
  /** The text for the model. */
  readonly content: string;
}

/** Questions outside any running call. They are recorded, not asked. */
export interface RefusedQuestions {
  readonly source: Extract<InquirySource, { readonly name: string }>;
  readonly questions: readonly Question[];
  /** `interrupted`: the call that asked them has ended. */
  readonly reason: "interrupted" | "no_prompt_backend";
}

/**
 * Questions of a server that any of several calls may have asked. They are asked as the server's: answers reach the
 * server, and no call.
 */
export interface ServerQuestions {
  /** The server's name in the config. */
  readonly server: string;
  readonly source: Extract<InquirySource, { readonly name: string }>;
  /** The calls in progress. */
  readonly calls: readonly { readonly name: string; readonly toolCallId?: string }[];
  readonly describeSource: () => Promise<ToolSource>;
  /** The first questions. */
  readonly needs: NeedsInput;
  /** Aborted when the server withdraws them, and when all the calls have ended. */
  readonly closed: AbortSignal;
  /** Sends the answers to the server. Returns what has to be asked again instead, if some do not fit. */
  answer(
    given: Pick<AttemptRequest, "answers" | "personAnswers" | "replies">,
  ): Promise<NeedsInput | undefined>;
  /** Tells the server that there is no answer. */
  cancel(): void;
}

/** Describes a tool to a model. Arguments are checked against its parameters. */
export interface ToolDescription {
  readonly name: string;
  /** Sent with every request. */
  readonly summary: string;
  /** `describe_tools` is offered too, and gives the model details on request. */
  readonly hasDetails?: boolean;
  /** Sent on request. */
  readonly description?: string;
  readonly examples?: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
  /** Useless to a model that only has to return JSON. */
  readonly isAuxiliary?: boolean;
}

/** The audience of a source description. */
export interface DescribeOptions {
  /**
   * Describe it for other machines too: see `ToolSource.isPortable`. Otherwise only for this one, where files have real
   * paths.
   */
  readonly isShared?: boolean | undefined;
}

/** A tool that is ready to run. */
export interface RunnableTool {
  readonly description: ToolDescription;
  readonly executor: Executor;
  /**
   * Describes where the tool comes from and what a call with these arguments would run right now: reads files again each
   * time. Never throws: unreadable files are described as such.
   */
  readonly describeSource: (args: JsonObject, options?: DescribeOptions) => Promise<ToolSource>;
  /** Running it twice does no harm, according to the tool itself. The config may override this. */
  readonly isIdempotent?: boolean;
  /** The ids of all questions that it asks, if it declares them. */
  readonly questionIds?: readonly string[];
  /** The tool's effect, as far as jp or the user knows. From an MCP server, only `destroys` is trusted. */
  readonly effect?: ToolEffect;
  /** Its MCP server says that it only reads. Decides only about the order of calls. */
  readonly isReadOnly?: boolean;
  /** Arguments that rules can treat as more than text, keyed by JSON Pointer without list indexes. */
  readonly argumentKinds?: ArgumentKinds;
}

/**
 * `path`: a file or folder, relative to the workspace. `command`: a shell command line. `input`: the standard input of
 * such a line, which it may well run. `url`: a URL, whose parts can be named.
 */
export type ArgumentKind = "path" | "command" | "input" | "url";

export type ArgumentKinds = Readonly<Record<string, ArgumentKind>>;
