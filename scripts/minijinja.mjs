// Stands in for `minijinja-js` in the bundles; see build.mjs. The package's entry for Node looks for its
// WebAssembly file beside itself. This one reads the copy in `dist`, one folder above the bundles.
import { readFileSync } from "node:fs";
import { initSync } from "minijinja-js/dist/web/minijinja_js.js";

initSync({ module: readFileSync(new URL("../minijinja_js_bg.wasm", import.meta.url)) });

export { Environment } from "minijinja-js/dist/web/minijinja_js.js";
