// Stand-ins for modules of Node that take long to load, or whose `import` loads more than it uses: an ES module of `node:fs`
// has all of its exports, also those for streams and promises, which together take a fifth of Node's own start.

/** Without exports that are getters and load something. */
const LIGHT = ["node:buffer", "node:fs"];

async function lightly(id) {
  const { default: module } = await import(id);
  return [
    `const module = process.getBuiltinModule(${JSON.stringify(id)});`,
    ...namesOf(module).map((name) => `export const ${name} = module.${name};`),
  ].join("\n");
}

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
    return LIGHT.includes(name) ? lightly(name) : lazily(name);
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
      [...LIGHT, ...LAZY].includes(id) && isOurs(importer)
        ? { id: `${STAND_IN}${id}`, moduleSideEffects: false }
        : { id, external: true, moduleSideEffects: false },
  },
};
