/** Loads parts of jp on demand, and distinguishes a part that cannot be loaded from errors inside it. */
import { isJpError, JpError, messageOf, systemErrorCode } from "./errors.ts";

const CODE = "module_not_loaded";

/**
 * An upgrade may have replaced the files of a running process, or it may have run out of file descriptors. Neither
 * says anything about the module's own work. Throws `module_not_loaded`.
 */
export async function loadModule<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    if (isJpError(cause) && cause.code === CODE) throw cause;
    const [reason = ""] = messageOf(cause).split("\n");
    throw new JpError(CODE, `jp cannot load a part of itself: ${reason.replace(/\.$/, "")}.`, {
      cause,
      hint: "If jp was upgraded meanwhile, start it again. What it was doing stays open, and can be continued.",
    });
  }
}

/** Like `loadModule`, for what each turn needs: loads it once, and resumes its callers in order. */
export function loaderOf<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loaded: Promise<Module> | undefined;
  return () =>
    (loaded ??= loadModule(load).catch((error: unknown) => {
      loaded = undefined; // The next attempt may work.
      throw error;
    }));
}

/** Where the command stores a function that loads its deferred imports: see `cli/code-loader.ts`. */
export const IMPORTS = Symbol.for("jp-ts.imports");

/**
 * Loads imports that have not been used yet, which only the command defers. Call it before a long wait, such as for
 * an answer: an upgrade may replace the files meanwhile. Never throws.
 */
export function loadImports(): void {
  try {
    const { [IMPORTS]: load } = globalThis as { readonly [IMPORTS]?: () => void }; // Set by the command.
    load?.();
  } catch {
    // A missing part is reported where it is needed.
  }
}

/** Node's codes for a missing module, and for a process without file descriptors. */
const SYSTEM_CODES = new Set(["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND", "EMFILE", "ENFILE"]);
const MAX_CAUSES = 8;

/**
 * Whether jp, or the program around it, failed to load something it needed, perhaps as the cause of another error.
 */
export function isNotLoaded(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause !== undefined; depth += 1) {
    if (isJpError(cause) && cause.code === CODE) return true;
    if (SYSTEM_CODES.has(systemErrorCode(cause) ?? "")) return true;
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return false;
}
