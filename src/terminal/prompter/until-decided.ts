/** A matter that is asked about until it is decided, and the line that stays of it. */
import type { Dialogue } from "./dialogue.ts";

/** What becomes of the matter, and how the line that stays says it. Undefined: ask again. */
export type Decision<Result> = { readonly result: Result; readonly said: string } | undefined;

export interface Matter<Result> {
  readonly message: string;
  /** What is decided about, above the question. Any text. */
  readonly context: string;
  /** Comes before everything else. */
  readonly first?: () => Promise<Decision<Result>>;
  readonly decide: () => Promise<Decision<Result>>;
}

export async function untilDecided<Result extends { readonly type: string }>(
  { message, context, first, decide }: Matter<Result>,
  dialogue: Dialogue,
): Promise<Result> {
  await dialogue.start();
  dialogue.notify(message);
  let decision = await first?.();
  if (decision === undefined && context.trim() !== "") dialogue.printContext(context);
  while (decision === undefined) decision = await decide();
  const { result, said } = decision;
  const isCancelled = result.type === "cancelled" || result.type === "interrupted";
  dialogue.printClosed({ message, said, isCancelled });
  return result;
}
