/**
 * Asks a person before a change, and holds the answer to what was shown. A call that asks is made again with
 * the answer: if the file, and so the change, is another one by then, a yes was not meant for it. What
 * was shown is known to this process only; after a restart an answer is taken as it is.
 */
import { createHash } from "node:crypto";
import { booleanQuestion, type QuestionOptions, type ToolContext } from "../../../tool/index.ts";
import type { Json } from "../../../util/index.ts";
import { changedMeanwhile } from "./file-error.ts";

export interface Consent {
  /** False if the answer is no. Throws a refusal if a yes was given to another change. */
  ask(context: ToolContext, request: ConsentRequest): Promise<boolean>;
  /** Whether the call has asked before and was not answered yet. */
  isOpen(call: ConsentRequest["call"]): boolean;
}

interface ConsentRequest {
  /** What stays the same when the call is made again. */
  readonly call: readonly [tool: string, args: Json];
  readonly shown: string;
  /** All that the change is made of. */
  readonly change: readonly (string | Buffer)[];
  readonly question: Omit<QuestionOptions, "exclusive"> & {
    readonly id: string;
    readonly text: string;
  };
}

/** Calls that were cancelled while they asked are forgotten after so many others. */
const MOST_OPEN = 100;

export function createConsent(): Consent {
  const open = new Map<string, readonly string[]>();
  const set = (key: string, changes: readonly string[]) => {
    open.delete(key);
    if (changes.length > 0) open.set(key, changes);
    const [oldest] = open.keys();
    if (open.size > MOST_OPEN && oldest !== undefined) open.delete(oldest);
  };
  return {
    isOpen: (call) => open.has(JSON.stringify(call)),
    ask: async (context, { call, shown, change, question }) => {
      const { id, text, ...options } = question;
      const key = JSON.stringify(call);
      const now = digestOf(change);
      const isYes = await context
        // The model that wants the change does not approve it, unless config lets it.
        .ask(booleanQuestion(id, text, { ...options, exclusive: true }))
        .catch((unanswered: unknown) => {
          set(key, [...(open.get(key) ?? []), now]);
          throw unanswered;
        });
      // Equal calls may be open at the same time: each answer stands for one of them.
      const changes = open.get(key) ?? [];
      const then = changes.includes(now) ? now : changes.at(-1);
      set(key, withoutOne(changes, then));
      if (isYes && then !== undefined && then !== now) throw changedMeanwhile(shown);
      return isYes;
    },
  };
}

function withoutOne(list: readonly string[], item: string | undefined): readonly string[] {
  return item === undefined ? list : list.toSpliced(list.lastIndexOf(item), 1);
}

function digestOf(change: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of change) hash.update(`${part.length}\n`).update(part);
  return hash.digest("base64");
}
