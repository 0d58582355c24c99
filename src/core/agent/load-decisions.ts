/** Loads what decides about calls. If one is resumed, an earlier process may have decided everything. */
import { loaderOf } from "../../util/index.ts";

/** For the call itself, and for its questions. Throws `module_not_loaded`. */
export const loadDecisions = loaderOf(() => import("./decide/decide.ts"));

/** For several questions at once. Throws the same. */
export const loadForms = loaderOf(() => import("./decide/form.ts"));

/** For what a person has added to a yes. Throws the same. */
export const loadGrants = loaderOf(() => import("./grants.ts"));
