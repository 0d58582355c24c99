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

/** For sources of our own: other packages may import a module as a whole. */
function standInFor(ids, others) {
  return {
    name: "light-builtins",
    resolveId: {
      filter: { id: /^node:/ },
      handler: (id, importer = "") =>
        ids.includes(id) && !importer.includes("node_modules")
          ? { id: `${STAND_IN}${id}`, moduleSideEffects: false }
          : others(id),
    },
    load: {
      filter: { id: /^\0stand-in:/ },
      handler: (id) => {
        const name = id.slice(STAND_IN.length);
        return name === "node:fs" ? LIGHT_FS.join("\n") : lazily(name);
      },
    },
  };
}

/** For the command. */
export const lazyBuiltins = standInFor(LAZY, () => null);

/** For the library. Everything else of Node is imported only where it is used. */
export const lightBuiltins = standInFor(["node:fs", ...LAZY], (id) => ({
  id,
  external: true,
  moduleSideEffects: false,
}));
