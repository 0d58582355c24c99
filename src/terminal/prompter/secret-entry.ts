/** A question whose answer is not shown, not even how long it is. */
import { type Aside, type Asides, findAside, footRows } from "./aside.ts";
import type { Entered } from "./dialogue.ts";
import { questionRows } from "./question-line.ts";
import { bufferOf, editBuffer, type TextBuffer } from "./text-buffer.ts";
import type { Key } from "./key.ts";
import { type Canvas, end, type Frame, type Step, wait, type Widget } from "./widget.ts";

export interface SecretEntry {
  readonly message: string;
}

export type SecretEnding = Entered | Aside | { readonly type: "cancelled" };

export function secretEntry(entry: SecretEntry, asides: Asides): Widget<TextBuffer, SecretEnding> {
  return {
    update: (buffer, key) => updateSecret(asides, buffer, key),
    view: (_buffer, canvas) => viewSecret(entry, asides, canvas),
  };
}

function updateSecret(
  asides: Asides,
  buffer: TextBuffer,
  key: Key,
): Step<TextBuffer, SecretEnding> {
  if (key.type === "paste") {
    // What is copied from a file ends with a line break that is no part of it.
    const text = key.text.replace(/\n+$/, "");
    return wait(editBuffer(buffer, { type: "paste", text }) ?? buffer);
  }
  const aside = findAside(asides, key);
  if (aside !== undefined) return end(aside);
  switch (key.type === "named" ? key.name : undefined) {
    case "enter":
    case "new-line":
      return end({ type: "entered", text: buffer.text });
    case "ctrl-d":
      if (buffer.text === "") return end({ type: "cancelled" });
      break;
    default:
  }
  return wait(editBuffer(buffer, key) ?? buffer);
}

function viewSecret({ message }: SecretEntry, asides: Asides, canvas: Canvas): Frame {
  const foot = footRows(
    asides,
    { own: ["nothing is shown of what you type", "Enter sends"] },
    canvas,
  );
  const room = { ...canvas, rows: canvas.rows - foot.length };
  const { rows, cursor, isCut } = questionRows({ message }, bufferOf(""), room);
  return { rows: [...rows, ...foot], cursor, isCut };
}
