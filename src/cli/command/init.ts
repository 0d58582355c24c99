/** `jp init`: a folder becomes a workspace. Nothing that is there is ever overwritten. */
import path from "node:path";
import { neutralize } from "../../render/index.ts";
import { createWorkspaceFolder, findWorkspaceRoot } from "../../storage/index.ts";
import type { Call } from "../define.ts";

export interface InitFlags {
  readonly workspace?: string;
}

export async function init({ words, options, context }: Call<InitFlags>): Promise<void> {
  const root = path.resolve(words[0] ?? options.workspace ?? ".");
  const outer = findOuterWorkspace(root);
  await createWorkspaceFolder(root, context.clock);
  const { output } = context;
  output.notice(neutralize(`${root} is a jp workspace now: its conversations are kept in .jp`));
  if (outer !== undefined) output.notice(neutralize(`(It lies inside another one, ${outer}.)`));
}

function findOuterWorkspace(root: string): string | undefined {
  try {
    return findWorkspaceRoot(path.dirname(root));
  } catch {
    return undefined;
  }
}
