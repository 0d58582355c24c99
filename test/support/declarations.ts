/**
 * The declarations of the built library, as the compiler wrote them: what each entry point exports, and what that refers to.
 * The package has them bundled.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./documents.ts";

/** An entry point of the package that has types. */
export interface Entry {
  /** As in an import: `jp-ts/tool`. */
  readonly name: string;
  /** Its `index.d.ts`, relative to the root. */
  readonly file: string;
  /** The same in the package. */
  readonly packed: string;
}

/** Where a name is declared, and how. */
export interface Declaration {
  readonly file: string;
  readonly name: string;
  /** As the compiler wrote it. Comments are left out, except for what they say of a deprecation. */
  readonly code: string;
  readonly isDocumented: boolean;
}

/** A name that programs should stop using. */
export interface Deprecation {
  readonly name: string;
  /** What the comment says after `@deprecated`. */
  readonly advice: string;
}

const COMMENT = /\/\*\*[\s\S]*?\*\//g;
const RE_EXPORT = /^export (?:type )?\{(?<names>[^}]*)\} from "(?<from>.+)\.ts";$/gm;
const EXPORT_LIST = /^export (?:type )?\{([^}]*)\};$/gm;
const IMPORT = /^import (?:type )?\{(?<names>[^}]*)\} from "(?<from>.+)\.ts";$/gm;
const INLINE_IMPORT = /\bimport\("(?<from>.+?)\.ts"\)\.(?<names>\w+)/g;
const KEYWORDS = "function|const|class|interface|type";
const DECLARED = new RegExp(`^(?:export |declare |abstract )*(?:${KEYWORDS}) (?<name>\\w+)`, "m");
const DEPRECATED = new RegExp(
  `/\\*\\* @deprecated (?<advice>.*) \\*/\\s+(?:(?:export|declare|readonly|static|${KEYWORDS}) )*(?<name>\\w+)`,
  "g",
);

