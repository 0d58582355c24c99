/** Loads what passes secrets on, which few turns need. */
import { loadModule } from "../../util/index.ts";

/** Slow to load. A turn loads it while it waits for the model. Throws `module_not_loaded`. */
export function loadSecretSockets() {
  return loadModule(() => import("./secret-sockets.ts"));
}

/** The same for whoever does not use it itself: a program that is about to wait, and whose files may be replaced meanwhile. */
export async function preloadSecrets(): Promise<void> {
  await loadSecretSockets();
}
