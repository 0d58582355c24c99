// Stand-ins for modules of Node whose `import` loads more than it uses: an ES module of `node:fs` has all of its exports, also
// those for streams and promises, which together take a fifth of Node's own start. These are loaded when first called.
import buffer from "node:buffer";
import fs from "node:fs";

const LIGHT = {
  "node:buffer": [
    'const buffer = process.getBuiltinModule("node:buffer");',
    ...namesOf(buffer).map((name) => `export const ${name} = buffer.${name};`),
  ],
  "node:fs": [
    'const fs = process.getBuiltinModule("node:fs");',
    // The others are getters that load something.
    ...namesOf(fs).map((name) => `export const ${name} = fs.${name};`),
  ],
  "node:fs/promises": [
    'const fs = process.getBuiltinModule("node:fs");',
    ...namesOf(fs.promises)
      .filter((name) => typeof fs.promises[name] === "function")
      .map((name) => `export const ${name} = (...words) => fs.promises.${name}(...words);`),
  ],
};

function namesOf(module) {
  const all = Object.entries(Object.getOwnPropertyDescriptors(module));
  return all.flatMap(([name, property]) =>
    "value" in property && name !== "default" ? [name] : [],
  );
}

/** For the library. Everything else of Node is imported only where it is used. */
export const lightBuiltins = {
  name: "light-builtins",
  resolveId: {
    filter: { id: /^node:/ },
    handler: (id, importer = "") =>
      // Other packages may import a module as a whole.
      id in LIGHT && !importer.includes("node_modules")
        ? { id: `\0light-${id}`, moduleSideEffects: false }
        : { id, external: true, moduleSideEffects: false },
  },
  load: {
    filter: { id: /^\0light-node:/ },
    handler: (id) => LIGHT[id.slice("\0light-".length)].join("\n"),
  },
};
