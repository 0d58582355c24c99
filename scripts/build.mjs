// Builds dist/: the command as split CommonJS (it starts faster than ESM), the library as split ESM with its types,
// and the desk's page. Everything they import is bundled, except koffi's binaries, one package per platform (see
// `optionalDependencies` in package.json), the PostgreSQL driver and queue, and OpenTelemetry's API, which has to be
// the one that an SDK uses (see `peerDependencies`). Types from other packages are bundled too.
// `build.mjs command` builds only what the command needs to run: no library, no types, no notices.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import process from "node:process";
import { transform } from "esbuild";
import { rolldown } from "rolldown";
import { commandBuiltins, libraryBuiltins } from "./light-builtins.mjs";
import { plainExports } from "./plain-exports.mjs";
import {
  assertFineLicences,
  findThirdParty,
  installedEntries,
  noticesOf,
  sbomOf,
} from "./third-party.ts";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
/** Such as `record/tool/index`, for each entry of the library. */
const ENTRIES = Object.values(manifest.exports).flatMap(({ types }) =>
  types === undefined ? [] : [types.replace(/^\.\/dist\/lib\/(.*)\.d\.ts$/, "$1")],
);
const MINIJINJA_WASM = "node_modules/minijinja-js/dist/web/minijinja_js_bg.wasm";
/** Its data is in `src/settings/config/price-table.ts`. */
const PRICES = "node_modules/@pydantic/genai-prices/dist/index.js";

const [OLDEST_MAJOR, OLDEST_MINOR] = manifest.engines.node.match(/\d+/g).map(Number);
/** Runs first in the library, which would otherwise fail later and less clearly. Browsers use parts of it. */
const NODE_CHECK = `{
	const found = globalThis.process?.versions?.node ?? "";
	const [major = 0, minor = 0] = found.split(".").map(Number);
	if (found !== "" && (major < ${OLDEST_MAJOR} || (major === ${OLDEST_MAJOR} && minor < ${OLDEST_MINOR}))) {
		const message = \`jp-ts needs Node ${OLDEST_MAJOR}.${OLDEST_MINOR} or newer, and this is \${found}.\`;
		throw Object.assign(new Error(message), { code: "node_too_old" });
	}
}`;

/** Matches the folder of a file's package; its first group is the name. */
const PACKAGE_FOLDER = /^.*\bnode_modules\/((?:@[^/]+\/)?[^/]+)/;

const PROVIDER_PACKAGE = /[\\/]node_modules[\\/]@(?:ai-sdk|openrouter)[\\/]/;

/** Modules that the bundles replace with our own. */
const standIns = {
  name: "stand-ins",
  resolveId: {
    filter: { id: /^(?:node:child_process|minijinja-js|zod\/v4.*)$/ },
    handler: (id, importer = "") => {
      if (id === "minijinja-js") return path.resolve("scripts/minijinja.mjs");
      if (id.startsWith("zod/"))
        return PROVIDER_PACKAGE.test(importer) ? path.resolve("scripts/lazy-zod.cjs") : null;
      // Commander imports it, at a tenth of Node's own start-up time, for programs whose subcommands are separate
      // executables. jp has none.
      if (!/[\\/]commander[\\/]/.test(importer)) return null;
      return path.resolve("scripts/lazy-child-process.mjs");
    },
  },
};

const ZOD = "scripts/zod-parts.mjs";

/** Command files loaded before the request is sent must not pull in zod. */
const separateZod = {
  name: "separate-zod",
  resolveId: {
    filter: { id: /^\.\/zod-parts\.mjs$/ },
    handler: () => ({ id: "./zod.cjs", external: true }),
  },
};

/**
 * This package's regular expressions for Unicode scripts and symbols take a millisecond to create, and commands that
 * print only ASCII do not need them.
 */
const lazyStringWidth = {
  name: "lazy-string-width",
  transform: {
    filter: { id: /[\\/]fast-string-truncated-width[\\/]dist[\\/]index\.js$/ },
    handler: (code) => {
      const parts = /^((?:\/\*.*\n|import .*\n)*)([^]*)export default (\w+);\n?$/.exec(code);
      if (parts === null) throw new Error("fast-string-truncated-width is not what it was.");
      const [, imports, body, name] = parts;
      const call = `let made; export default (...words) => (made ??= make())(...words);`;
      const lazy = `${imports}const make = () => { ${body} return ${name}; }; ${call}\n`;
      return { code: lazy, map: null }; // The lines stay the same.
    },
  },
};

