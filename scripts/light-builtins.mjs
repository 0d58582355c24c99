// Stand-ins for Node modules that are slow to load, or whose `import` loads more than it uses: importing `node:fs` as
// an ES module loads all of its exports, including streams and promises, which take a fifth of Node's own start.

/** Leaves out exports whose getters load something. */
const LIGHT = ["node:buffer", "node:fs"];

async function lightly(id) {
  const { default: module } = await import(id);
  return [
    `const module = process.getBuiltinModule(${JSON.stringify(id)});`,
    ...namesOf(module).map((name) => `export const ${name} = module.${name};`),
  ].join("\n");
}

/** Loaded on the first call of a function. */
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
    return LIGHT.includes(name) ? lightly(name) : lazily(name);
  },
};

/** Other packages may import a whole module. */
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
      // For a module imported as a whole, the bundler copies all exports, which loads those that Node has deferred.
      const isWhole = /^node:(?:fs|process)$/.test(id) && /[\\/]commander[\\/]/.test(importer);
      return isWhole ? `${WHOLE}${id}` : null;
    },
  },
};

/** For the library. All other Node modules are imported only where they are used. */
export const libraryBuiltins = {
  name: "library-builtins",
  load,
  resolveId: {
    filter: { id: /^node:/ },
    handler: (id, importer = "") =>
      [...LIGHT, ...LAZY].includes(id) && isOurs(importer)
        ? { id: `${STAND_IN}${id}`, moduleSideEffects: false }
        : { id, external: true, moduleSideEffects: false },
  },
};
