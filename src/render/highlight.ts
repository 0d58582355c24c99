/**
 * Syntax highlighting, line by line. The highlighter and each language are loaded on first use, before the
 * first line of code; after that, everything is synchronous.
 */
import type { HLJSApi, LanguageFn } from "highlight.js";
import type { Paint, StyleName } from "./style.ts";

/** Takes a neutralized line. */
export type LineHighlighter = (line: string) => string;

let highlighter: HLJSApi | undefined;

/** Longer lines stay plain; of a longer context, such as a comment, only the first line is kept. */
const MAX_LINE = 2000;
const MAX_CONTEXT = 200;

const STYLES: Readonly<Record<string, StyleName>> = {
  addition: "green",
  attr: "cyan",
  attribute: "cyan",
  built_in: "cyan",
  bullet: "cyan",
  comment: "dim",
  deletion: "red",
  doctag: "dim",
  keyword: "magenta",
  link: "underline",
  literal: "magenta",
  meta: "dim",
  name: "cyan",
  number: "magenta",
  quote: "dim",
  regexp: "green",
  section: "bold",
  string: "green",
  symbol: "magenta",
  title: "bold",
  type: "cyan",
  variable: "cyan",
};

/** Undefined if the language is unknown or already loaded. Never rejects. */
export function prepareLanguage(name: string): Promise<void> | undefined {
  const language = findLanguage(name);
  if (language === undefined || isReady(language.id)) return undefined;
  const load = async () => {
    const [core, definition] = await Promise.all([
      import("highlight.js/lib/core"),
      language.load(),
    ]);
    highlighter = core.default;
    highlighter.registerLanguage(language.id, definition.default);
  };
  // Show the code without colours.
  return load().catch(() => undefined);
}

/**
 * Highlights each line after the lines it depends on: those since a comment or string began, or since the last
 * line that is not indented. Plain if the language is not loaded.
 */
export function createLineHighlighter(name: string, paint: Paint): LineHighlighter {
  const language = findLanguage(name);
  if (language === undefined || !isReady(language.id)) return (line) => line;
  let context = "";
  let isInSpan = false;
  return (line) => {
    if (line.length > MAX_LINE) return line;
    if (!isInSpan && STARTS_AFRESH.test(line)) context = "";
    const result = highlighter?.highlight(`${context}${line}\n`, {
      language: language.id,
      ignoreIllegals: true,
    });
    if (result === undefined) return line;
    const wasInSpan = isInSpan;
    isInSpan = ENDS_IN_SPAN.test(result.value);
    if (isInSpan !== wasInSpan) context = "";
    if (isInSpan || !wasInSpan) context = shorten(`${context}${line}\n`);
    return paintLastLine(result.value.replace(/\n(?=(?:<\/span>)*$)/, ""), paint);
  };
}

/** Neither indented nor a closing bracket. */
const STARTS_AFRESH = /^[^\s\]})]/;
/** The line break belongs to a comment or string, which therefore continues on the next line. */
const ENDS_IN_SPAN = /\n(?:<\/span>)+$/;

function isReady(id: string): boolean {
  return highlighter?.getLanguage(id) !== undefined;
}

/** The first line says what is open; the rest would be highlighted again for every line. */
function shorten(context: string): string {
  return context.length <= MAX_CONTEXT ? context : context.slice(0, context.indexOf("\n") + 1);
}

/** The highlighter's HTML has only spans and five entities. */
function paintLastLine(html: string, paint: Paint): string {
  const open: (StyleName | undefined)[] = [];
  let line = "";
  for (const [part, scope] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (scope !== undefined) open.push(styleOf(scope) ?? open.at(-1));
    else if (part === "</span>") open.pop();
    else {
      const text = part.slice(part.lastIndexOf("\n") + 1);
      if (text.length < part.length) line = "";
      const style = open.at(-1);
      const decoded = decode(text);
      line += style === undefined || decoded === "" ? decoded : paint(style, decoded);
    }
  }
  return line;
}

