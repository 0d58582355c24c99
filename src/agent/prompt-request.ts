/** What a prompter learns about each thing that it asks, and who it is that answers. */
import { type Decider, type InquiryEscalation, withEscalation } from "../conversation/index.ts";
import type { PromptBase, PromptRequest } from "./ports.ts";
import type { AskedQuestion } from "./route.ts";
import type { TurnContext } from "./state.ts";

/** The person whom the prompter asks. The result of a prompt may say who that was. */
export function personOf(
  { prompter, userName }: Pick<TurnContext, "prompter" | "userName">,
  decided: { readonly userName?: string } = {},
) {
  const name = decided.userName ?? userName;
  const named = name === undefined ? {} : { name };
  return { kind: "user", channel: prompter.channel, ...named } as const satisfies Decider;
}

/** What every request to a person has. */
export function promptBase(
  { journal, allowsLater = false }: Pick<TurnContext, "journal" | "allowsLater">,
  asked: Omit<PromptBase, "conversation" | "allowsLater" | "label">,
): PromptBase {
  const label = defaultLabel(asked);
  return { ...asked, label, conversation: journal.conversation, allowsLater };
}

/** Who asks, if the config does not say. */
export function defaultLabel({ source, tool }: Pick<PromptBase, "source" | "tool">): string {
  return source.source === "assistant" ? "assistant" : tool;
}

/** A recorded question, as a prompter shows it. */
export function questionRequest(
  context: TurnContext,
  { question, tool, source, toolCallId }: AskedQuestion,
  asked: Pick<PromptBase, "inquiryId" | "signal"> & {
    readonly escalation: InquiryEscalation | undefined;
  },
): PromptRequest {
  const { name, questions } = tool.settings;
  const { inquiryId, signal, escalation } = asked;
  const base = promptBase(context, { inquiryId, signal, toolCallId, tool: name, source });
  const { promptLabel: label = base.label } = questions.get(question.id) ?? {};
  return {
    ...base,
    label,
    question: escalation === undefined ? question : withEscalation(question, escalation),
    questionId: question.id,
    canRemember: canRemember(question),
  };
}

/** A secret is never remembered. */
export function canRemember({ persistence, answerType }: AskedQuestion["question"]): boolean {
  return persistence === "turn" && answerType.type !== "secret";
}
