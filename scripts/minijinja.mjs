// Stands in for `minijinja-js` in the bundles; see build.mjs. The package's entry for Node looks for its
// WebAssembly file beside itself. This one reads the copy in `dist`, one folder above the bundles.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { initSync } from "minijinja-js/dist/web/minijinja_js.js";

initSync({ module: readFileSync(findFile()) });

/** If another bundler has merged the library into one file, that is elsewhere, and CommonJS has no `import.meta`. */
function findFile() {
  const name = "minijinja_js_bg.wasm";
  const own = import.meta.url === undefined ? __filename : fileURLToPath(import.meta.url);
  const file = path.join(path.dirname(own), "..", name);
  if (existsSync(file)) return file;
  try {
    return path.join(path.dirname(createRequire(own).resolve("jp-ts/package.json")), "dist", name);
  } catch (cause) {
    throw new Error(
      "The template engine of jp-ts is missing: install jp-ts where your bundle runs.",
      {
        cause,
      },
    );
  }
}

export { Environment } from "minijinja-js/dist/web/minijinja_js.js";