/** In `hljs-title function_`, the first word counts. */
function styleOf(scope: string): StyleName | undefined {
  const name = /^hljs-(\w+)/.exec(scope)?.[1] ?? "";
  return Object.hasOwn(STYLES, name) ? STYLES[name] : undefined;
}

function decode(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&amp;", "&");
}

type Load = () => Promise<{ readonly default: LanguageFn }>;

const LANGUAGES: Readonly<Record<string, Load>> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  clojure: () => import("highlight.js/lib/languages/clojure"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  csharp: () => import("highlight.js/lib/languages/csharp"),
  css: () => import("highlight.js/lib/languages/css"),
  dart: () => import("highlight.js/lib/languages/dart"),
  diff: () => import("highlight.js/lib/languages/diff"),
  dockerfile: () => import("highlight.js/lib/languages/dockerfile"),
  elixir: () => import("highlight.js/lib/languages/elixir"),
  go: () => import("highlight.js/lib/languages/go"),
  graphql: () => import("highlight.js/lib/languages/graphql"),
  haskell: () => import("highlight.js/lib/languages/haskell"),
  ini: () => import("highlight.js/lib/languages/ini"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  kotlin: () => import("highlight.js/lib/languages/kotlin"),
  lua: () => import("highlight.js/lib/languages/lua"),
  makefile: () => import("highlight.js/lib/languages/makefile"),
  markdown: () => import("highlight.js/lib/languages/markdown"),
  nix: () => import("highlight.js/lib/languages/nix"),
  perl: () => import("highlight.js/lib/languages/perl"),
  php: () => import("highlight.js/lib/languages/php"),
  powershell: () => import("highlight.js/lib/languages/powershell"),
  protobuf: () => import("highlight.js/lib/languages/protobuf"),
  python: () => import("highlight.js/lib/languages/python"),
  r: () => import("highlight.js/lib/languages/r"),
  ruby: () => import("highlight.js/lib/languages/ruby"),
  rust: () => import("highlight.js/lib/languages/rust"),
  scala: () => import("highlight.js/lib/languages/scala"),
  scss: () => import("highlight.js/lib/languages/scss"),
  shell: () => import("highlight.js/lib/languages/shell"),
  sql: () => import("highlight.js/lib/languages/sql"),
  swift: () => import("highlight.js/lib/languages/swift"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};

const ALIASES: Readonly<Record<string, string>> = {
  "c#": "csharp",
  "c++": "cpp",
  cc: "cpp",
  cjs: "javascript",
  clj: "clojure",
  console: "shell",
  cs: "csharp",
  docker: "dockerfile",
  ex: "elixir",
  golang: "go",
  gql: "graphql",
  h: "c",
  hpp: "cpp",
  hs: "haskell",
  htm: "xml",
  html: "xml",
  js: "javascript",
  json5: "json",
  jsonc: "json",
  jsonl: "json",
  jsx: "javascript",
  kt: "kotlin",
  make: "makefile",
  md: "markdown",
  mjs: "javascript",
  mts: "typescript",
  patch: "diff",
  pl: "perl",
  proto: "protobuf",
  ps1: "powershell",
  py: "python",
  python3: "python",
  rb: "ruby",
  rs: "rust",
  sh: "bash",
  shellsession: "shell",
  svg: "xml",
  toml: "ini",
  ts: "typescript",
  tsx: "typescript",
  vue: "xml",
  yml: "yaml",
  zsh: "bash",
};

/** The name that the language is registered under, and how it is loaded. */
function findLanguage(name: string): { readonly id: string; readonly load: Load } | undefined {
  const id = Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? name) : name;
  const load = Object.hasOwn(LANGUAGES, id) ? LANGUAGES[id] : undefined;
  return load === undefined ? undefined : { id, load };
}
