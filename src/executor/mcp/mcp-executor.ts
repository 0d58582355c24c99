/**
 * Runs a tool on its server. A question of the server ends the attempt but not the call: the next
 * attempt continues it. The tool is the one who asks, whatever the server says.
 */
import type {
  InputRequest,
  McpServer,
  RemoteTool,
  ServerCall,
  UnscopedQuestion,
} from "../../mcp/index.ts";
import { type Question, textQuestion } from "../../tool/index.ts";
import { messageOf } from "../../util/index.ts";
import type {
  AttemptRequest,
  AttemptResult,
  Executor,
  NeedsInput,
  QuestionRefusal,
  RefusedQuestions,
} from "../port.ts";
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
  /** The one in the config, under which the model knows the tool. */
  readonly name: string;
  readonly timeoutMs?: number;
}

/** A call in progress, and what was asked last. */
interface CallState {
  readonly call: ServerCall;
  asked?: { readonly round: QuestionRound; readonly closed?: AbortSignal };
}

/** Cancels calls whose caller neither continues nor gives up. */
const abandoned = new FinalizationRegistry<ServerCall>((call) => call.cancel("cancel"));

export function createMcpExecutor(options: McpExecutorOptions): Executor {
  const { server, tool, name, timeoutMs } = options;
  const states = new WeakMap<object, CallState>();
  const begin = ({ call: token, arguments: given }: AttemptRequest): CallState => {
    const limit = timeoutMs === undefined ? {} : { timeoutMs };
    const state: CallState = { call: server.call({ tool, name, arguments: given, ...limit }) };
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
        state.call.cancel("cancel"); // A bug in jp.
        return { type: "error", content: messageOf(error) };
      }
    },
  };
}

/** Throws the signal's reason. */
async function runAttempt(
  { server, tool, name }: McpExecutorOptions,
  state: CallState,
  { signal, onProgress, ...given }: AttemptRequest,
): Promise<AttemptResult> {
  const { call, asked } = state;
  if (asked !== undefined && asked.closed?.aborted !== true && !signal.aborted) {
    const filled = await fillRound(asked.round, given);
    if (filled.type === "incomplete") return needsInput(name, state, filled.questions);
    call.answer(filled.responses);
  }
  delete state.asked;
  const step = await call.next({ signal, ...(onProgress !== undefined && { onProgress }) });
  if (step.type !== "asks") return step;
  const round = createRound(step, {
    server: server.name,
    allowsSecrets: server.allowsSecrets,
    allowsSampling: server.allowsSampling,
  });
  if (round.type === "refused") {
    const questions = toRecordedQuestions(server.name, step.requests);
    return { ...needsInput(name, state, questions), refusal: toRefusal(server, tool, round) };
  }
  state.asked = { round, ...(step.closed !== undefined && { closed: step.closed }) };
  return needsInput(name, state, questionsOf(round));
}

function needsInput(
  name: string,
  { call, asked }: CallState,
  [question, ...more]: readonly Question[],
): NeedsInput {
  if (question === undefined) throw new Error("the round has no questions");
  const prompts = asked === undefined ? new Map<string, never>() : promptsOf(asked.round);
  return {
    type: "needs_input",
    question,
    ...(more.length > 0 && { more }),
    source: sourceOf(name),
    ...(prompts.size > 0 && { prompts }),
    ...(asked?.closed !== undefined && { closed: asked.closed }),
    onUnanswered: (reason) => call.cancel(reason === "cancelled" ? "cancel" : "decline"),
  };
}

function toRefusal(server: McpServer, tool: RemoteTool, { reason, key }: Refusal): QuestionRefusal {
  const content =
    `The MCP server "${server.name}" did not run "${tool.name}": it asked ${reason}, which was ` +
    "declined. Do not retry this tool call in this turn.";
  const hint =
    key === undefined
      ? ""
      : ` The user can allow it with providers.mcp.${server.name}.${key} = true.`;
  return { reason: "no_prompt_backend", content: content + hint };
}

/** For the record: the tool is the one who asks if its call is known, otherwise the server is. */
export function toRefusedQuestions({ server, tool, request }: UnscopedQuestion): RefusedQuestions {
  return {
    source: sourceOf(tool ?? `mcp.${server}`),
    questions: toRecordedQuestions(server, [request]),
    reason: tool === undefined ? "no_prompt_backend" : "interrupted",
  };
}

function sourceOf(name: string): RefusedQuestions["source"] {
  return { source: "tool", name };
}

/** The questions as they would have been asked, one for each field of a form. */
function toRecordedQuestions(
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