/**
 * Only this package's parsing of a new passkey is used. Its manifest does not declare its modules free of side
 * effects, so all of them would be kept, along with the packages that check certificates.
 */
const partsOfWebauthn = {
  name: "parts-of-webauthn",
  resolveId: {
    filter: { id: /^(?:\.{1,2}\/|@peculiar\/|reflect-metadata$|@simplewebauthn\/)/ },
    async handler(id, importer = "") {
      const isPart =
        /[\\/]@simplewebauthn[\\/]/.test(importer) || id.startsWith("@simplewebauthn/");
      if (!isPart) return null;
      const found = await this.resolve(id, importer, { skipSelf: true });
      return found && { ...found, moduleSideEffects: false };
    },
  },
};

/**
 * Only marked's lexer is used. The instance that marked creates on load would keep everything else, so it is removed,
 * and unused classes can be dropped.
 */
const lexerOfMarked = {
  name: "lexer-of-marked",
  transform: {
    filter: { id: /[\\/]marked[\\/]lib[\\/]marked\.esm\.js$/ },
    handler(code) {
      const instance =
        /var (\w+)=new \w+;function (\w+)\(\w+,\w+\)\{return \1\.parse\(.*?(?=export\{)/s;
      const found = instance.exec(code);
      const [, lexer] = /(\w+) as Lexer\b/.exec(code) ?? [];
      const [, tokenizer] = /(\w+) as Tokenizer\b/.exec(code) ?? [];
      if (found === null || !lexer || !tokenizer) throw new Error("marked has another end now.");
      const used = `export{${lexer} as Lexer,${tokenizer} as Tokenizer};`;
      return { code: code.slice(0, found.index) + used, map: null }; // Only the end has changed.
    },
  },
};

/**
 * Only what `page/highlight.ts` and the grammars call is kept: nothing that reads or writes the page or
 * HTML. As an ES module, it needs no code that imports CommonJS.
 */
const partsOfHighlight = {
  name: "parts-of-highlight",
  transform: {
    filter: { id: /[\\/]highlight\.js[\\/]lib[\\/]core\.js$/ },
    handler(code) {
      const table = /Object\.assign\(hljs, \{\n {4}highlight,[^}]*\}\);/;
      const emitter = "__emitter: TokenTreeEmitter";
      const exported = /const highlight = HLJS\(\{\}\);[^]*$/;
      if (!table.test(code) || !code.includes(emitter) || !exported.test(code)) {
        throw new Error("highlight.js has another interface now.");
      }
      const used = "highlight, configure, registerLanguage, getLanguage, registerAliases, inherit";
      const own = code
        .replace(table, `Object.assign(hljs, { ${used} });`)
        .replace(emitter, "__emitter: undefined")
        .replace(exported, "export default { newInstance: () => HLJS({}) };");
      return { code: own, map: null }; // Only the interface has changed.
    },
  },
};

/** The page never guesses a language, which is all that these scores are for. */
const unscoredLanguages = {
  name: "unscored-languages",
  transform: {
    filter: { id: /[\\/]highlight\.js[\\/](?:es|lib)[\\/]languages[\\/]/ },
    handler(code) {
      const own = code
        .replaceAll(/\brelevance: [\d.]+,/g, "")
        .replaceAll(/,?\s*\brelevance: [\d.]+(?=\s*(?:\}|\n|\/\/))/g, "");
      return { code: own, map: null };
    },
  },
};

const PROVIDER_MODULE =
  /[\\/](?:node_modules[\\/](?:@ai-sdk|@openrouter|ollama)|src[\\/]reach[\\/]provider)[\\/]/;
const LIGHT_STREAMS = path.resolve("src/reach/provider/light-streams.ts");
/** The providers' own copy of a shared module. */
const LIGHT = "?light";

/**
 * Gives the provider packages our own streams: Node's are slow to load and to use. Other packages, such as the MCP
 * client, read from Node's `fetch`, whose streams only work with Node's own.
 */
const lightStreams = {
  name: "light-streams",
  resolveId: {
    filter: { id: /^eventsource-parser\/stream$/ },
    async handler(id, importer = "") {
      if (!PROVIDER_MODULE.test(importer)) return null;
      return `${(await this.resolve(id, importer, { skipSelf: true })).id}${LIGHT}`;
    },
  },
  load: {
    filter: { id: /\?light$/ },
    handler: (id) => withLightStreams(readFileSync(withoutQuery(id), "utf8")),
  },
  transform: {
    filter: { id: PROVIDER_MODULE, code: /\b(?:Readable|Transform|TextDecoder)Stream\b/ },
    handler: (code, id) => (path.resolve(id) === LIGHT_STREAMS ? null : withLightStreams(code)),
  },
};

function withoutQuery(id) {
  return id.replace(/\?\w+$/, "");
}

function withLightStreams(code) {
  const names = ["ReadableStream", "TransformStream", "TextDecoderStream"];
  const imports = names.map((name) => `Light${name} as ${name}`).join(", ");
  const added = `import { ${imports} } from ${JSON.stringify(LIGHT_STREAMS)};`;
  return { code: `${added} ${code}`, map: null }; // The lines stay the same.
}

/** Turns `v.GenericSchema` into a named import: importing a whole package would keep all of its types. */
const namedValibot = {
  name: "named-valibot",
  transform: {
    order: "pre",
    filter: { id: /\.d\.ts$/, code: /^import \* as v from "valibot";$/m },
    handler: (code) => {
      const names = new Set();
      const named = code.replaceAll(/\bv\.([A-Za-z]\w*)/g, (_, name) => {
        names.add(`${name} as v_${name}`);
        return `v_${name}`;
      });
      return named.replace("* as v from", `{ ${[...names].join(", ")} } from`);
    },
  },
};

/** The page uses only portable code, from folders that also have Node code, which is dropped when unused. */
const unusedNode = {
  name: "unused-node",
  resolveId: {
    filter: { id: /^node:/ },
    handler: (id) => ({ id, external: true, moduleSideEffects: false }),
  },
};

/**
 * Modules loaded together become one file, since each file takes time to find, open and check. A group contains what
 * its modules need, unless an earlier group has it.
 */
const COMMAND_GROUPS = {
  start: ["src/cli/run.ts"],
  // Its first prompt needs little. Modules shared with others are part of `start`.
  session: ["src/cli/command/session/session.ts", "src/surfaces/terminal/drawn-dialogue.ts"],
  base: [
    "src/cli/program.ts",
    "src/cli/context.ts",
    "src/cli/labels.ts",
    "src/settings/config/duration.ts",
    "src/record/conversation/projection.ts",
    "src/cli/conversations.ts",
    "src/surfaces/render/relative-time.ts",
  ],
  inquiry: ["src/cli/command/definitions.ts", "src/cli/command/inquiry.ts"],
  list: ["src/cli/command/conversation/definition.ts", "src/cli/command/conversation/ls.ts"],
  query: [
    "src/cli/command/query/definition.ts",
    "src/cli/command/query/query.ts",
    "src/core/agent/window.ts",
    "node_modules/smol-toml/dist/index.js",
  ],
  // Joined by the modules that `LATER` lists under the same name.
  running: ["src/reach/executor/local/local-tools.ts", "src/reach/process/process-group.ts"],
};

/** Needed at once by every command. */
const FIRST_GROUPS = new Set(["start", "session"]);

/**
 * Parts of the other groups that a command needs only later, or only in some cases: they are loaded on first use. See
 * `src/cli/code-loader.ts`.
 */
const LATER = {
  answering: [
    "src/cli/editor",
    "src/record/conversation/judge",
    "src/record/conversation/subject",
    "src/stores/answering",
  ],
  // Only for a workspace that brings config of its own.
  claims: [
    "src/settings/config/classified-values",
    "src/settings/config/model-parameters",
    "src/settings/trust/answering",
    "src/settings/trust/claims",
    "src/settings/trust/tool-claims",
    "src/settings/trust/trust-rules",
    "src/settings/trust/views",
  ],
  list: ["src/stores/fs/summary-index"],
  mcp: ["src/reach/executor/mcp/", "src/reach/mcp/"],
  running: [
    "src/reach/executor/builtin/fs/consent",
    "src/reach/executor/builtin/fs/line-search",
    "src/reach/executor/builtin/fs/save-file",
    "src/reach/executor/builtin/fs/unified-diff",
    "src/reach/executor/file-identity",
    "src/reach/executor/local/",
    "src/reach/files/",
    "src/reach/json-schema/",
    "src/reach/process/",
  ],
  show: [
    "src/cli/command/query/reasoning-lines",
    "src/cli/command/query/report",
    "src/surfaces/render/call-lines",
    "src/surfaces/render/decision-rows",
    "src/surfaces/render/files",
    "src/surfaces/render/inquiry",
    "src/surfaces/render/origin",
    "src/surfaces/render/summary",
    "src/surfaces/render/usage",
  ],
  rarely: [
    "src/core/agent/ask-model",
    "src/core/agent/compact",
    "src/core/agent/data",
    "src/core/agent/model-texts",
    "src/core/agent/summary",
    "src/core/answer-model/",
    "src/cli/compact",
    "src/assemble/detect-models",
    "src/record/conversation/compaction",
    "src/reach/provider/collect-reply",
    "src/reach/provider/from-language-model",
    "src/reach/provider/to-provider-error",
    "src/reach/provider/warm-up",
    "src/assemble/answers-file",
    "src/stores/memory-store",
    "src/settings/trust/describe-claim",
  ],
};
/** Used before a request, unlike the files beside them. */
const NOT_LATER = [
  "src/reach/json-schema/provider-schema",
  "src/reach/mcp/mcp-error",
  "src/reach/mcp/mcp-servers",
  "src/reach/mcp/own-servers",
];

/** Prefix of a file name: an entry that re-exports the file. */
const ENTRY = "\0entry:";

/** To the bundler, importing anything from an entry needs all that it imports. So no entry is imported. */
const entries = {
  name: "entries",
  resolveId: { filter: { id: /^\0entry:/ }, handler: (id) => id },
  load: {
    filter: { id: /^\0entry:/ },
    handler: (id) => `export * from ${JSON.stringify(path.resolve(id.slice(ENTRY.length)))};`,
  },
};

/**
 * Groups for programs, which import entries in any combination. Every module that an entry imports is in a group:
 * otherwise the entry would export what others need from it.
 */
const LIBRARY_GROUPS = {
  base: ["src/record/tool/index.ts", "src/util/clock.ts"],
  core: ["src/index.ts"],
  "serve-tool": ["src/surfaces/serve-tool/index.ts"],
  client: ["src/surfaces/desk/client.ts"],
  store: ["src/stores/fs/open-store.ts", "src/stores/fs/chain-file.ts"],
  turn: ["src/assemble/own-turn.ts"],
  calls: ["src/core/agent/calls.ts"],
  request: ["src/core/agent/window.ts", "src/reach/provider/reply.ts"],
  decisions: ["src/core/agent/decide/form.ts"],
  storage: ["src/stores/index.ts"],
  testing: ["src/testing/index.ts"],
  "ai-sdk": ["src/surfaces/ai-sdk/index.ts"],
};

/**
 * The command loads parts of the library later than the library's own users do. A busy machine makes plugins slow.
 */
const FINE_WARNINGS = new Set(["INEFFECTIVE_DYNAMIC_IMPORT", "PLUGIN_TIMINGS"]);

const isWhole = process.argv[2] !== "command";

// Built beside the version in use and swapped at the end, so that no one runs a partial build.
const made = `dist-${process.pid}`;
try {
  const parts = [bundleLauncher(), bundleCommand(), bundlePage(`${made}/desk`)];
  if (isWhole) parts.push(bundleLibrary(), writeTypes(`${made}/lib`));
  const files = (await Promise.all(parts)).flat();
  const commandFiles = readdirSync(`${made}/bin`).filter((name) => name.endsWith(".cjs"));
  // Node reads, compares and compiles a file faster if all of it is ASCII.
  await rewrite(`${made}/bin`, commandFiles, { charset: "ascii", minifyWhitespace: true });
  writeHelp(`${made}/bin`);
  copyFileSync(MINIJINJA_WASM, path.join(made, path.basename(MINIJINJA_WASM)));
  if (isWhole) writeNotices([...files, MINIJINJA_WASM, PRICES]);
  swap();
} finally {
  rmSync(made, { recursive: true, force: true });
}

function bundleLauncher() {
  return bundle(
    { jp: "src/cli/main.ts" },
    { dir: `${made}/bin`, format: "cjs", extension: "cjs", minify: true },
  );
}

function bundleCommand() {
  return bundle(
    { run: "src/cli/run.ts", zod: ZOD },
    {
      dir: `${made}/bin`,
      format: "cjs",
      extension: "cjs",
      minify: true,
      groups: COMMAND_GROUPS,
      later: LATER,
      plugins: [separateZod, lightStreams, commandBuiltins, lazyStringWidth, plainExports],
      // Node's `Headers` loads its `fetch`, which the command does not use for providers.
      inject: { Headers: [path.resolve("src/reach/provider/http-headers.ts"), "HttpHeaders"] },
    },
  );
}

function bundleLibrary() {
  return bundle(Object.fromEntries(ENTRIES.map((entry) => [entry, `${ENTRY}src/${entry}.ts`])), {
    dir: `${made}/lib`,
    format: "esm",
    extension: "js",
    minify: false,
    comments: { jsdoc: false }, // They are in the types, and Node would have to skip them.
    minifiesPackages: true, // Our own code stays readable.
    plugins: [entries, libraryBuiltins],
    groups: LIBRARY_GROUPS,
    banner: ({ isEntry }) => (isEntry ? NODE_CHECK : ""),
  });
}

/** Such as ` (3fa2c1d)`, with a plus if something has changed since. Empty outside a clone. */
function findCommit() {
  const { status, stdout } = git("rev-parse", "--short=7", "HEAD");
  // Ignores the repository of a project that contains this folder.
  if (status !== 0 || !existsSync(".git")) return "";
  const isChanged =
    git("status", "--porcelain", "--", "src", "scripts", "package.json").stdout !== "";
  return ` (${stdout.trim()}${isChanged ? "+" : ""})`;
}

function git(...words) {
  return spawnSync("git", words, { encoding: "utf8" });
}

/** Returns the bundled files. */
async function bundle(
  input,
  {
    extension,
    inject = {},
    groups = {},
    later = {},
    plugins = [],
    minifiesPackages = false,
    ...options
  },
) {
  const source = {
    input,
    platform: "node",
    plugins: [...plugins, standIns, partsOfWebauthn, lexerOfMarked],
    preserveEntrySignatures: "allow-extension",
    external: [/^@koromix\/koffi-/, "@opentelemetry/api", "pg"],
    transform: {
      target: "node22.22",
      define: {
        JP_VERSION: JSON.stringify(manifest.version),
        JP_LONG_VERSION: JSON.stringify(`${manifest.version}${findCommit()}`),
      },
      inject,
    },
  };
  // Otherwise, code that an entry shares with others may become part of it, and all of it would seem needed.
  const alone = { ...source, preserveEntrySignatures: "strict" };
  const owners = groupOwners(await generate(alone, options), groups);
  for (const [id, group] of owners) {
    if (!FIRST_GROUPS.has(group))
      owners.set(id, laterGroup(path.relative(".", id), later) ?? group);
  }
  const output = await generate(
    source,
    {
      ...options,
      sourcemap: "hidden",
      sourcemapExcludeSources: true,
      dynamicImportInCjs: false, // Node warns about an import in code that the command compiles itself.
      entryFileNames: `[name].${extension}`,
      chunkFileNames: (chunk) => `${chunkName(chunk)}-[hash].${extension}`,
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [{ debugName: "loaded together", name: (id) => owners.get(id) ?? null }],
      },
    },
    "write",
  );
  moveMaps(options.dir);
  const chunks = output.filter(({ type }) => type === "chunk");
  if (minifiesPackages) {
    const ofPackages = chunks.filter(({ moduleIds }) =>
      moduleIds.every((id) => PACKAGE_FOLDER.test(id)),
    );
    await rewrite(
      options.dir,
      ofPackages.map(({ fileName }) => fileName),
      { minify: true },
    );
  }
  return filesIn(chunks);
}

