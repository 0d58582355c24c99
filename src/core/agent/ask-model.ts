/** Asks a model for the answer to a question, and checks the reply. */
import {
  addUsage,
  type ConversationStream,
  type Decider,
  type InquiryId,
  type InquiryOutcome,
  isReported,
  loadVisible,
  timestampFromDate,
  type TokenUsage,
  type Usage,
  visibleOf,
} from "../../record/conversation/index.ts";
import type { ModelReply } from "../../reach/executor/index.ts";
import type { InquiryAnswer } from "../answer-model/index.ts";
import {
  explainMisfit,
  type ModelPrompt,
  type Question,
  withoutOther,
} from "../../record/tool/index.ts";
import { isNotLoaded, type Json, messageOf } from "../../util/index.ts";
import type { CallableTool } from "./ports.ts";
import type { AssistantTarget } from "./route.ts";
import type { TurnContext } from "./context.ts";

/** A question for a model. */
export interface ModelQuestion {
  readonly inquiryId: InquiryId;
  readonly toolCallId: string;
  readonly tool: CallableTool;
  readonly question: Question;
  /** Shown to the model instead of the conversation. */
  readonly prompt?: ModelPrompt;
  readonly target: AssistantTarget;
  /** Whether a person is asked if the model cannot answer, or says no. */
  readonly escalates?: boolean;
  readonly signal: AbortSignal;
}

export type ModelAnswer =
  | {
      readonly type: "answered";
      readonly answer: Json;
      readonly answeredBy: Decider;
      readonly answerReason?: string;
      readonly reply?: ModelReply;
    }
  /** A person has to answer instead, and sees the model's outcome. */
  | { readonly type: "escalated"; readonly outcome: InquiryOutcome }
  /** There is no answer, or none that fits. */
  | { readonly type: "failed"; readonly problem: string }
  /** The signal was aborted. */
  | { readonly type: "cancelled" };

export async function askModel(context: TurnContext, asked: ModelQuestion): Promise<ModelAnswer> {
  const result = await askForAnswer(context, asked);
  if (asked.escalates !== true) return result;
  if (result.type === "failed") {
    const { problem } = result;
    return {
      type: "escalated",
      outcome: { outcome: "cancelled", reason: "backend_error", problem },
    };
  }
  const { answerType } = asked.question;
  const isNo =
    result.type === "answered" && answerType.type === "boolean" && result.answer === false;
  if (!isNo) return result;
  const { type: outcome, reply: _, ...said } = result;
  return { type: "escalated", outcome: { outcome, ...said } };
}

async function askForAnswer(context: TurnContext, asked: ModelQuestion): Promise<ModelAnswer> {
  const { question, prompt } = asked;
  const result = await inquire(context, asked);
  if (result.type === "cancelled") return result;
  if (result.type === "failed") return { type: "failed", problem: result.message };
  const { answer, model, reason, isCutOff = false } = result;
  const problem = explainMisfit(withoutOther(question.answerType), answer);
  if (problem !== undefined) return { type: "failed", problem };
  return {
    type: "answered",
    answer,
    answeredBy: { kind: "assistant", model },
    ...(reason !== undefined && { answerReason: reason }),
    ...(prompt !== undefined && { reply: { model, isCutOff } }),
  };
}

/** Records the cost, even on failure. Throws `write_failed`. */
async function inquire(context: TurnContext, asked: ModelQuestion): Promise<InquiryAnswer> {
  const spent = new SpentTokens();
  const answer = await inquireBackend(context, asked, spent);
  const { journal, clock } = context;
  const { inquiryId } = asked;
  const timestamp = timestampFromDate(clock.now());
  const events = spent.toEvents({ timestamp, purpose: "inquiry", inquiryId });
  if (events.length > 0) await journal.record(...events);
  return answer;
}

async function inquireBackend(
  { inquiries, journal, observer, view = (all) => all }: TurnContext,
  { inquiryId, toolCallId, tool, question, prompt, target, signal }: ModelQuestion,
  spent: SpentTokens,
): Promise<InquiryAnswer> {
  const { name } = tool.settings;
  try {
    if (prompt === undefined) await loadVisible(journal.stream);
    const { stream } = journal;
    const seen =
      prompt === undefined
        ? { stream: view(visibleOf(stream)) }
        : { stream: emptyStream(stream), prompt };
    return await inquiries.inquire({
      inquiryId,
      toolCallId,
      toolName: name,
      question,
      target,
      ...seen,
      signal,
      observe: (update) => {
        if (update.type === "asked") spent.model = update.model;
        if (update.type === "response_end") spent.add(update.usage);
        observer?.observe({ type: "inquiry_update", inquiryId, toolCallId, tool: name, update });
      },
    });
  } catch (error) {
    if (isNotLoaded(error)) throw error; // The model was not asked: the question stays open.
    // A backend must not throw. If it does anyway, the recorded question still needs an end.
    return { type: "failed", kind: "other", message: messageOf(error) };
  }
}

/** The cost of the requests for one purpose so far. */
export class SpentTokens {
  /** `provider/name`. */
  model = "";
  #usage: Usage = {};
  #requests = 0;

  add(usage: Usage): void {
    this.#usage = addUsage(this.#usage, usage);
    this.#requests += 1;
  }

  /** One event, or none if the provider has reported nothing. */
  toEvents(of: Pick<TokenUsage, "timestamp" | "purpose" | "inquiryId">): readonly TokenUsage[] {
    const [requests, usage] = [this.#requests, this.#usage];
    if (!isReported(usage)) return [];
    const several = requests > 1 && { requests };
    return [{ type: "token_usage", ...of, model: this.model, ...several, usage }];
  }
}

/** Keeps the conversation from a model that must not see it. */
function emptyStream({ createdAt }: ConversationStream): ConversationStream {
  return { createdAt, baseConfig: {}, entries: [] };
}
