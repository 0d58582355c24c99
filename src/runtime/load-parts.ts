/** Loads the parts of jp that a turn may need after it has waited for the model, a person or a tool. */
import type { PartialConfig } from "../config/index.ts";
import { hasTemplate, preloadDiff, preloadTemplates, preloadValidator } from "../executor/index.ts";
import { preloadSecrets } from "../storage/index.ts";

/**
 * To be called once a request has left, so that the start is not slower for it. An upgrade may replace jp's files while a
 * turn waits; what is loaded by then still works. Never throws: whatever needs a part that is missing says so.
 */
export async function loadTurnParts({ conversation }: PartialConfig): Promise<void> {
  const isTemplated = hasTemplate(JSON.stringify(conversation?.tools ?? {}));
  await Promise.allSettled([
    preloadValidator(),
    preloadDiff(),
    preloadSecrets(),
    ...(isTemplated ? [preloadTemplates()] : []),
  ]);
}
