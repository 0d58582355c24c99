/** `jp completion`. */
import type { Call } from "../../define.ts";
import { SCRIPTS, type Shell } from "./scripts.ts";

export async function printCompletion({ words, context }: Call<object>): Promise<void> {
  const shell = words[0] as Shell; // One of the choices, else we would not be here.
  context.output.write(SCRIPTS[shell]);
}