/**
 * Moves the source maps out of the package, to `dist/maps/bin` and the like: they show where code is from, for the
 * budget and the start table.
 */
function moveMaps(dir) {
  for (const name of readdirSync(dir, { recursive: true })) {
    if (!name.endsWith(".map")) continue;
    const moved = path.join(made, "maps", path.basename(dir), name);
    mkdirSync(path.dirname(moved), { recursive: true });
    renameSync(path.join(dir, name), moved);
  }
}

function laterGroup(file, groups) {
  const isIn = (starts) => starts.some((start) => file.startsWith(start));
  return isIn(NOT_LATER) ? undefined : Object.keys(groups).find((name) => isIn(groups[name]));
}

function ownerOf([first, ...others]) {
  return first === "session" && others.length > 0 ? "start" : first;
}

/** The group of each module that has one. A chunk's modules are known only after unused code is removed. */
function groupOwners(chunks, groups) {
  const users = new Map();
  for (const [group, files] of Object.entries(groups)) {
    for (const file of files) {
      const entry = chunks.find(
        ({ facadeModuleId, moduleIds }) =>
          facadeModuleId === `${ENTRY}${file}` || moduleIds.includes(path.resolve(file)),
      );
      if (entry === undefined) throw new Error(`Nothing imports ${file}.`);
      for (const { moduleIds } of loadedWith(entry, chunks)) {
        for (const id of moduleIds) users.set(id, (users.get(id) ?? new Set()).add(group));
      }
    }
  }
  const owners = new Map([...users].map(([id, names]) => [id, ownerOf([...names])]));
  // The library's entries stay as they are.
  for (const { facadeModuleId } of chunks) {
    if (facadeModuleId?.startsWith(ENTRY)) owners.set(facadeModuleId, null);
  }
  return owners;
}

