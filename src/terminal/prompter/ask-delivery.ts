/** Asks whether the model may see what a tool gave. */
import type { DeliveryRequest, DeliveryResult } from "../../agent/index.ts";
import { oneLine } from "../../render/index.ts";
import { assertNever } from "../../util/index.ts";
import type { Dialogue } from "./dialogue.ts";
import { enterText } from "./enter-text.ts";
import { closedHelp, keyMenu } from "./key-menu.ts";

const CHOICES = {
  y: "deliver the result as it is",
  n: "withhold it",
  e: "edit it, then deliver it",
  p: "print it, and ask again",
};

/** Undefined: ask again. */
type Decision = { readonly result: DeliveryResult; readonly said: string } | undefined;

const CANCELLED: Decision = { result: { type: "cancelled" }, said: "cancelled" };
const AS_IT_IS: Decision = { result: { type: "deliver" }, said: "yes" };

export async function askDelivery(
  request: DeliveryRequest,
  dialogue: Dialogue,
): Promise<DeliveryResult> {
  const message = oneLine(`Deliver ${request.tool} result to assistant?`);
  await dialogue.start();
  dialogue.notify(message);
  let decision = request.isEditing ? await edit(request, dialogue) : undefined;
  while (decision === undefined) decision = await decide(message, request, dialogue);
  const { result, said } = decision;
  dialogue.printClosed({ message, said, isCancelled: result.type === "cancelled" });
  return result;
}

async function decide(
  message: string,
  request: DeliveryRequest,
  dialogue: Dialogue,
): Promise<Decision> {
  const menu = { message, choices: CHOICES, default: "y", escape: "cancel" } as const;
  const { ending } = await dialogue.show((asides) => keyMenu(menu, asides), closedHelp);
  if (ending.type !== "chosen") return CANCELLED;
  switch (ending.choice) {
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
      return assertNever(ending.choice);
  }
}

/** What is emptied, left as it is or given up is delivered as it was. */
async function edit({ content }: DeliveryRequest, dialogue: Dialogue): Promise<Decision> {
  const entered = await enterText({ message: "Edit the result:", text: content }, dialogue);
  if (entered.type === "aborted") return CANCELLED;
  if (entered.type === "cancelled" || entered.text.trim() === "" || entered.text === content) {
    return AS_IT_IS;
  }
  return { result: { type: "deliver", content: entered.text }, said: "yes, edited" };
}
