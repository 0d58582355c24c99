/** A text in the person's own editor, while the terminal is nobody's. */
import { neutralize } from "../../render/index.ts";
import { isCodedError } from "../../util/index.ts";
import type { EditText } from "./dialogue.ts";

export interface Editing {
  readonly editText: EditText | undefined;
  readonly extension: string;
  readonly signal: AbortSignal;
}

export interface Edited {
  /** Changed or not. */
  readonly text: string;
  /** What went wrong; harmless. */
  readonly problem?: string;
}

/** Never throws. */
export async function editElsewhere(
  text: string,
  { editText, extension, signal }: Editing,
): Promise<Edited> {
  try {
    const edited = await editText?.(text, { extension, signal });
    if (edited === undefined) return { text };
    // Editors end the last line, too.
    return { text: text.endsWith("\n") ? edited : edited.replace(/\r?\n$/, "") };
  } catch (error) {
    return { text, problem: neutralize(describeError(error)) };
  }
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isCodedError(error) && error.hint !== undefined
    ? `${error.message}\n${error.hint}`
    : error.message;
}
