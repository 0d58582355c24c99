/** The machine from which tools and models are reached: its folder, environment and clock. */
import type { Clock } from "../util/index.ts";

export interface Machine {
  /** The working directory of tools and servers: the root of the workspace, if there is one. */
  readonly root: string;
  /** Empty outside of a workspace. */
  readonly workspaceId: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The user's data folder, where permissions are saved. Absent if they cannot be saved. */
  readonly dataFolder?: string;
  /** jp's version, which is sent to MCP servers. */
  readonly version: string;
  readonly clock: Clock;
  /** The user's own folder for the workspace. Absent if nothing is kept there. Throws `write_failed`. */
  readonly ensureUserFolder?: () => Promise<string>;
  /** Called when something is left out or refused. One line; must not throw. */
  readonly onWarning: (message: string) => void;
}