function loadedWith(entry, chunks) {
  const loaded = new Set([entry]);
  for (const { imports } of loaded) {
    for (const chunk of chunks) if (imports.includes(chunk.fileName)) loaded.add(chunk);
  }
  return loaded;
}

/** Builds the desk's page. File names have hashes, so that browsers may cache them. Returns the bundled files. */
async function bundlePage(dir) {
  const source = "src/surfaces/desk/page";
  const output = await generate(
    {
      input: { app: `${source}/main.tsx` },
      platform: "browser",
      tsconfig: `${source}/tsconfig.json`,
      transform: { target: "es2024" },
      plugins: [unusedNode, lexerOfMarked, partsOfHighlight, unscoredLanguages],
    },
    {
      dir,
      format: "esm",
      minify: true,
      comments: { annotation: false }, // For bundlers, hundreds of them.
      entryFileNames: "[name]-[hash].js",
      chunkFileNames: "[name]-[hash].js",
    },
    "write",
  );
  assertComplete(output);
  const style = readFileSync(`${source}/app.css`);
  const styleName = `app-${shortHash(style)}.css`;
  writeFileSync(`${dir}/${styleName}`, style);
  const html = readFileSync(`${source}/index.html`, "utf8")
    .replace("app.css", styleName)
    .replace("app.js", output.find(({ isEntry }) => isEntry).fileName);
  // It names the other files by their hashes, so its own hash identifies the build.
  const named = html.replace(
    'name="jp-build" content=""',
    `name="jp-build" content="${shortHash(html)}"`,
  );
  if (named === html) throw new Error("The page has no place for its build.");
  writeFileSync(`${dir}/index.html`, named);
  return filesIn(output);
}

