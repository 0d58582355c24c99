/** `jp init`: a folder becomes a workspace. Nothing that is there is ever overwritten. */
import path from "node:path";
import { createWorkspaceFolder } from "../../storage/index.ts";
import type { Call } from "../define.ts";

export async function init({ words, context }: Call<object>): Promise<void> {
  const root = path.resolve(words[0] ?? ".");
  await createWorkspaceFolder(root, context.clock);
  context.output.notice(`${root} is a jp workspace now: its conversations are kept in .jp`);
}
