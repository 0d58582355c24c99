/**
 * Runs a tool on its server. A server's question ends the attempt but not the call: the next attempt continues it, if
 * need be in another process. The tool always counts as the asker, regardless of what the server claims.
 */
import type {
  Asks,
  InputRequest,
  McpServer,
  RemoteTool,
  ServerCall,
  UnscopedQuestion,
} from "../../mcp/index.ts";
import { type Question, textQuestion } from "../../../record/tool/index.ts";
import { isNotLoaded, messageOf } from "../../../util/index.ts";
import type {
  AttemptRequest,
  AttemptResult,
  Executor,
  NeedsInput,
  QuestionRefusal,
  RefusedQuestions,
} from "../port.ts";
import { decodeCallState, encodeCallState } from "./call-state.ts";
import { shortLine } from "./form-field.ts";
import {
  createRound,
  fillRound,
  promptsOf,
  type QuestionRound,
  questionsOf,
  type Refusal,
} from "./question-round.ts";

export interface McpExecutorOptions {
  readonly server: McpServer;
  readonly tool: RemoteTool;
  /** The tool's name in the config, which the model uses. */
  readonly name: string;
  /** A call that cannot be continued after a question may be repeated. */
  readonly isIdempotent: boolean;
  readonly timeoutMs?: number;
  /** Identifies the caller, if several share the server. */
  readonly caller?: object;
}

/** A call in progress, and its latest questions. */
interface CallState {
  readonly call: ServerCall;
  asked?: AskedRound;
}

interface AskedRound {
  readonly round: QuestionRound;
  /** Lets another process continue; undefined if only this one can. */
  readonly state: string | undefined;
  readonly closed?: AbortSignal;
}

/** Cancels calls that their caller has dropped without finishing. */
const abandoned = new FinalizationRegistry<ServerCall>((call) => call.cancel());