function shortHash(content) {
  return createHash("sha256").update(content).digest("hex").slice(0, 8);
}

/** Throws for an import that is not in the bundle, except those allowed. */
function assertComplete(output, fine = /^$/) {
  const names = new Set(output.map(({ fileName }) => fileName));
  const missing = output.flatMap(({ imports }) =>
    imports.filter((name) => !names.has(name) && !fine.test(name)),
  );
  if (missing.length > 0) throw new Error(`Not in the bundle: ${missing.join(", ")}.`);
}

async function generate(input, options, how = "generate") {
  const build = await rolldown({
    ...input,
    onLog: (level, { code, message }) => {
      // Such as an unresolved import, which would fail for users.
      if (level === "warn" && !FINE_WARNINGS.has(code)) throw new Error(message);
    },
  });
  const { output } = await build[how](options);
  await build.close();
  return output;
}

/** Rewrites the files and their maps. */
async function rewrite(folder, names, how) {
  await Promise.all(
    names.map(async (name) => {
      const file = path.join(folder, name);
      const mapFile = path.join(made, "maps", path.basename(folder), `${name}.map`);
      const hasMap = existsSync(mapFile); // A file that only re-exports has no map.
      const before = hasMap ? readFileSync(mapFile).toString("base64") : "";
      const comment = hasMap ? `//# sourceMappingURL=data:application/json;base64,${before}` : "";
      const { code, map } = await transform(`${readFileSync(file, "utf8")}\n${comment}\n`, {
        ...how,
        target: "node22.22",
        sourcemap: "external",
        sourcesContent: false,
      });
      writeFileSync(file, code);
      if (hasMap) writeFileSync(mapFile, map);
    }),
  );
}

