/** How commands are run, as the user's own config says. */
import { SHELL_DEFAULTS } from "./defaults.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

export interface ShellSettings {
  /** Commands outside of a sandbox: `ask` every time, or `unattended` where a rule allows it. */
  readonly unsandboxed: "ask" | "unattended";
  /** Names of variables that commands do not get, besides those that look like keys. */
  readonly hideEnv: readonly string[];
  /** What commands may read of the home. */
  readonly readable: readonly string[];
  /** The most that is kept of the output of one command. */
  readonly keepOutputBytes: number;
}

export function resolveShell({ shell = {} }: PartialConfig): ShellSettings {
  return {
    unsandboxed: shell.unsandboxed ?? SHELL_DEFAULTS.unsandboxed,
    hideEnv: shell.hide_env ?? SHELL_DEFAULTS.hide_env,
    readable: shell.readable ?? SHELL_DEFAULTS.readable,
    keepOutputBytes: shell.keep_output_bytes ?? SHELL_DEFAULTS.keep_output_bytes,
  };
}
