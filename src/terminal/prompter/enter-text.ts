/** Asks for words, here or in the person's own editor. */
import type { Dialogue } from "./dialogue.ts";
import { bufferOf } from "./text-buffer.ts";
import { textEntry } from "./text-entry.ts";
import type { Closed } from "./widget.ts";

export interface TextRequest {
  readonly message: string;
  /** What there is to change. */
  readonly text?: string;
  readonly default?: string | undefined;
  readonly problem?: string | undefined;
  /** What Escape does, where it does not cancel the question. */
  readonly escape?: string;
  /** Of the file in an editor: `.md`. */
  readonly extension?: string;
}

export type TextResult = { readonly type: "entered"; readonly text: string } | Closed;

export async function enterText(request: TextRequest, dialogue: Dialogue): Promise<TextResult> {
  const { message, default: suggested, escape, extension = ".md" } = request;
  const { hasEditor } = dialogue;
  let problem = request.problem;
  let buffer = bufferOf(request.text ?? "");
  for (;;) {
    const entry = { message, default: suggested, problem, escape, hasEditor };
    const { state, ending } = await dialogue.show((asides) => textEntry(entry, asides), buffer);
    if (ending.type !== "editor") return ending;
    const edited = await dialogue.edit(state.text, extension);
    buffer = bufferOf(edited.text);
    problem = edited.problem;
  }
}
