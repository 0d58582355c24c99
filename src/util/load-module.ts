/** Loads parts of jp when they are needed, and tells a part that cannot be loaded from everything that can go wrong in it. */
import { isJpError, JpError, messageOf, systemErrorCode } from "./errors.ts";

const CODE = "module_not_loaded";

/**
 * An upgrade may have replaced the files of a running process, or it may have no file descriptors left. Neither is an
 * outcome of what the module is for. Throws `module_not_loaded`.
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

/** The same for what each turn needs: it is loaded once, and those who wait for it go on in the order in which they came. */
export function loaderOf<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loaded: Promise<Module> | undefined;
  return () =>
    (loaded ??= loadModule(load).catch((error: unknown) => {
      loaded = undefined; // It may be there the next time.
      throw error;
    }));
}

/** Where the command keeps a function that loads what its files have imported: see `cli/code-loader.ts`. */
export const IMPORTS = Symbol.for("jp-ts.imports");

/**
 * Loads what was imported so far, and has not been used. Only the command leaves that for later. To be called before
 * something takes long, such as an answer: an upgrade may replace the files meanwhile. Never throws.
 */
export function loadImports(): void {
  try {
    const { [IMPORTS]: load } = globalThis as { readonly [IMPORTS]?: () => void }; // Set by the command.
    load?.();
  } catch {
    // Whatever needs a part that is missing says so.
  }
}

/** What Node says of a module that is gone, and of a process without file descriptors. */
const SYSTEM_CODES = new Set(["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND", "EMFILE", "ENFILE"]);
const MAX_CAUSES = 8;

/** Whether jp, or the program around it, could not load what it needed; perhaps while doing something else. */
export function isNotLoaded(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause !== undefined; depth += 1) {
    if (isJpError(cause) && cause.code === CODE) return true;
    if (SYSTEM_CODES.has(systemErrorCode(cause) ?? "")) return true;
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return false;
}
