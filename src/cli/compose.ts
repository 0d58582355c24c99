/** Builds the concrete things a command works with. Nothing else below `cli/` touches the process. */
import { homedir } from "node:os";
import { openWorkspace, type UserEnvironment, type Workspace } from "../storage/index.ts";
import { createOutput, type Output } from "../terminal/index.ts";
import { type Clock, systemClock } from "../util/index.ts";
import { warn } from "./warnings.ts";

/** The options that every command takes. */
export interface GlobalOptions {
  readonly workspace?: string;
  readonly width?: number;
}

export interface CommandContext {
  readonly output: Output;
  readonly clock: Clock;
  readonly environment: UserEnvironment;
  readonly cwd: string;
  readonly version: string;
  /** Instead of ending at once when nobody reads the output any more; until it is disposed of. */
  readonly onOutputGone: (action: () => void) => Disposable;
  /** Found when first asked for. Throws `no_workspace`. */
  readonly workspace: Workspace;
}

declare const JP_VERSION: string;

export function createContext(options: GlobalOptions): CommandContext {
  let onGone = leaveQuietly;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => onGone(error));
  process.stderr.on("error", (error: NodeJS.ErrnoException) => onGone(error));
  let workspace: Workspace | undefined;
  const environment: UserEnvironment = {
    variables: process.env,
    home: homedir(),
    platform: process.platform,
  };
  const cwd = options.workspace ?? process.cwd();
  const { stdout, stderr } = process;
  const output = createOutput({ stdout, stderr, width: options.width });
  return {
    environment,
    cwd,
    version: JP_VERSION,
    output,
    clock: systemClock,
    onOutputGone: (action) => {
      onGone = action;
      return {
        [Symbol.dispose]: () => {
          onGone = leaveQuietly;
        },
      };
    },
    get workspace() {
      workspace ??= openWorkspace({
        from: cwd,
        environment,
        clock: systemClock,
        pid: process.pid,
        onWarning: (message) => warn(message, output),
      });
      return workspace;
    },
  };
}

/** Somebody like `head` has seen enough. */
function leaveQuietly(error: NodeJS.ErrnoException): void {
  process.exit(error.code === "EPIPE" ? 0 : 1);
}
