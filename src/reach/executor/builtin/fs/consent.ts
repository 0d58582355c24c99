/**
 * Asks you before a change, and applies your answer only to the change you were shown. A tool runs again with the answer,
 * perhaps in another process: if the file or the change is different by then, it asks again.
 */
import path from "node:path";
import {
  booleanQuestion,
  type QuestionChanges,
  type QuestionOptions,
  type ToolContext,
  type TypedQuestion,
} from "../../../../record/tool/index.ts";
import { canonicalJson, type Json, sha256 } from "../../../../util/index.ts";
import { type FileTarget, formatPath } from "../../../files/index.ts";

/** Covers created and changed files. Overwriting and deleting always ask. */
export const ALL_EDITS = "all edits this turn";

interface ConsentChange {
  readonly target: FileTarget;
  /** The file's current content, or a description of it; undefined if the file does not exist. */
  readonly before: Buffer | Json | undefined;
  /** The new content; undefined if the file is to be deleted. */
  readonly after: Buffer | undefined;
}

/**
 * Declares a question about a change. Exclusive: the model that wants the change may not approve it, unless config allows
 * it.
 */
export function consentQuestion<const Id extends string>(
  id: Id,
  text: string,
  options: Pick<QuestionOptions<boolean>, "default" | "persistence" | "rememberAs">,
) {
  return booleanQuestion(id, text, { ...options, exclusive: true, allowsNote: true });
}

interface ConsentRequest {
  /** One answer covers all of them together. */
  readonly changes: readonly ConsentChange[];
  /** The question and a preview of the changes. */
  readonly text: string;
  readonly context: string;
}

/** Asks a question that `consentQuestion` has declared. */
type AskConsent = (changes: QuestionChanges<TypedQuestion<boolean>>) => Promise<boolean>;

/** Returns false if the answer is no. */
export async function askConsent(
  ask: AskConsent,
  { isShared = false }: Pick<ToolContext, "isShared">,
  { changes, text, context }: ConsentRequest,
): Promise<boolean> {
  const binding = bindingOf(
    changes.map(({ target, before, after }) => [
      isShared ? target.realDisplayPath : fileOf(target),
      digestOf(before),
      digestOf(after),
    ]),
  );
  return ask({ text, context, binding });
}

/** The real path, which names the file in a binding, unless other machines must use the same name. */
export function fileOf({ folder, newFolders, name }: FileTarget): string {
  return path.join(folder, ...newFolders, name);
}

/** The binding of a change to one file, from the digests of its contents. `before` is undefined for a new file. */
export function changeBinding(change: {
  /** The real path. */
  readonly file: string;
  /** The real path of the workspace, if machines share the conversation. */
  readonly sharedRoot?: string;
  readonly before: string | undefined;
  readonly after: string;
}): string {
  const { file, sharedRoot, before, after } = change;
  const name = sharedRoot === undefined ? file : formatPath(path.relative(sharedRoot, file));
  return bindingOf([[name, before === undefined ? ABSENT : { sha256: before }, { sha256: after }]]);
}

type BoundChange = readonly [file: string, before: Json, after: Json];

function bindingOf(changes: readonly BoundChange[]): string {
  const [first = [], ...others] = changes.map((change) => [...change]);
  return sha256(canonicalJson(others.length === 0 ? first : [first, ...others]));
}

const ABSENT = "absent";

function digestOf(content: Buffer | Json | undefined): Json {
  if (content === undefined) return ABSENT;
  return Buffer.isBuffer(content) ? { sha256: sha256(content) } : content;
}

/** Adds the user's note about the change for the model, such as why they declined it. */
export function withNote(result: string, { notes }: Pick<ToolContext, "notes">): string {
  return [result, ...Object.values(notes).map((note) => `The user's note: ${note}`)].join(" ");
}
