/** The machine that tools and models are reached from: its folder, environment and clock. */
import type { Clock } from "../util/index.ts";

export interface Machine {
  /** The folder that tools and servers run in: the root of the workspace, if there is one. */
  readonly root: string;
  /** Empty outside of a workspace. */
  readonly workspaceId: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The user's data folder, where permissions are saved. Absent if none can be. */
  readonly dataFolder?: string;
  /** The version of jp, which MCP servers are told. */
  readonly version: string;
  readonly clock: Clock;
  /** The user's own folder for the workspace. Absent if nothing is kept there. Throws `write_failed`. */
  readonly ensureUserFolder?: () => Promise<string>;
  /** Something is left out or was refused. One line; must not throw. */
  readonly onWarning: (message: string) => void;
}
