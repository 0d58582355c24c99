/** `jp conversation path`: where it is kept, for other programs. */
import type { Call } from "../../define.ts";
import { resolveTargetForReading } from "../../target.ts";

export interface FileFlags {
  readonly events?: boolean;
  readonly metadata?: boolean;
  readonly baseConfig?: boolean;
}

export async function printPath({ words, options, context }: Call<FileFlags>): Promise<void> {
  const { id } = await resolveTargetForReading(context, words[0]);
  const paths = context.workspace.files.paths(id);
  const files = (["events", "metadata", "baseConfig"] as const).filter((name) => options[name]);
  const wanted = files.length === 0 ? [paths.folder] : files.map((name) => paths[name]);
  for (const file of wanted) context.output.print(file);
}