function filesIn(output) {
  return output.flatMap(({ modules }) =>
    Object.entries(modules).flatMap(([file, { renderedLength }]) =>
      renderedLength > 0 ? [withoutQuery(file)] : [],
    ),
  );
}

/** Names the chunk after its package: the file name alone is often just `dist`. */
function chunkName({ name, facadeModuleId, moduleIds }) {
  const [, owner] = PACKAGE_FOLDER.exec(facadeModuleId ?? moduleIds.at(-1)) ?? [];
  return owner === undefined ? name : toFileName(`${owner}-${name}`);
}

/** Such as `ai-sdk-provider` for `@ai-sdk/provider`. */
function toFileName(packageName) {
  return packageName.replace(/^@/, "").replaceAll(/[^\w-]/g, "-");
}

/** The help for output that is not a terminal: reading a file is faster than generating it. */
function writeHelp(folder) {
  chmodSync(`${folder}/jp.cjs`, 0o755);
  const help = spawnSync(process.execPath, [`${folder}/jp.cjs`, "--help"], { encoding: "utf8" });
  writeFileSync(`${folder}/help.txt`, help.stdout);
}

/**
 * Bundles the declarations of each entry, and what several share: hundreds of small files would take twice their size
 * on disk. The compiler's own output stays in `dist/types`, for the report in `api/`. Returns the bundled files.
 */
