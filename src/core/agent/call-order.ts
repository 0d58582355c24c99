/**
 * The order of the calls of one reply. Calls that could disturb each other run in the order in which the model made
 * them. All others run in parallel.
 */
import { assertNever } from "../../util/index.ts";
import type { CallOfTool, Policy } from "../policy/index.ts";

/** The servers and files that a call uses, as far as the order depends on them. */
export type CallUse =
  /** Its config sets `parallel`, so nothing else matters. */
  | { readonly type: "configured"; readonly isParallel: boolean }
  /** It calls an MCP server. */
  | { readonly type: "server"; readonly server: string; readonly isReading: boolean }
  /** It reads or changes files: absolute paths, or any file if undefined. */
  | {
      readonly type: "files";
      readonly isReading: boolean;
      readonly files: readonly string[] | undefined;
    }
  /** It runs a command line, which may read and change any file. */
  | { readonly type: "command" }
  | { readonly type: "other" };

/** Whether a call waits for the end of one that the model made before it in the same reply. */
export function waitsFor(later: CallUse, earlier: CallUse): boolean {
  switch (later.type) {
    case "configured":
      return !later.isParallel && earlier.type === "configured" && !earlier.isParallel;
    case "server":
      return (
        earlier.type === "server" && earlier.server === later.server && !areReading(later, earlier)
      );
    case "files":
      if (earlier.type === "command") return true;
      return (
        earlier.type === "files" &&
        !areReading(later, earlier) &&
        doOverlap(later.files, earlier.files)
      );
    case "command":
      return earlier.type === "command" || earlier.type === "files";
    case "other":
      return false;
    default:
      return assertNever(later);
  }
}

interface Reading {
  readonly isReading: boolean;
}

function areReading(later: Reading, earlier: Reading): boolean {
  return later.isReading && earlier.isReading;
}

/** A folder contains everything below it. */
function doOverlap(
  left: readonly string[] | undefined,
  right: readonly string[] | undefined,
): boolean {
  if (left === undefined || right === undefined) return true;
  return left.some((one) => right.some((other) => isIn(one, other) || isIn(other, one)));
}

function isIn(folder: string, file: string): boolean {
  return file === folder || file.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** Finds the servers and files that a call with these arguments uses. Files are named as they are now. Throws `module_not_loaded`. */
export async function findUse(policy: Policy | undefined, call: CallOfTool): Promise<CallUse> {
  const { settings, argumentKinds = {}, effect, isReadOnly = false } = call.tool;
  const { source, isParallel } = settings;
  if (isParallel !== undefined) return { type: "configured", isParallel };
  const known = settings.effect ?? effect;
  const isReading = known === "reads";
  if (source.type === "mcp") {
    // What the user says about the tool counts for more than what its server says.
    const isRead = known === undefined ? isReadOnly : isReading;
    return { type: "server", server: source.server, isReading: isRead };
  }
  const kinds = Object.values(argumentKinds);
  if (kinds.includes("command")) return { type: "command" };
  if (known === undefined || !kinds.includes("path")) return { type: "other" };
  return { type: "files", isReading, files: await policy?.filesOf?.(call) };
}
