/** The arguments of `shell_run`, and the settings of the machine that it needs. */
import type { ShellSettings } from "../../../../settings/config/index.ts";
import type { ChangeKeeper } from "../../../undo/index.ts";

export interface ShellRunArguments {
  readonly command: string;
  readonly folder?: string;
  readonly timeout_secs?: number;
  readonly stdin?: string;
  readonly network?: boolean;
  readonly git?: boolean;
}

/** Where commands run, and which folders are hidden from them. */
export interface ShellPlace {
  /** The workspace. */
  readonly root: string;
  readonly home: string;
  /** jp's own folder, which also holds long output. */
  readonly dataFolder: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly settings: ShellSettings;
  /** Saves the files that a command changes, for undo. */
  readonly changes?: ChangeKeeper | undefined;
  /** Whether commands run now may change nothing, as in the mode `plan`: then they run in the sandbox, or not at all. */
  readonly isReadOnly?: (() => boolean) | undefined;
}

export const DEFAULT_TIMEOUT_SECS = 120;
