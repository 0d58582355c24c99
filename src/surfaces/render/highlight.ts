/**
 * Syntax highlighting, line by line. The highlighter and each language are loaded on first use, before the first line
 * of code; everything after that is synchronous.
 */
import type { Emitter, HLJSApi, LanguageFn } from "highlight.js";
import type { Paint, StyleName } from "./style.ts";

/** Takes a neutralized line. */
export type LineHighlighter = (line: string) => string;

let highlighter: HLJSApi | undefined;

/** Longer lines stay plain; a longer context, such as a comment, is cut to its first line. */
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
    highlighter.configure({ __emitter: SpanEmitter });
    highlighter.registerLanguage(language.id, definition.default);
  };
  // Falls back to code without colours.
  return load().catch(() => undefined);
}

/**
 * Highlights each line in its context: the lines since a comment or string began, or since the last unindented line.
 * Plain if the language is not loaded.
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
    const { _emitter: code, errorRaised } = result ?? {};
    if (!(code instanceof SpanEmitter) || errorRaised !== undefined) return line;
    const wasInSpan = isInSpan;
    ({ isInSpan } = code);
    if (isInSpan !== wasInSpan) context = "";
    if (isInSpan || !wasInSpan) context = shorten(`${context}${line}\n`);
    return code.paintLastLine(paint);
  };
}

/** Neither indented nor a closing bracket. */
const STARTS_AFRESH = /^[^\s\]})]/;
function isReady(id: string): boolean {
  return highlighter?.getLanguage(id) !== undefined;
}

/** The first line determines what is open; the rest would be highlighted again for every line. */
function shorten(context: string): string {
  return context.length <= MAX_CONTEXT ? context : context.slice(0, context.indexOf("\n") + 1);
}

/** A span of code and its style. */
interface Span {
  text: string;
  readonly style: StyleName | undefined;
  /** It is part of a scope: a comment, a string, a keyword. */
  readonly isInside: boolean;
}

/** Collects spans of code, where the highlighter's own emitter would render HTML. */
class SpanEmitter implements Emitter {
  readonly #spans: Span[] = [];
  readonly #open: (StyleName | undefined)[] = [];
  /** No scope has started or ended since the last text. */
  #isSame = false;
  #hasBegun = false;

  /** The last line break belongs to a comment or string, which therefore continues on the next line. */
  get isInSpan(): boolean {
    const last = this.#spans.at(-1);
    return last !== undefined && last.isInside && !this.#hasBegun && last.text.endsWith("\n");
  }

  /** Omits the line break. */
  paintLastLine(paint: Paint): string {
    let line = "";
    let isLast = true; // Skips the trailing line break, to find the one before the line.
    for (let index = this.#spans.length - 1; index >= 0; index -= 1) {
      const { text, style } = this.#spans[index] ?? NOTHING;
      const whole = isLast ? text.replace(/\n$/, "") : text;
      if (text !== "") isLast = false;
      const start = whole.lastIndexOf("\n") + 1;
      const shown = whole.slice(start);
      line = (style === undefined || shown === "" ? shown : paint(style, shown)) + line;
      if (start > 0) break;
    }
    return line;
  }

  /** The highlighter uses both pairs of names. */
  openNode(name: string): void {
    this.startScope(name);
  }

  closeNode(): void {
    this.endScope();
  }

  startScope(name: string): void {
    this.#open.push(styleOf(name) ?? this.#open.at(-1));
    this.#isSame = false;
    this.#hasBegun = true;
  }

  endScope(): void {
    this.#open.pop();
    this.#isSame = false;
  }

  addText(text: string): void {
    if (text === "") return;
    const last = this.#spans.at(-1);
    if (this.#isSame && last !== undefined) last.text += text;
    else this.#spans.push({ text, style: this.#open.at(-1), isInside: this.#open.length > 0 });
    this.#isSame = true;
    this.#hasBegun = false;
  }

  __addSublanguage(emitter: Emitter, name: string): void {
    if (!(emitter instanceof SpanEmitter)) return;
    const style = this.#open.at(-1);
    const isInside = this.#open.length > 0 || Boolean(name);
    this.#isSame = false;
    this.#hasBegun = false;
    for (const span of emitter.#spans) {
      this.#spans.push({
        text: span.text,
        style: span.style ?? style,
        isInside: span.isInside || isInside,
      });
    }
  }

  finalize(): void {
    this.#open.length = 0;
  }

  /** Always called, but its result is unused. */
  toHTML(): string {
    return "";
  }
}

const NOTHING: Span = { text: "", style: undefined, isInside: false };

/** Uses the first word, as in `title.function`. */
function styleOf(scope: string): StyleName | undefined {
  const [name = ""] = scope.split(".", 1);
  return Object.hasOwn(STYLES, name) ? STYLES[name] : undefined;
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

/** The language's registered name and its loader. */
function findLanguage(name: string): { readonly id: string; readonly load: Load } | undefined {
  const id = Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? name) : name;
  const load = Object.hasOwn(LANGUAGES, id) ? LANGUAGES[id] : undefined;
  return load === undefined ? undefined : { id, load };
}
