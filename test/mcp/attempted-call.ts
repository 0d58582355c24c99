/** A call of a tool with one attempt after the other, as the coordinator runs it. */
import {
  type PartialToolConfig,
  resolveTools,
  type ToolSettings,
} from "../../src/settings/config/index.ts";
import type {
  AttemptResult,
  Executor,
  NeedsInput,
  RunnableTool,
} from "../../src/reach/executor/index.ts";
import { createMcpTool } from "../../src/reach/executor/mcp/create-mcp-tool.ts";
import type { McpServers } from "../../src/reach/mcp/index.ts";
import type { Question } from "../../src/record/tool/index.ts";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { never } from "./support.ts";

/** What another process has left of the call. */
interface LeftCall {
  readonly state?: string;
  readonly secretAnswers?: readonly string[];
}

export class AttemptedCall {
  readonly #executor: Executor;
  readonly #arguments: JsonObject;
  readonly #token = {};
  readonly #answers: Record<string, Json> = {};
  readonly #secretAnswers: readonly string[];
  /** For the first attempt only. */
  #state: string | undefined;

  constructor(executor: Executor, given: JsonObject = {}, left: LeftCall = {}) {
    this.#executor = executor;
    this.#arguments = given;
    this.#state = left.state;
    this.#secretAnswers = left.secretAnswers ?? [];
  }

  enter(answers: Readonly<Record<string, Json>> = {}, signal = never): Promise<AttemptResult> {
    Object.assign(this.#answers, answers);
    const state = this.#state;
    this.#state = undefined;
    return this.#executor.attempt({
      call: this.#token,
      arguments: this.#arguments,
      answers: { ...this.#answers },
      personAnswers: Object.keys(this.#answers),
      secretAnswers: this.#secretAnswers,
      notes: {},
      ...(state !== undefined && { state }),
      signal,
    });
  }

  /** The same, for an attempt that must ask. */
  async ask(answers: Readonly<Record<string, Json>> = {}, signal = never): Promise<NeedsInput> {
    const result = await this.enter(answers, signal);
    if (result.type !== "needs_input")
      throw new Error(`unexpected result ${JSON.stringify(result)}`);
    return result;
  }
}

/** All questions that are asked together. */
export function questionsOf({ question, more = [] }: NeedsInput): readonly Question[] {
  return [question, ...more];
}

/** The responses that the tool `ask` of the test server got, by round. */
export function answersOf(result: AttemptResult): unknown {
  if (result.type !== "success") throw new Error(`unexpected result ${JSON.stringify(result)}`);
  return JSON.parse(result.content);
}

export async function createTool(
  servers: McpServers,
  config: PartialToolConfig,
  name = "my_tool",
): Promise<RunnableTool> {
  const tool = await createMcpTool({ settings: settingsOf(config, name), servers, signal: never });
  if ("warning" in tool) throw tool.warning;
  return tool;
}

export function settingsOf(config: PartialToolConfig, name: string): ToolSettings {
  const settings = resolveTools({ conversation: { tools: { [name]: config } } }).get(name);
  if (settings === undefined) throw new Error("unknown tool");
  return settings;
}
