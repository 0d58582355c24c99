/** The file tools: group `fs`, confined to one folder, and off until you enable them. */
import type { PartialToolConfig } from "../../../../settings/config/index.ts";
import type { ChangeKeeper } from "../../../undo/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import { createCreateFileTool } from "./create-file-tool.ts";
import { createDeleteFileTool } from "./delete-file-tool.ts";
import { createEditTool } from "./edit-tool.ts";
import { createGrepFilesTool } from "./grep-files-tool.ts";
import { createListFilesTool } from "./list-files-tool.ts";
import { createModifyFileTool } from "./modify-file-tool.ts";
import { createReadFileTool } from "./read-file-tool.ts";

export interface FileToolsOptions {
  /** The folder that confines them; absolute. */
  readonly root: string;
  /** The `PATH`. Very large searches use ripgrep if it is there. */
  readonly searchPath?: string | undefined;
  /** Saves the old content for undo. Without it, nothing is saved. */
  readonly changes?: ChangeKeeper | undefined;
  /** The user's data folder, which keeps the digests of long files. Without it, they are kept for the process. */
  readonly dataFolder?: string | undefined;
}

/** The tools that read and change files in a workspace. */
export function createFileTools({
  root,
  searchPath,
  changes,
  dataFolder,
}: FileToolsOptions): readonly ShippedTool[] {
  const tools = [
    createReadFileTool({ root }),
    createListFilesTool({ root }),
    createGrepFilesTool({ root, searchPath }),
    createCreateFileTool({ root, changes }),
    createModifyFileTool({ root, changes }),
    createEditTool({ root, changes }),
    createDeleteFileTool({ root, changes, dataFolder }),
  ];
  return tools.map((shipped) => ({
    ...shipped,
    config: { ...CONFIG, ...shipped.config, description: shipped.tool.description },
  }));
}

const CONFIG: PartialToolConfig = {
  source: "builtin",
  group: "fs",
  enable: { state: false, allow_toggle: "any" },
  // Each tool only reads, or asks its own question before it changes anything.
  run: "unattended",
};
