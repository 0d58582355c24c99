/**
 * Who answers a question: the contract of this program, in one function without side effects. The
 * request is on record before it is called; what comes of it is checked and recorded after.
 */
import type { QuestionTarget, ToolSettings } from "../config/index.ts";
import type { InquiryId, KnownCancellationReason } from "../conversation/index.ts";
import { answerFits, type Question, withoutOther } from "../tool/index.ts";
import type { Json } from "../util/index.ts";
import { configuredMisfit, needsHuman, nobodyThere } from "./model-texts.ts";
import type { RememberedAnswer } from "./state.ts";

export interface RouteInput {
  /** With what config says of it. */
  readonly question: Question;
  /** It is words for a model: no person is asked, and `detached` has no say. */
  readonly isPrompt?: boolean;
  /** Of the tool that asks. */
  readonly settings: Pick<ToolSettings, "name" | "questions" | "detached">;
  /** What a person said earlier in the turn, for the turn. */
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
      /** What the model is told of the call, which ends here. */
      readonly message: string;
    };

/** As the config has it for all questions. */
const INQUIRY_MODEL: AssistantTarget = { type: "assistant", assistant: {} };

export function decideRoute(input: RouteInput): Route {
  const { question, isPrompt = false, settings, remembered, canAsk } = input;
  const { name: tool } = settings;
  const { answer: configured, target = { type: "user" } } =
    settings.questions.get(question.id) ?? {};
  const isSecret = question.answerType.type === "secret";
  const isForPerson = isSecret || question.exclusive;

  const mayReuse = !isSecret && question.persistence === "turn";
  if (mayReuse && remembered !== undefined && answerFits(question.answerType, remembered.answer)) {
    return { type: "remembered", ...remembered };
  }
  if (configured !== undefined) {
    return useConfigured(tool, question, configured.value as Json); // From a config file: JSON.
  }
  if (isForPerson && (isPrompt || target.type === "assistant")) {
    return { type: "refused", reason: "assistant_routing_denied", message: needsHuman(tool) };
  }
  if (target.type === "assistant") return { type: "model", target };
  if (isPrompt) return { type: "model", target: INQUIRY_MODEL };
  if (canAsk) return { type: "person" };
  if (isForPerson) return refuseNobodyThere(tool);
  return routeDetached(question, settings);
}

/** The question as config lets it be asked: config has the last word on who may answer. */
export function withConfiguredExclusive(
  question: Question,
  { questions }: Pick<ToolSettings, "questions">,
): Question {
  const { exclusive = question.exclusive } = questions.get(question.id) ?? {};
  return exclusive === question.exclusive ? question : { ...question, exclusive };
}

/** For a person, and there is none. */
function routeDetached(question: Question, settings: RouteInput["settings"]): Route {
  const mode = settings.detached.tool;
  if (mode === "auto") return { type: "model", target: INQUIRY_MODEL };
  const { default: suggested } = question;
  const isUsable =
    suggested !== undefined && answerFits(withoutOther(question.answerType), suggested);
  if (mode === "defaults" && isUsable) return { type: "default", answer: suggested };
  return refuseNobodyThere(settings.name);
}

function useConfigured(tool: string, question: Question, answer: Json): Route {
  const key = `conversation.tools.${tool}.questions.${question.id}.answer`;
  if (answerFits(withoutOther(question.answerType), answer))
    return { type: "configured", answer, key };
  const message = configuredMisfit(tool, key);
  return { type: "refused", reason: "invalid_static_answer", message };
}

function refuseNobodyThere(tool: string): Route {
  return { type: "refused", reason: "no_prompt_backend", message: nobodyThere(tool) };
}
