/** Asks whether the model may see what a tool gave. */
import type { DeliveryRequest, DeliveryResult } from "../../agent/index.ts";
import { oneLine } from "../../render/index.ts";
import { assertNever } from "../../util/index.ts";
import type { Dialogue } from "./dialogue.ts";
import { type Decision, untilDecided } from "./until-decided.ts";

const CHOICES = {
  y: "deliver the result as it is",
  n: "withhold it",
  e: "edit it, then deliver it",
  p: "print it, and ask again",
};

type DeliveryDecision = Decision<DeliveryResult>;

const CANCELLED: DeliveryDecision = { result: { type: "cancelled" }, said: "cancelled" };
const INTERRUPTED: DeliveryDecision = { result: { type: "interrupted" }, said: "interrupted" };
const AS_IT_IS: DeliveryDecision = { result: { type: "deliver" }, said: "yes" };

export async function askDelivery(
  request: DeliveryRequest,
  dialogue: Dialogue,
): Promise<DeliveryResult> {
  const message = oneLine(`Deliver ${request.tool} result to assistant?`);
  const matter = {
    message,
    context: request.content,
    ...(request.isEditing && { first: () => edit(request, dialogue) }),
    decide: () => decide(message, request, dialogue),
  };
  return await untilDecided(matter, dialogue);
}

async function decide(
  message: string,
  request: DeliveryRequest,
  dialogue: Dialogue,
): Promise<DeliveryDecision> {
  const menu = { message, choices: CHOICES, default: "y", escape: "cancel" } as const;
  const chosen = await dialogue.choose(menu);
  if (chosen.type === "aborted") return INTERRUPTED;
  if (chosen.type === "cancelled") return CANCELLED;
  switch (chosen.choice) {
    case "y":
      return AS_IT_IS;
    case "n":
      return { result: { type: "withhold" }, said: "no" };
    case "e":
      return await edit(request, dialogue);
    case "p":
      dialogue.print(request.content);
      return undefined;
    default:
      return assertNever(chosen.choice);
  }
}

/** What is emptied, left as it is or given up is delivered as it was. */
async function edit({ content }: DeliveryRequest, dialogue: Dialogue): Promise<DeliveryDecision> {
  const entered = await dialogue.enterText({ message: "Edit the result:", text: content });
  if (entered.type === "aborted") return INTERRUPTED;
  if (entered.type === "cancelled" || entered.text.trim() === "" || entered.text === content) {
    return AS_IT_IS;
  }
  return { result: { type: "deliver", content: entered.text }, said: "yes, edited" };
}
