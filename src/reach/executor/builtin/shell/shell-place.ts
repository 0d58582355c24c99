/** The arguments of `shell_run`, and what it has to know about the machine. */
import type { ShellSettings } from "../../../../settings/config/index.ts";
import type { ChangeKeeper } from "../../../undo/index.ts";

export interface ShellRunArguments {
  readonly command: string;
  readonly folder?: string;
  readonly timeout_secs?: number;
  readonly stdin?: string;
  readonly network?: boolean;
}

/** Where commands run, and what they must not see. */
export interface ShellPlace {
  /** The workspace. */
  readonly root: string;
  readonly home: string;
  /** jp's own folder, where long output is kept too. */
  readonly dataFolder: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly settings: ShellSettings;
  /** Keeps what a command changes, so that it can be undone. */
  readonly changes?: ChangeKeeper | undefined;
}

export const DEFAULT_TIMEOUT_SECS = 120;
