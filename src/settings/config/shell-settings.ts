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
  readonly limits: ShellLimits;
}

/** What a command may take from the machine. Zero for no limit. */
export interface ShellLimits {
  /** Of all its processes and threads together. */
  readonly processes: number;
  /** Of each process. */
  readonly memoryBytes: number;
  /** Of each process. */
  readonly openFiles: number;
  /** How long it may run, whatever the call asks for. */
  readonly timeSecs: number;
}

export function resolveShell({ shell = {} }: PartialConfig): ShellSettings {
  const { limits = {} } = shell;
  const usual = SHELL_DEFAULTS.limits;
  return {
    unsandboxed: shell.unsandboxed ?? SHELL_DEFAULTS.unsandboxed,
    env: shell.env ?? SHELL_DEFAULTS.env,
    hideEnv: shell.hide_env ?? SHELL_DEFAULTS.hide_env,
    readable: shell.readable ?? SHELL_DEFAULTS.readable,
    keepOutputBytes: shell.keep_output_bytes ?? SHELL_DEFAULTS.keep_output_bytes,
    limits: {
      processes: limits.processes ?? usual.processes,
      memoryBytes: limits.memory_bytes ?? usual.memory_bytes,
      openFiles: limits.open_files ?? usual.open_files,
      timeSecs: limits.time_secs ?? usual.time_secs,
    },
  };
}
