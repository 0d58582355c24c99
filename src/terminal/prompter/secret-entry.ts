/** A question whose answer is not shown, not even how long it is. */
import { hintRow, questionRows } from "./question-line.ts";
import { bufferOf, editBuffer, type TextBuffer } from "./text-buffer.ts";
import type { Key } from "./key.ts";
import {
  type Canvas,
  end,
  type Frame,
  type ReadMore,
  type Step,
  wait,
  type Widget,
} from "./widget.ts";

export interface SecretEntry {
  readonly message: string;
  /** There is more above the question than is shown. */
  readonly hasMore: boolean;
}

export type SecretEnding =
  | { readonly type: "entered"; readonly text: string }
  | ReadMore
  | { readonly type: "cancelled" };

export function secretEntry(entry: SecretEntry): Widget<TextBuffer, SecretEnding> {
  return {
    update: (buffer, key) => updateSecret(entry, buffer, key),
    view: (_buffer, canvas) => viewSecret(entry, canvas),
  };
}

function updateSecret(
  { hasMore }: SecretEntry,
  buffer: TextBuffer,
  key: Key,
): Step<TextBuffer, SecretEnding> {
  if (key.type === "paste") {
    // What is copied from a file ends with a line break that is no part of it.
    const text = key.text.replace(/\n+$/, "");
    return wait(editBuffer(buffer, { type: "paste", text }) ?? buffer);
  }
  switch (key.type === "named" ? key.name : undefined) {
    case "enter":
    case "new-line":
      return end({ type: "entered", text: buffer.text });
    case "ctrl-o":
      return hasMore ? end({ type: "read_more" }) : wait(buffer);
    case "ctrl-d":
      if (buffer.text === "") return end({ type: "cancelled" });
      break;
    default:
  }
  return wait(editBuffer(buffer, key) ?? buffer);
}

function viewSecret({ message, hasMore }: SecretEntry, canvas: Canvas): Frame {
  const { rows, cursor } = questionRows({ message }, bufferOf(""), canvas);
  const more = hasMore ? ["Ctrl-O shows all"] : [];
  const hint = hintRow(["nothing is shown of what you type", "Enter sends", ...more], canvas);
  return { rows: [...rows, hint], cursor };
}
