// Stand-ins for modules of Node that take long to load, or whose `import` loads more than it uses: an ES module of `node:fs`
// has all of its exports, also those for streams and promises, which together take a fifth of Node's own start.
import fs from "node:fs";

/** Its functions, without those that are getters and load something. */
const LIGHT_FS = [
  'const fs = process.getBuiltinModule("node:fs");',
  ...namesOf(fs).map((name) => `export const ${name} = fs.${name};`),
];

/** Loaded with the first call of a function. */
const LAZY = ["node:fs/promises", "node:stream/consumers"];

async function lazily(id) {
  const functions = namesOf(await import(id)).filter(([first]) => first === first.toLowerCase());
  const load = `process.getBuiltinModule(${JSON.stringify(id)})`;
  return functions
    .map((name) => `export const ${name} = (...words) => ${load}.${name}(...words);`)
    .join("\n");
}

function namesOf(module) {
  const all = Object.entries(Object.getOwnPropertyDescriptors(module));
  return all.flatMap(([name, property]) =>
    "value" in property && name !== "default" ? [name] : [],
  );
}

const STAND_IN = "\0stand-in:";
const WHOLE = "\0whole:";

const load = {
  filter: { id: /^\0(?:stand-in|whole):/ },
  handler: (id) => {
    const name = id.replace(/^\0[^:]*:/, "");
    if (id.startsWith(WHOLE)) return `export default process.getBuiltinModule("${name}");`;
    return name === "node:fs" ? LIGHT_FS.join("\n") : lazily(name);
  },
};

/** Other packages may import a module as a whole. */
function isOurs(importer) {
  return !importer.includes("node_modules");
}

/** For the command. */
export const commandBuiltins = {
  name: "command-builtins",
  load,
  resolveId: {
    filter: { id: /^node:/ },
    handler(id, importer = "") {
      if (LAZY.includes(id) && isOurs(importer)) return `${STAND_IN}${id}`;
      // Of a module that is imported as a whole, the bundler copies all exports, and so loads those that Node has not yet.
      const isWhole = /^node:(?:fs|process)$/.test(id) && /[\\/]commander[\\/]/.test(importer);
      return isWhole ? `${WHOLE}${id}` : null;
    },
  },
};

/** For the library. Everything else of Node is imported only where it is used. */
export const libraryBuiltins = {
  name: "library-builtins",
  load,
  resolveId: {
    filter: { id: /^node:/ },
    handler: (id, importer = "") =>
      (id === "node:fs" || LAZY.includes(id)) && isOurs(importer)
        ? { id: `${STAND_IN}${id}`, moduleSideEffects: false }
        : { id, external: true, moduleSideEffects: false },
  },
};
