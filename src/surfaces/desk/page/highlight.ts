/** Syntax highlighting as a list of pieces. Loaded on first use: most questions contain no code. */
import type { Emitter } from "highlight.js";
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
/** Collects the pieces. A piece in an unnamed scope keeps the one around it. */
class PieceEmitter implements Emitter {
  readonly pieces: Piece[] = [];
  readonly #open: (string | undefined)[] = [];

  startScope(name: string): void {
    this.#open.push(/^[a-z]+(?!\w*:)/.exec(name)?.[0] ?? this.#open.at(-1));
  }

  endScope(): void {
    this.#open.pop();
  }

  /** The highlighter uses both pairs of names. */
  openNode(name: string): void {
    this.startScope(name);
  }

  closeNode(): void {
    this.endScope();
  }

  addText(text: string): void {
    const scope = this.#open.at(-1);
    const last = this.pieces.at(-1);
    if (last !== undefined && last.scope === scope) {
      this.pieces[this.pieces.length - 1] = { ...last, text: last.text + text };
    } else if (text !== "") this.pieces.push({ text, ...(scope !== undefined && { scope }) });
  }

  __addSublanguage(emitter: Emitter): void {
    if (!(emitter instanceof PieceEmitter)) return;
    for (const { text, scope } of emitter.pieces) {
      this.#open.push(scope ?? this.#open.at(-1));
      this.addText(text);
      this.#open.pop();
    }
  }

  finalize(): void {}

  /** Never used: the pieces do not become HTML. */
  toHTML(): string {
    return "";
  }
}

/** A separate instance with its own settings. */
const highlighter = core.newInstance();
highlighter.configure({ __emitter: PieceEmitter });
for (const [name, language] of Object.entries(LANGUAGES)) {
  highlighter.registerLanguage(name, language);
}
highlighter.registerAliases(["js", "jsx", "mjs", "cjs"], { languageName: "javascript" });

/** Undefined if the language is unknown. After an error, the pieces are not the whole code. */
export function highlight(code: string, language: string): readonly Piece[] | undefined {
  if (highlighter.getLanguage(language) === undefined) return undefined;
  const { _emitter: emitter } = highlighter.highlight(code, { language, ignoreIllegals: true });
  return emitter instanceof PieceEmitter ? emitter.pieces : undefined;
}
