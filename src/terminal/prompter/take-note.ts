/** A note to the answer, on the way to it. One that is given up is dropped. */
import type { Dialogue } from "./dialogue.ts";

export async function takeNote(dialogue: Pick<Dialogue, "note" | "enterText">): Promise<void> {
  const text = dialogue.note ?? "";
  dialogue.note = undefined; // There is none about the note itself.
  const entered = await dialogue.enterText({ message: "Note:", text, escape: "drops it" });
  dialogue.note = entered.type === "entered" ? entered.text.trim() : "";
}
