/** Inline Markdown in paragraphs, headings and cells: marked parses it, this file styles it. */
import { Lexer, type Links, type Token, Tokenizer, type Tokens } from "marked";
import type { StyleName } from "../style.ts";
import { type Look, UNSTYLED, type WordSplitter } from "./page.ts";

export interface InlineOptions {
  /** Keeps the marks, since without colours nothing else sets code apart. */
  readonly keepsMarks: boolean;
  readonly hyperlinks: boolean;
  /** Link definitions so far, by label. */
  readonly links: Links;
}

/** Longer text is shown unparsed, since parsing it could take very long. */
const MAX_PARSED = 4000;
/** Text without any of these needs no parsing. */
const SPECIAL = /[\\`*_~[<&@!]| {2}\n|:\/\/|www\./i;

/** Takes only two tildes as strikethrough: one is usually `about` or a home folder. */
class StrictTokenizer extends Tokenizer {
  override del(source: string, masked: string, previous?: string): Tokens.Del | undefined {
    return source.startsWith("~~") ? super.del(source, masked, previous) : undefined;
  }
}

export function addInline(source: string, splitter: WordSplitter, options: InlineOptions): void {
  addInlineAs(UNSTYLED, { source, splitter, options });
}

interface Inline {
  readonly source: string;
  readonly splitter: WordSplitter;
  readonly options: InlineOptions;
}

/** Uses a base look, as in headings. */
export function addInlineAs(look: Look, { source, splitter, options }: Inline): void {
  if (source.length > MAX_PARSED || !SPECIAL.test(source)) {
    splitter.add(source, look);
    return;
  }
  const lexer = new Lexer({ gfm: true, tokenizer: new StrictTokenizer() });
  lexer.tokens.links = options.links;
  addTokens(lexer.inlineTokens(source), look, { splitter, options });
}

type Target = Omit<Inline, "source">;

function addTokens(tokens: readonly Token[], look: Look, target: Target): void {
  for (const token of tokens) addToken(token, look, target);
}

function addToken(token: Token, look: Look, target: Target): void {
  const { splitter } = target;
  switch (token.type) {
    case "text":
      splitter.add(decodeEntities((token as Tokens.Text).text), look);
      break;
    case "escape":
      splitter.add((token as Tokens.Escape).text, look);
      break;
    case "strong":
      addMarked(token as Tokens.Strong, { mark: "**", style: "bold", look, target });
      break;
    case "em":
      addMarked(token as Tokens.Em, { mark: "*", style: "italic", look, target });
      break;
    case "del":
      addMarked(token as Tokens.Del, { mark: "~~", style: "dim", look, target });
      break;
    case "codespan":
      addCode((token as Tokens.Codespan).text, look, target);
      break;
    case "br":
      splitter.addBreak();
      break;
    case "link":
      addLink(token as Tokens.Link, look, target);
      break;
    case "image": {
      const { text, href } = token as Tokens.Image;
      splitter.add(decodeEntities(text === "" ? "image" : text), look);
      addAddress(decodeEntities(href), look, target);
      break;
    }
    case "html":
      if (/^<br\s*\/?>$/i.test(token.raw)) splitter.addBreak();
      else splitter.add(token.raw, look);
      break;
    // Token types that marked may add later are shown unparsed.
    default:
      splitter.add(token.raw, look);
  }
}

interface Marking {
  readonly mark: string;
  readonly style: StyleName;
  readonly look: Look;
  readonly target: Target;
}

function addMarked(token: Tokens.Strong | Tokens.Em | Tokens.Del, marking: Marking): void {
  const { mark, style, look, target } = marking;
  // Keep the marks: struck-out text must not read as if it still applied.
  const shownMark = target.options.keepsMarks || token.type === "del" ? mark : "";
  const inner = withStyle(look, style);
  target.splitter.add(shownMark, inner);
  addTokens(token.tokens, inner, target);
  target.splitter.add(shownMark, inner);
}

function addCode(text: string, look: Look, { splitter, options }: Target): void {
  const marks = "`".repeat(1 + Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length)));
  const shown = options.keepsMarks ? marks + text + marks : text;
  splitter.add(shown, { ...withStyle(look, "cyan"), keepsBlanks: true });
}

function addLink(token: Tokens.Link, look: Look, target: Target): void {
  const address = decodeEntities(token.href);
  const text = decodeEntities(token.text);
  const safe = target.options.hyperlinks ? findSafeAddress(address) : undefined;
  const inner = withStyle(look, "underline");
  addTokens(token.tokens, safe === undefined ? inner : { ...inner, address: safe }, target);
  const isHidden = safe !== undefined && text !== "" && !looksLikeAddress(text);
  if (!isHidden && !showsAddress(text, address)) addAddress(address, look, target);
}

function addAddress(address: string, look: Look, { splitter }: Target): void {
  splitter.add(` (${address})`, withStyle(look, "dim"));
}

function withStyle(look: Look, style: StyleName): Look {
  return look.styles.includes(style) ? look : { ...look, styles: [...look.styles, style] };
}

/** Clicking on other links may run a program or open a file. */
const SAFE_PROTOCOLS: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);

/** The address, if it is safe in an escape sequence. */
function findSafeAddress(address: string): string | undefined {
  const url = URL.parse(address);
  if (url === null || !SAFE_PROTOCOLS.has(url.protocol)) return undefined;
  return /^[\x21-\x7e]+$/.test(url.href) ? url.href : undefined;
}

/** Whether a link's text already shows its address. */
function showsAddress(text: string, address: string): boolean {
  return ["", "mailto:", "http://", "https://"].some((before) => before + text === address);
}

/** If the text looks like an address, the real one must be shown as well. */
function looksLikeAddress(text: string): boolean {
  return /:\/\/|^www\.|^[\w-]+(?:\.[\w-]+)+(?:\/|$)/i.test(text.trim());
}

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  apos: "'",
  copy: "©",
  gt: ">",
  hellip: "…",
  larr: "←",
  le: "≤",
  ge: "≥",
  ldquo: "“",
  lsquo: "‘",
  lt: "<",
  mdash: "—",
  middot: "·",
  nbsp: "\u00a0",
  ndash: "–",
  ne: "≠",
  quot: '"',
  rarr: "→",
  rdquo: "”",
  reg: "®",
  rsquo: "’",
  times: "×",
  trade: "™",
};

/** Leaves unknown entities as they are. The result must be neutralized. */
function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(/&(?:#x([0-9a-f]{1,6})|#\d{1,7}|[a-z]+);/gi, decode);
}

function decode(entity: string, hexadecimal?: string): string {
  const name = entity.slice(1, -1);
  if (!name.startsWith("#")) return Object.hasOwn(NAMED, name) ? (NAMED[name] ?? entity) : entity;
  const code = hexadecimal === undefined ? Number(name.slice(1)) : Number.parseInt(hexadecimal, 16);
  const isCharacter = code > 0 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff);
  return isCharacter ? String.fromCodePoint(code) : "\u{fffd}";
}
