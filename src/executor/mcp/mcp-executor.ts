/**
 * Runs a tool on its server. A question of the server ends an attempt, not the call: the call is kept
 * by its token, and the next attempt goes on with it. Who asks is the tool, whatever the server says.
 */
import type { McpServer, RemoteTool, ServerCall, StrayQuestion } from "../../mcp/index.ts";
import type { Question } from "../../tool/index.ts";
import type {
  AttemptRequest,
  AttemptResult,
  Executor,
  NeedsInput,
  QuestionRefusal,
  RefusedQuestions,
} from "../port.ts";
import { messageOf } from "../../util/index.ts";
import {
  createRound,
  fillRound,
  promptsOf,
  type QuestionRound,
  questionsOf,
  type Refusal,
} from "./question-round.ts";
import { unaskedQuestions } from "./unasked-questions.ts";

export interface McpExecutorOptions {
  readonly server: McpServer;
  readonly tool: RemoteTool;
  /** The one in the config, under which the model knows the tool. */
  readonly name: string;
  readonly timeoutMs?: number;
}

/** A call under way, and what was asked last. */
interface Entered {
  readonly call: ServerCall;
  asked?: { readonly round: QuestionRound; readonly closed?: AbortSignal };
}

/** Whoever is told of a question comes back, or says that nobody will. This is for all others. */
const forgotten = new FinalizationRegistry<ServerCall>((call) => call.cancel("cancel"));

export function createMcpExecutor(options: McpExecutorOptions): Executor {
  const { server, tool, name, timeoutMs } = options;
  const entered = new WeakMap<object, Entered>();
  const begin = ({ call: token, arguments: given }: AttemptRequest): Entered => {
    const limit = timeoutMs === undefined ? {} : { timeoutMs };
    const state: Entered = { call: server.call({ tool, name, arguments: given, ...limit }) };
    entered.set(token, state);
    forgotten.register(token, state.call);
    return state;
  };
  return {
    attempt: async (request) => {
      const state = entered.get(request.call) ?? begin(request);
      try {
        return await goOn(options, state, request);
      } catch (error) {
        if (request.signal.aborted) return { type: "cancelled" };
        state.call.cancel("cancel"); // A mistake of ours.
        return { type: "error", content: messageOf(error) };
      }
    },
  };
}

/** Throws the signal's reason. */
async function goOn(
  { server, tool, name }: McpExecutorOptions,
  state: Entered,
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
    const questions = unaskedQuestions(server.name, step.requests);
    return { ...needsInput(name, state, questions), refusal: toRefusal(server, tool, round) };
  }
  state.asked = { round, ...(step.closed !== undefined && { closed: step.closed }) };
  return needsInput(name, state, questionsOf(round));
}

function needsInput(
  name: string,
  { call, asked }: Entered,
  [question, ...more]: readonly Question[],
): NeedsInput {
  if (question === undefined) throw new Error("a round without questions");
  const prompts = asked === undefined ? new Map<string, never>() : promptsOf(asked.round);
  return {
    type: "needs_input",
    question,
    ...(more.length > 0 && { more }),
    source: askedBy(name),
    ...(prompts.size > 0 && { prompts }),
    ...(asked?.closed !== undefined && { closed: asked.closed }),
    onUnanswered: (reason) => call.cancel(reason === "cancelled" ? "cancel" : "decline"),
  };
}

function toRefusal(server: McpServer, tool: RemoteTool, { reason, key }: Refusal): QuestionRefusal {
  const content =
    `The MCP server "${server.name}" did not run "${tool.name}": it asked ${reason}. That was ` +
    "declined. Do not retry this tool call in this turn.";
  const hint =
    key === undefined ? "" : ` The user can allow it: providers.mcp.${server.name}.${key} = true.`;
  return { reason: "no_prompt_backend", content: content + hint };
}

/** A question of no call under way. Who asks is the tool, if the call is known, and else the server. */
export function toRefusedQuestions({ server, tool, request }: StrayQuestion): RefusedQuestions {
  return {
    source: askedBy(tool ?? `mcp.${server}`),
    questions: unaskedQuestions(server, [request]),
    reason: tool === undefined ? "no_prompt_backend" : "interrupted",
  };
}

function askedBy(name: string): RefusedQuestions["source"] {
  return { source: "tool", name };
}