/** The main entry point comes first. */
export function readEntries(): readonly Entry[] {
  const manifest = JSON.parse(read("package.json")) as {
    readonly name: string;
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return Object.entries(manifest.exports).flatMap(([place, target]) =>
    typeof target === "string"
      ? []
      : [
          {
            name: path.posix.join(manifest.name, place),
            file: path.normalize(target.types.replace("/lib/", "/types/")),
            packed: path.normalize(target.types),
          },
        ],
  );
}

/** The names that programs can import from an entry point of the package, sorted. */
export function packedNamesOf({ packed }: Entry): readonly string[] {
  const text = read(packed);
  const lists = [...text.matchAll(EXPORT_LIST)];
  const listed = lists.flatMap(([, list = ""]) => splitNames(list));
  // Where nothing is listed, not even in an empty list, TypeScript exports whatever is declared.
  const own = statementsOf(packed).filter((code) => lists.length === 0 || isExported(code));
  const names = new Set([...listed, ...own.map(nameOf)]);
  names.delete("");
  return [...names].toSorted();
}

/** What an entry point exports, sorted by name. */
export function exportsOf({ file }: Entry): readonly Declaration[] {
  if (/^export \*/m.test(read(file))) throw new Error(`${file} must name what it exports`);
  const own = statementsOf(file).filter(isExported).map(nameOf);
  const names = new Set([...namesIn(file, RE_EXPORT).keys(), ...own]);
  names.delete("");
  return [...names].toSorted().map((name) => findDeclaration(file, name));
}

/** The declarations in our own files that this one refers to. */
export function referencesOf({ file, name, code }: Declaration): readonly Declaration[] {
  const local = statementsOf(file).map((statement) => [nameOf(statement), file] as const);
  const visible = new Map([...local, ...namesIn(file, IMPORT), ...namesIn(file, INLINE_IMPORT)]);
  visible.delete("");
  visible.delete(name);
  return (
    [...visible]
      // `external` has types that are copied from other packages.
      .filter(([, from]) => !from.includes(`${path.sep}external${path.sep}`))
      .filter(([other]) => new RegExp(`\\b${other}\\b`).test(code))
      .map(([other, from]) => findDeclaration(from, other))
  );
}

/** Of a type, class or interface that other files can import. */
export function isExportedType({ code }: Declaration): boolean {
  return isExported(code) && !isValue(code);
}

/** What the declarations refer to, directly or not, and is not among them. */
export function internalsOf(declarations: readonly Declaration[]): readonly Declaration[] {
  const given = new Map(declarations.map((one) => [keyOf(one), one]));
  const known = new Map(given);
  // A map also yields what is added to it on the way.
  for (const declaration of known.values()) {
    // A type that is made from a value (`keyof typeof …`) does not depend on how the value is made.
    if (!given.has(keyOf(declaration)) && isValue(declaration.code)) continue;
    for (const other of referencesOf(declaration)) {
      if (!known.has(keyOf(other))) known.set(keyOf(other), other);
    }
  }
  return [...known.values()].slice(given.size);
}

/** The same for one declaration, whatever exports it. */
export function keyOf({ name, file }: Declaration): string {
  return `${name} ${file}`;
}

/** The names that are deprecated in a declaration or with it, and what is said about each. */
export function deprecationsIn({ code }: Pick<Declaration, "code">): readonly Deprecation[] {
  return [...code.matchAll(DEPRECATED)].map(({ groups = {} }) => ({
    name: groups["name"] ?? "",
    advice: groups["advice"] ?? "",
  }));
}

/** A type that is written as `import("./file.ts").Name` becomes `Name`. */
export function withoutInlineImports(code: string): string {
  return code.replaceAll(INLINE_IMPORT, "$<names>");
}

/** Follows a name through the indexes to where it is declared. */
function findDeclaration(file: string, name: string): Declaration {
  const next = namesIn(file, RE_EXPORT).get(name);
  if (next !== undefined) return findDeclaration(next, name);
  const statements = statementsOf(file).filter((code) => nameOf(code) === name);
  if (statements.length === 0) throw new Error(`${name} is not declared in ${file}`);
  const text = read(file);
  const start = text.search(
    new RegExp(`^(?:export |declare |abstract )*(?:${KEYWORDS}) ${name}\\b`, "m"),
  );
  return {
    file,
    name,
    // More than one if a function has overloads.
    code: statements.join("\n"),
    isDocumented: text.slice(0, start).trimEnd().endsWith("*/"),
  };
}

/** The top-level statements of a file. */
function statementsOf(file: string): readonly string[] {
  return read(file)
    .replaceAll(COMMENT, (comment, index: number, text: string) => {
      const [deprecation] = /@deprecated [^\n]*?(?=\s*(?:\n|\*\/))/.exec(comment) ?? [];
      // Before a member of a union, where a comment would look like the start of a statement.
      const isInUnion = /^\s*[|{]/.test(text.slice(index + comment.length));
      return deprecation === undefined || isInUnion ? "" : `/** ${deprecation} */`;
    })
    .replaceAll(/\n(?:\s*\n)+/g, "\n")
    .split(/(?<!\*\/)\n(?=[a-z/])/);
}

/** Empty if the statement declares nothing. */
function nameOf(statement: string): string {
  return DECLARED.exec(statement)?.groups?.["name"] ?? "";
}

function isExported(statement: string): boolean {
  return /^export (?!\{)/m.test(statement);
}

function isValue(statement: string): boolean {
  return /^(?:export )?declare (?:const|function) /m.test(statement);
}

/** The names that a file takes from others, with those files. */
function namesIn(file: string, pattern: RegExp): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { groups = {} } of read(file).matchAll(pattern)) {
    const source = path.join(path.dirname(file), `${groups["from"]}.d.ts`);
    for (const name of splitNames(groups["names"] ?? "")) found.set(name, source);
  }
  return found;
}

function splitNames(list: string): readonly string[] {
  const names = list
    .split(",")
    .map((name) => name.replace("type ", "").trim())
    .filter((name) => name !== "");
  const renamed = names.find((name) => name.includes(" as "));
  if (renamed !== undefined) throw new Error(`Cannot follow a renamed name: ${renamed}`);
  return names;
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), "utf8");
}
