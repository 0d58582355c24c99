/**
 * Anchors in the background after a turn. A turn neither waits for it nor fails with it; `jp doctor` reports the
 * result.
 */
import { anchorState, isAnchorDue } from "../../../proof/index.ts";
import type { CommandContext } from "../../context.ts";

/** Starts a detached `jp evidence anchor` if one is due. Never throws. */
export function anchorIfDue({
  host,
  environment,
  clock,
  cwd,
}: Pick<CommandContext, "host" | "environment" | "clock" | "cwd">): void {
  try {
    if (!isAnchorDue(anchorState(environment), clock.now().getTime())) return;
    const { spawn } = process.getBuiltinModule("node:child_process");
    const [program, ...args] = host.self;
    const child = spawn(program, [...args, "evidence", "anchor"], {
      cwd,
      env: environment.variables,
      detached: true,
      stdio: "ignore",
    });
    child.on("error", () => undefined);
    child.unref();
  } catch {
    // The next turn tries again.
  }
}
