/** What a command tells its models about where they are. */
import { foldLayers, type Layer, type PartialConfig } from "../config/index.ts";
import {
  describeSurroundings,
  findInstructions,
  type InstructionFile,
  type Surroundings,
} from "../runtime/index.ts";
import type { TrustedConfig } from "../trust/index.ts";
import type { CommandContext } from "./context.ts";
import { findWorkspace } from "./load-config.ts";

/** The `AGENTS.md` files for the current folder, trusted or not; none if the config says so. */
export function workspaceInstructions(
  context: CommandContext,
  layers: readonly Layer[],
): readonly InstructionFile[] {
  const workspace = findWorkspace(context);
  const { agents_md: isWanted = true } = foldLayers(layers).conversation?.surroundings ?? {};
  if (workspace === undefined || !isWanted) return [];
  return findInstructions({ folder: context.cwd, root: workspace.root });
}

/** Only what is trusted and wanted. */
export async function surroundingsOf(
  context: CommandContext,
  { config, instructions }: TrustedConfig,
): Promise<Surroundings> {
  const { agents_md: isWanted = true, ...shows } = config.conversation?.surroundings ?? {};
  return describeSurroundings({
    folder: context.cwd,
    root: findWorkspace(context)?.root ?? context.cwd,
    shows: shownParts(shows),
    instructions: isWanted ? instructions : [],
    variables: context.environment.variables,
    clock: context.clock,
  });
}

type SurroundingsConfig = NonNullable<NonNullable<PartialConfig["conversation"]>["surroundings"]>;

function shownParts({
  folder = true,
  platform = true,
  date = true,
  git = true,
}: SurroundingsConfig) {
  return { folder, platform, date, git };
}
