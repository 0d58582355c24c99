/** `jp conversation path`: where it is kept, for other programs. */
import { existsSync } from "node:fs";
import { neutralize } from "../../../render/index.ts";
import { CodedError } from "../../../util/index.ts";
import type { Call } from "../../define.ts";
import { resolveTargetForReading } from "../../target.ts";

export interface FileFlags {
  readonly events?: boolean;
  readonly metadata?: boolean;
  readonly baseConfig?: boolean;
}

export const PACKED_HINT =
  "In older conversations the base config is the first element of the events.";

export async function printPath({ words, options, context }: Call<FileFlags>): Promise<void> {
  const { id } = await resolveTargetForReading(context, words[0]);
  const paths = context.workspace.files.paths(id);
  const files = (["events", "metadata", "baseConfig"] as const).filter((name) => options[name]);
  const wanted = files.length === 0 ? [paths.folder] : files.map((name) => paths[name]);
  const missing = wanted.find((file) => !existsSync(file));
  if (missing !== undefined) {
    throw new CodedError("no_such_file", `There is no ${missing}.`, { hint: PACKED_HINT });
  }
  const { output } = context;
  // Programs get the name as it is, people a harmless one.
  for (const file of wanted) output.print(output.isTerminal ? neutralize(file) : file);
}
