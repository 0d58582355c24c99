/** Syntax highlighting as a list of pieces. Loaded on first use: most questions contain no code. */
import core from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { decodeEntities } from "./entities.ts";

/** A piece of code and its highlighter class, such as `keyword`. */
export interface Piece {
  readonly text: string;
  readonly scope?: string;
}

const LANGUAGES = {
  bash,
  go,
  ini,
  javascript: typescript, // This grammar reads both, and each would include the other.
  json,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};
/** A separate instance with its own settings. */
const highlighter = core.newInstance();
for (const [name, language] of Object.entries(LANGUAGES)) {
  highlighter.registerLanguage(name, language);
}
highlighter.registerAliases(["js", "jsx", "mjs", "cjs"], { languageName: "javascript" });

/** Undefined if the language is unknown. */
export function highlight(code: string, language: string): readonly Piece[] | undefined {
  const known = highlighter.getLanguage(language);
  if (known === undefined) return undefined;
  const { value } = highlighter.highlight(code, { language, ignoreIllegals: true });
  return piecesOf(value);
}

/** The highlighter's HTML has only entities and spans with a class. It is parsed here and never becomes HTML. */
export function piecesOf(html: string): readonly Piece[] {
  const open: (string | undefined)[] = [];
  const pieces: Piece[] = [];
  for (const [part, scope] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (scope !== undefined) open.push(/^hljs-([a-z]+)/.exec(scope)?.[1] ?? open.at(-1));
    else if (part === "</span>") open.pop();
    else {
      const inner = open.at(-1);
      pieces.push({ text: decodeEntities(part), ...(inner !== undefined && { scope: inner }) });
    }
  }
  return pieces;
}
