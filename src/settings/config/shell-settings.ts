/** Settings for running commands, from the user's own config. */
import { SHELL_DEFAULTS } from "./defaults.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

export interface ShellSettings {
  /** For commands outside a sandbox: `ask` every time, or `unattended` where a rule allows it. */
  readonly unsandboxed: "ask" | "unattended";
  /** Variables that commands get, besides those that jp knows to be harmless. */
  readonly env: readonly string[];
  /** Variables to hide from commands, also if they would get them otherwise. */
  readonly hideEnv: readonly string[];
  /** Files and folders in the home that commands may read. */
  readonly readable: readonly string[];
  /** The limit for the saved output of one command. */
  readonly keepOutputBytes: number;
}

export function resolveShell({ shell = {} }: PartialConfig): ShellSettings {
  return {
    unsandboxed: shell.unsandboxed ?? SHELL_DEFAULTS.unsandboxed,
    env: shell.env ?? SHELL_DEFAULTS.env,
    hideEnv: shell.hide_env ?? SHELL_DEFAULTS.hide_env,
    readable: shell.readable ?? SHELL_DEFAULTS.readable,
    keepOutputBytes: shell.keep_output_bytes ?? SHELL_DEFAULTS.keep_output_bytes,
  };
}
