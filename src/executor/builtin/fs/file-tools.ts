/** The file tools that are shipped: group `fs`, confined to one folder, off until they are enabled. */
import type { ShippedTool } from "../builtin-executor.ts";
import { createConsent } from "./consent.ts";
import { createCreateFileTool } from "./create-file-tool.ts";
import { createDeleteFileTool } from "./delete-file-tool.ts";
import { createGrepFilesTool } from "./grep-files-tool.ts";
import { createListFilesTool } from "./list-files-tool.ts";
import { createModifyFileTool } from "./modify-file-tool.ts";
import { createReadFileTool } from "./read-file-tool.ts";

export interface FileToolsOptions {
  /** The folder they never leave; absolute. */
  readonly root: string;
}

/** The six tools that read and change files of a workspace. */
export function createFileTools({ root }: FileToolsOptions): readonly ShippedTool[] {
  const consent = createConsent();
  return [
    createReadFileTool({ root }),
    createListFilesTool({ root }),
    createGrepFilesTool({ root }),
    createCreateFileTool({ root, consent }),
    createModifyFileTool({ root, consent }),
    createDeleteFileTool({ root, consent }),
  ];
}
