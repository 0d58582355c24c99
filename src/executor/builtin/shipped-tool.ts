/** A tool that is part of the program, and the config it has until the user's own says otherwise. */
import type { PartialToolConfig } from "../../config/index.ts";
import type { BuiltinTool } from "../../tool/index.ts";

/** A tool that comes with the program, and what its config is by itself. */
export interface ShippedTool {
  readonly tool: BuiltinTool;
  readonly config: PartialToolConfig;
  /** It changes nothing and answers nothing: a workspace may configure it before it is trusted. */
  readonly isReadOnly?: true;
}
