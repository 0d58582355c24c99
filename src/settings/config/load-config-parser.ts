/** For programs that may never bring config of their own. */
import { loadModule } from "../../util/index.ts";

/** Throws `module_not_loaded`. */
export function loadConfigParser() {
  return loadModule(() => import("./config-parser.ts"));
}
