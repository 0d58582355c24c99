/** Where the models of programs are. What looks for it is loaded with the first call. */
import type { AssistantSettings } from "../config/index.ts";
import { loaderOf } from "../util/index.ts";
import type { Surroundings, SurroundingsOptions } from "./surroundings.ts";

/**
 * Looks at a folder, and says what a model should know about it. Pass the result as `surroundings` to turns. Never
 * throws: what cannot be found is left out.
 */
export async function describeSurroundings(options: SurroundingsOptions): Promise<Surroundings> {
  const { searchSurroundings } = await loadSearch();
  return searchSurroundings(options).complete;
}

const loadSearch = loaderOf(() => import("./surroundings.ts"));

/** The same assistant, told where it is. */
export function withSurroundings<Of extends Pick<AssistantSettings, "sections" | "surroundings">>(
  assistant: Of,
  surroundings: Surroundings | undefined,
): Of {
  if (surroundings === undefined) return assistant;
  const { sections, text } = surroundings;
  return {
    ...assistant,
    sections: [...assistant.sections, ...sections],
    ...(text !== undefined && { surroundings: text }),
  };
}