async function writeTypes(folder) {
  const compiled = `${made}/types`;
  const words = ["--project", "tsconfig.build.json", "--outDir", compiled];
  const [status] = await once(spawn("tsc", words, { stdio: "inherit" }), "close");
  if (status !== 0) throw new Error("The types have errors: see above.");

  const { dts } = await import("rolldown-plugin-dts"); // Not installed for the command alone.
  const output = await generate(
    {
      input: Object.fromEntries(ENTRIES.map((entry) => [entry, `${compiled}/${entry}.d.ts`])),
      external: /^node:/,
      resolve: {
        alias: { "json-schema": path.resolve("node_modules/@types/json-schema/index.d.ts") },
      },
      // It never generates declarations here; by default it would look for a compiler's API.
      plugins: [namedValibot, dts({ dtsInput: true, generator: "oxc", tsconfig: false })],
    },
    {
      dir: folder,
      format: "esm",
      minifyInternalExports: false,
      // A compiler may not load any types by itself.
      postBanner: '/// <reference types="node" preserve="true" />',
      postFooter: "export {};", // Otherwise, declarations without `export` would be exported too.
      // No hash, which would differ in each build.
      chunkFileNames: ({ moduleIds }) => `${path.basename(path.dirname(moduleIds.at(-1)))}.d.ts`,
    },
    "write",
  );
  assertComplete(output, /^node:/);
  return filesIn(output);
}

/** Throws if bundled or installed code is unknown, or has a licence that is not known to be acceptable. */
function writeNotices(files) {
  const review = JSON.parse(readFileSync("scripts/nested-code.json", "utf8"));
  const { packages: lock } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const packages = findThirdParty(files, review, "scripts/licences");
  assertFineLicences(installedEntries(lock).map(([folder, { license }]) => [folder, license]));
  writeFileSync(`${made}/THIRD-PARTY-NOTICES.txt`, noticesOf(packages));
  writeFileSync(
    `${made}/sbom.cdx.json`,
    `${JSON.stringify(sbomOf(manifest, packages, lock), null, 2)}\n`,
  );
}

function swap() {
  const replaced = `${made}-replaced`;
  if (existsSync("dist")) renameSync("dist", replaced);
  renameSync(made, "dist");
  rmSync(replaced, { recursive: true, force: true });
}
