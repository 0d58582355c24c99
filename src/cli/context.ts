/** Builds the concrete things a command works with. */
import path from "node:path";
import { oneLine, wrapProse } from "../render/index.ts";
import {
  openWorkspace,
  type RecordProblem,
  type UserEnvironment,
  type Workspace,
} from "../storage/index.ts";
import { createOutput, type Output } from "../terminal/index.ts";
import { type Clock, systemClock } from "../util/index.ts";
import type { Host } from "./host.ts";

/** The options that every command takes. */
export interface GlobalOptions {
  readonly workspace?: string;
  readonly width?: number;
}

export interface CommandContext {
  readonly host: Host;
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

export function createContext(host: Host, options: GlobalOptions): CommandContext {
  const { environment, version, stdout, stderr, pid } = host;
  // Somebody like `head` has seen enough.
  const leaveQuietly = (error: NodeJS.ErrnoException) => host.exit(error.code === "EPIPE" ? 0 : 1);
  let onGone = leaveQuietly;
  stdout.on("error", (error: NodeJS.ErrnoException) => onGone(error));
  stderr.on("error", (error: NodeJS.ErrnoException) => onGone(error));
  let workspace: Workspace | undefined;
  const cwd = path.resolve(host.cwd, options.workspace ?? ".");
  const output = createOutput({ stdout, stderr, width: options.width });
  return {
    host,
    environment,
    cwd,
    version,
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
        pid,
        onWarning: (message) => warn(message, output),
      });
      return workspace;
    },
  };
}

export function warnOf(problems: readonly RecordProblem[], output: Output): void {
  for (const { file, message } of problems) warn(`${file}: ${message}`, output);
}

export function warn(text: string, output: Output): void {
  const line = `${output.paintNotice("yellow", "warning")}: ${oneLine(text)}`;
  for (const row of wrapProse(line, output.noticeWidth)) output.notice(row);
}
