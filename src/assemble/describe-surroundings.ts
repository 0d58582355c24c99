/** Describes a folder for the models of programs. The code for it is loaded on the first call. */
import { loaderOf } from "../util/index.ts";
import type { Surroundings, SurroundingsOptions } from "./surroundings.ts";

/**
 * Inspects a folder, and describes what a model should know about it. Pass the result as `surroundings` to turns.
 * Never throws: what cannot be found is left out.
 */
export async function describeSurroundings(options: SurroundingsOptions): Promise<Surroundings> {
  const { searchSurroundings } = await loadSearch();
  return searchSurroundings(options).complete;
}

const loadSearch = loaderOf(() => import("./surroundings.ts"));
