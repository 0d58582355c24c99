/**
 * Asks you before a change, and applies your answer only to the change you were shown. A tool runs
 * again with the answer: if the file, and so the change, is different by then, your yes does not count.
 * The changes shown are kept in memory; after a restart the answer counts as it is.
 */
import { booleanQuestion, type QuestionOptions, type ToolContext } from "../../../tool/index.ts";
import type { Json } from "../../../util/index.ts";
import { fileChangedError } from "../../../files/index.ts";

export interface Consent {
  /** False if the answer is no. Throws a `FileError` if a yes was given to another change. */
  ask(context: ToolContext, request: ConsentRequest): Promise<boolean>;
  /** Whether the call has asked and not been answered yet. */
  isPending(call: ConsentRequest["call"]): boolean;
}

interface ConsentRequest {
  /** Identifies the call: the same each time it runs. */
  readonly call: readonly [tool: string, args: Json];
  readonly displayPath: string;
  /** Everything the change depends on. */
  readonly change: readonly (string | Buffer)[];
  readonly question: Omit<QuestionOptions, "exclusive" | "allowsNote"> & {
    readonly id: string;
    readonly text: string;
  };
}

/** Drops the oldest beyond this: calls cancelled while they asked are never answered. */
const MAX_PENDING = 100;

export function createConsent(): Consent {
  /** By call: digests of the changes shown. Equal calls may be pending at the same time. */
  const pending = new Map<string, readonly string[]>();
  const set = (key: string, digests: readonly string[]) => {
    pending.delete(key);
    if (digests.length > 0) pending.set(key, digests);
    const [oldest] = pending.keys();
    if (pending.size > MAX_PENDING && oldest !== undefined) pending.delete(oldest);
  };
  return {
    isPending: (call) => pending.has(JSON.stringify(call)),
    ask: async (context, { call, displayPath, change, question }) => {
      const { id, text, ...options } = question;
      const key = JSON.stringify(call);
      const current = digestOf(change);
      const isYes = await context
        // Exclusive: the model that wants the change may not approve it, unless config allows that.
        .ask(booleanQuestion(id, text, { ...options, exclusive: true, allowsNote: true }))
        .catch((unanswered: unknown) => {
          set(key, [...(pending.get(key) ?? []), current]);
          throw unanswered;
        });
      // Each answer settles one of the equal calls.
      const digests = pending.get(key) ?? [];
      const shown = digests.includes(current) ? current : digests.at(-1);
      if (shown !== undefined) set(key, digests.toSpliced(digests.lastIndexOf(shown), 1));
      if (isYes && shown !== undefined && shown !== current) throw fileChangedError(displayPath);
      return isYes;
    },
  };
}

/** Adds what the user said about the change, for the model: why they declined it, for example. */
export function withNote(result: string, { notes }: ToolContext): string {
  return [result, ...Object.values(notes).map((note) => `The user's note: ${note}`)].join(" ");
}

function digestOf(change: readonly (string | Buffer)[]): string {
  // Not imported: it is slow to load, and most calls change nothing.
  const hash = process.getBuiltinModule("node:crypto").createHash("sha256");
  for (const part of change) hash.update(`${part.length}\n`).update(part);
  return hash.digest("base64");
}
