/** Loads the config parser on demand, for programs that may never need it. */
import { loadModule } from "../../util/index.ts";

/** Throws `module_not_loaded`. */
export function loadConfigParser() {
  return loadModule(() => import("./config-parser.ts"));
}