export function createMcpExecutor(options: McpExecutorOptions): Executor {
  const { server, tool, name, timeoutMs, caller } = options;
  const states = new WeakMap<object, CallState>();
  const begin = ({ call: token, arguments: given, ...request }: AttemptRequest): CallState => {
    const { idempotencyKey, toolCallId } = request;
    const call = server.call({
      tool,
      name,
      arguments: given,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(caller !== undefined && { caller }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(toolCallId !== undefined && { toolCallId }),
    });
    const state: CallState = { call };
    states.set(token, state);
    abandoned.register(token, state.call);
    return state;
  };
  return {
    attempt: async (request) => {
      const state = states.get(request.call) ?? begin(request);
      try {
        return await runAttempt(options, state, request);
      } catch (error) {
        if (request.signal.aborted) return { type: "cancelled" };
        state.call.cancel(); // A bug in jp.
        if (isNotLoaded(error)) throw error;
        return { type: "error", content: messageOf(error) };
      }
    },
  };
}

/** Throws the signal's reason. */
async function runAttempt(
  options: McpExecutorOptions,
  state: CallState,
  { signal, onProgress, ...given }: AttemptRequest,
): Promise<AttemptResult> {
  const { call } = state;
  if (given.state !== undefined && state.asked === undefined) {
    const refused = restore(options, state, given);
    if (refused !== undefined) return refused;
  }
  const { asked } = state;
  if (asked !== undefined && asked.closed?.aborted !== true && !signal.aborted) {
    const filled = await fillRound(asked.round, given);
    if (filled.type === "incomplete") return needsInput(options, state, filled.questions);
    call.answer(filled.responses);
  }
  delete state.asked;
  const step = await call.next({ signal, ...(onProgress !== undefined && { onProgress }) });
  if (step.type !== "asks") return step;
  return open(options, state, { asks: step, given }) ?? needsInput(options, state);
}

type Given = Pick<AttemptRequest, "state" | "secretAnswers">;

/** Continues a call that another process has left. Returns a result if it cannot be continued. */
function restore(
  options: McpExecutorOptions,
  state: CallState,
  given: Given,
): AttemptResult | undefined {
  const { server, tool, isIdempotent } = options;
  const owner = { server: server.name, tool: tool.name };
  const asks = decodeCallState(given.state ?? "", owner);
  if (asks.type === "invalid") {
    return isIdempotent ? undefined : { type: "error", content: cannotContinue(options, asks) };
  }
  state.call.restore(asks);
  return open(options, state, { asks, given });
}

function cannotContinue(
  { server, tool }: McpExecutorOptions,
  { problem }: { readonly problem: string },
): string {
  return (
    `The call of "${tool.name}" cannot be continued. The MCP server "${server.name}" had asked a ` +
    `question, and what was recorded with it is not valid (${shortLine(problem)}). Do not retry ` +
    "this tool call in this turn."
  );
}

/** Turns the server's questions into a round for the next attempt to answer. Returns a result if they may not be asked. */
function open(
  { server, tool, name }: McpExecutorOptions,
  state: CallState,
  { asks, given }: { readonly asks: Asks; readonly given: Given },
): NeedsInput | undefined {
  const round = createRound(asks, {
    server: server.name,
    allowsSecrets: server.allowsSecrets,
    allowsSampling: server.allowsSampling,
  });
  if (round.type === "refused") {
    const questions = toRecordedQuestions(server.name, asks.requests);
    const refusal = toRefusal(server, tool, round);
    return { ...toNeedsInput(name, state.call, questions), refusal };
  }
  // The server's state may contain secrets it was given, which must not be recorded.
  const isRecordable = given.secretAnswers.length === 0;
  const owner = { server: server.name, tool: tool.name };
  state.asked = {
    round,
    state: isRecordable ? encodeCallState(asks, owner) : undefined,
    ...(asks.closed !== undefined && { closed: asks.closed }),
  };
  return undefined;
}

/** Asks all questions of the round, or the given ones. */
function needsInput(
  { name }: McpExecutorOptions,
  { call, asked }: CallState,
  questions?: readonly Question[],
): NeedsInput {
  if (asked === undefined) throw new Error("the server has not asked");
  const { round, state, closed } = asked;
  const prompts = promptsOf(round);
  return {
    ...toNeedsInput(name, call, questions ?? questionsOf(round)),
    ...(prompts.size > 0 && { prompts }),
    ...(state === undefined ? { isBound: true } : { state }),
    ...(closed !== undefined && { closed }),
  };
}

function toNeedsInput(
  name: string,
  call: ServerCall,
  [question, ...more]: readonly Question[],
): NeedsInput {
  if (question === undefined) throw new Error("the round has no questions");
  return {
    type: "needs_input",
    question,
    ...(more.length > 0 && { more }),
    source: sourceOf(name),
    onUnanswered: () => call.cancel(),
  };
}

function toRefusal(server: McpServer, tool: RemoteTool, { reason, key }: Refusal): QuestionRefusal {
  const content =
    `The MCP server "${server.name}" did not run "${tool.name}": it asked ${reason}, which was ` +
    "refused. Do not retry this tool call in this turn.";
  const hint =
    key === undefined
      ? ""
      : ` The user can allow it with providers.mcp.${server.name}.${key} = true.`;
  return { reason: "no_prompt_backend", content: content + hint };
}

/** The questions for the record. The asker is the tool if its call is known, otherwise the server. */
export function toRefusedQuestions({ server, tool, request }: UnscopedQuestion): RefusedQuestions {
  return {
    source: sourceOf(tool ?? `mcp.${server}`),
    questions: toRecordedQuestions(server, [request]),
    reason: tool === undefined ? "no_prompt_backend" : "interrupted",
  };
}

export function sourceOf(name: string): RefusedQuestions["source"] {
  return { source: "tool", name };
}

/** One question per form field, as they would have been asked. */
export function toRecordedQuestions(
  server: string,
  requests: readonly InputRequest[],
): readonly Question[] {
  // They are not asked, so nothing needs to be refused.
  const rules = { server, allowsSecrets: true, allowsSampling: true };
  return requests.flatMap((request) => {
    const round = createRound({ type: "asks", requests: [request], isPrerequisite: false }, rules);
    return round.type === "round" ? questionsOf(round) : [INVALID_QUESTION];
  });
}

const INVALID_QUESTION = textQuestion("question", "An invalid question.", {
  persistence: "none",
});
