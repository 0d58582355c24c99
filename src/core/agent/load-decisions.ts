/** Loads the code that decides about calls. A resumed call may not need it, if an earlier process decided everything. */
import { loaderOf } from "../../util/index.ts";

/** For the call itself, and for its questions. Throws `module_not_loaded`. */
export const loadDecisions = loaderOf(() => import("./decide/decide.ts"));

/** For several questions at once. Throws `module_not_loaded`. */
export const loadForms = loaderOf(() => import("./decide/form.ts"));

/** For grants added to a yes. Throws `module_not_loaded`. */
export const loadGrants = loaderOf(() => import("./grants.ts"));
