/**
 * Asks you before a change, and applies your answer only to the change you were shown. A tool runs again with the answer,
 * perhaps in another process: if the file or the change is different by then, it asks again.
 */
import path from "node:path";
import { booleanQuestion, type QuestionOptions, type ToolContext } from "../../../tool/index.ts";
import { canonicalJson, type Json, sha256 } from "../../../util/index.ts";
import type { FileTarget } from "../../../files/index.ts";

interface ConsentRequest {
  readonly target: FileTarget;
  /** The content that the file has now, or a description of it; undefined if there is no file. */
  readonly before: Buffer | Json | undefined;
  /** The content that it would have; undefined if it would be gone. */
  readonly after: Buffer | undefined;
  readonly question: Omit<QuestionOptions<boolean>, "exclusive" | "allowsNote" | "binding"> & {
    readonly id: string;
    readonly text: string;
  };
}

/** False if the answer is no. */
export async function askConsent(
  context: ToolContext,
  { target, before, after, question }: ConsentRequest,
): Promise<boolean> {
  const { id, text, ...options } = question;
  const file = path.join(target.folder, ...target.newFolders, target.name);
  const binding = sha256(canonicalJson([file, digestOf(before), digestOf(after)]));
  // Exclusive: the model that wants the change may not approve it, unless config allows that.
  return context.ask(
    booleanQuestion(id, text, { ...options, exclusive: true, allowsNote: true, binding }),
  );
}

function digestOf(content: Buffer | Json | undefined): Json {
  if (content === undefined) return "absent";
  return Buffer.isBuffer(content) ? { sha256: sha256(content) } : content;
}

/** Adds what the user said about the change, for the model: why they declined it, for example. */
export function withNote(result: string, { notes }: ToolContext): string {
  return [result, ...Object.values(notes).map((note) => `The user's note: ${note}`)].join(" ");
}
