/** Loads the code that passes secrets on, which few turns need. */
import { loadModule } from "../../util/index.ts";

/** Slow to load. A turn loads it while it waits for the model. Throws `module_not_loaded`. */
export function loadSecretSockets() {
  return loadModule(() => import("./secret-sockets.ts"));
}

/** For programs that do not use it themselves but are about to wait, while their files may be replaced. Throws the same. */
export async function preloadSecrets(): Promise<void> {
  await loadSecretSockets();
}
