/**
 * Who answers a question. One pure function decides; the caller records the question before, and checks
 * and records the answer after.
 */
import type { QuestionTarget, ToolSettings } from "../config/index.ts";
import type { InquiryId, KnownCancellationReason } from "../conversation/index.ts";
import { answerFits, type Question, withoutOther } from "../tool/index.ts";
import type { Json } from "../util/index.ts";
import { configuredAnswerInvalid, needsHuman, noOneToAsk } from "./model-texts.ts";
import type { RememberedAnswer } from "./state.ts";

export interface RouteInput {
  /** With the configured `exclusive` applied. */
  readonly question: Question;
  /** A prompt for a model: no person is asked, and the `detached` settings do not apply. */
  readonly isModelPrompt?: boolean;
  /** Settings of the tool that asks. */
  readonly settings: Pick<ToolSettings, "name" | "questions" | "detached">;
  /** An answer that a person gave earlier, for the whole turn. */
  readonly remembered: RememberedAnswer | undefined;
  /** Whether a person can be asked. */
  readonly canAsk: boolean;
}

export type AssistantTarget = Extract<QuestionTarget, { type: "assistant" }>;

export type Route =
  | { readonly type: "remembered"; readonly answer: Json; readonly from: InquiryId }
  | { readonly type: "configured"; readonly answer: Json; readonly key: string }
  | { readonly type: "default"; readonly answer: Json }
  | { readonly type: "person" }
  | { readonly type: "model"; readonly target: AssistantTarget }
  | {
      readonly type: "refused";
      readonly reason: KnownCancellationReason;
      /** For the model, as the result of the call. */
      readonly message: string;
    };

/** The assistant that the config sets for all inquiries. */
const INQUIRY_MODEL: AssistantTarget = { type: "assistant", assistant: {} };

export function decideRoute(input: RouteInput): Route {
  const { question, isModelPrompt = false, settings, remembered, canAsk } = input;
  const { name: tool } = settings;
  const { answer: configured, target = { type: "user" } } =
    settings.questions.get(question.id) ?? {};
  const isSecret = question.answerType.type === "secret";
  const requiresPerson = isSecret || question.exclusive;

  const canReuse = !isSecret && question.persistence === "turn";
  if (canReuse && remembered !== undefined && answerFits(question.answerType, remembered.answer)) {
    return { type: "remembered", ...remembered };
  }
  if (configured !== undefined) {
    return useConfigured(tool, question, configured.value as Json); // From a config file: JSON.
  }
  if (requiresPerson && (isModelPrompt || target.type === "assistant")) {
    return { type: "refused", reason: "assistant_routing_denied", message: needsHuman(tool) };
  }
  if (target.type === "assistant") return { type: "model", target };
  if (isModelPrompt) return { type: "model", target: INQUIRY_MODEL };
  if (canAsk) return { type: "person" };
  return requiresPerson ? refuseDetached(tool) : routeDetached(question, settings);
}

/** Applies the config, which has the last word on who may answer. */
export function withConfiguredExclusive(
  question: Question,
  { questions }: Pick<ToolSettings, "questions">,
): Question {
  const { exclusive = question.exclusive } = questions.get(question.id) ?? {};
  return exclusive === question.exclusive ? question : { ...question, exclusive };
}

function useConfigured(tool: string, question: Question, answer: Json): Route {
  const key = `conversation.tools.${tool}.questions.${question.id}.answer`;
  if (answerFits(withoutOther(question.answerType), answer)) {
    return { type: "configured", answer, key };
  }
  const message = configuredAnswerInvalid(tool, key);
  return { type: "refused", reason: "invalid_static_answer", message };
}

/** For a question meant for a person in a non-interactive run. */
function routeDetached(question: Question, settings: RouteInput["settings"]): Route {
  const mode = settings.detached.tool;
  if (mode === "auto") return { type: "model", target: INQUIRY_MODEL };
  const { default: suggested } = question;
  const isUsable =
    suggested !== undefined && answerFits(withoutOther(question.answerType), suggested);
  if (mode === "defaults" && isUsable) return { type: "default", answer: suggested };
  return refuseDetached(settings.name);
}

function refuseDetached(tool: string): Route {
  return { type: "refused", reason: "no_prompt_backend", message: noOneToAsk(tool) };
}
