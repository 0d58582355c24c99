/**
 * Turns HTML into text for a model: headings, lists, links, code and tables as Markdown, without scripts, styles, markup,
 * and elements marked as hidden. Takes linear time for any page.
 */

/** Left out with all their content. */
const DROPPED = new Set(["script", "style", "noscript", "svg", "iframe", "template", "head"]);
const BLOCKS = new Set(
  (
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header hr " +
    "html main nav ol p section summary table ul"
  ).split(" "),
);

const TABLE_PARTS = new Set(["tbody", "thead", "tfoot"]);

/** How many characters of a tag are examined. */
const MAX_ATTRIBUTES = 4000;

interface Tag {
  readonly name: string;
  readonly isEnd: boolean;
  readonly attributes: string;
  /** The position after the tag. */
  readonly end: number;
}

/** Never throws: invalid HTML is treated as text. Links are relative to `url`. */
export function htmlToText(html: string, url: URL): string {
  const title = findTitle(html);
  const writer = new TextWriter(findBase(html, url));
  let hidden: HiddenElement | undefined;
  for (let at = 0; at < html.length;) {
    const open = html.indexOf("<", at);
    const end = open === -1 ? html.length : open;
    if (hidden === undefined) writer.text(decodeEntities(html.slice(at, end)));
    if (open === -1) break;
    const tag = tagAt(html, open);
    if (tag === undefined) {
      if (hidden === undefined) writer.text("<");
      at = open + 1;
      continue;
    }
    at = DROPPED.has(tag.name) && !tag.isEnd ? endOfElement(html, tag) : tag.end;
    if (hidden?.contains(tag) === true) {
      if (hidden.isClosed) hidden = undefined;
      continue;
    }
    hidden = isHidden(tag) ? new HiddenElement(tag.name) : undefined;
    if (hidden === undefined) writer.tag(tag);
    else if (BLOCKS.has(tag.name)) writer.tag({ ...tag, name: "div" }); // It still separates its neighbours.
  }
  const body = writer.end();
  return title === "" || body.startsWith(`# ${title}`) ? body : `# ${title}\n\n${body}`;
}

/** The first heading of a page is often its logo. */
function findTitle(html: string): string {
  const start = html.search(/<title[\s>]/i);
  const tag = start === -1 ? undefined : tagAt(html, start);
  if (tag === undefined) return "";
  const end = html.indexOf("<", tag.end);
  return decodeEntities(html.slice(tag.end, end === -1 ? html.length : end))
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** A page may set its own base for links. */
function findBase(html: string, url: URL): URL {
  const start = html.search(/<base\s/i);
  const tag = start === -1 ? undefined : tagAt(html, start);
  const href = tag === undefined ? undefined : attributesOf(tag).get("href");
  return (href === undefined ? null : URL.parse(href, url)) ?? url;
}

/** Undefined if this is only a `<`. */
function tagAt(html: string, open: number): Tag | undefined {
  if (html.startsWith("<!--", open)) {
    const close = html.indexOf("-->", open + 4);
    return { name: "!", isEnd: false, attributes: "", end: close === -1 ? html.length : close + 3 };
  }
  const start = /<(\/?)([a-z][a-z0-9-]*|[!?])/iy;
  start.lastIndex = open;
  const match = start.exec(html);
  if (match === null) return undefined;
  const close = closeOf(html, start.lastIndex);
  return {
    name: (match[2] ?? "").toLowerCase(),
    isEnd: match[1] === "/",
    attributes: html.slice(start.lastIndex, Math.min(close, start.lastIndex + MAX_ATTRIBUTES)),
    end: close + 1,
  };
}

/** The position of the `>` that ends a tag, ignoring quoted ones. */
function closeOf(html: string, from: number): number {
  let quote = "";
  for (let at = from; at < html.length; at += 1) {
    const character = html.charAt(at);
    if (quote !== "") {
      if (character === quote) quote = "";
    } else if (character === ">") return at;
    else if ((character === '"' || character === "'") && html[at - 1] === "=") quote = character;
  }
  return html.length;
}

function endOfElement(html: string, { name, end }: Tag): number {
  const close = new RegExp(`</${name}[\\s>]`, "gi");
  close.lastIndex = end;
  const match = close.exec(html);
  return match === null ? html.length : (tagAt(html, match.index)?.end ?? html.length);
}

/** Elements without content. */
const VOID = new Set(
  "area base br col embed hr img input link meta param source track wbr ! ?".split(" "),
);

/** Elements that end where one of these starts. */
const ENDED_BY: Readonly<Record<string, readonly string[]>> = {
  li: ["li"],
  dt: ["dt", "dd"],
  dd: ["dt", "dd"],
  tr: ["tr"],
  td: ["td", "th", "tr"],
  th: ["td", "th", "tr"],
  option: ["option"],
};

const ATTRIBUTE = /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;

/** Keyed by name in lower case; the first of several counts. */
function attributesOf({ attributes }: Pick<Tag, "attributes">): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [, name = "", double, single, bare] of attributes.matchAll(ATTRIBUTE)) {
    const key = name.toLowerCase();
    if (!found.has(key)) found.set(key, decodeEntities(double ?? single ?? bare ?? ""));
  }
  return found;
}

/** Checks only the element itself: style sheets are not read. */
function isHidden(tag: Tag): boolean {
  if (tag.isEnd || VOID.has(tag.name) || !/hidden|style/i.test(tag.attributes)) return false;
  const attributes = attributesOf(tag);
  const style = attributes.get("style") ?? "";
  return (
    (attributes.has("hidden") && attributes.get("hidden")?.toLowerCase() !== "until-found") ||
    attributes.get("aria-hidden")?.toLowerCase() === "true" ||
    /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b/i.test(style)
  );
}

/** An element that is not shown. It ends with its own end tag, or where another tag implies its end. */
class HiddenElement {
  readonly #name: string;
  /** The elements open in it, and how many of each name. */
  readonly #open: string[] = [];
  readonly #counts = new Map<string, number>();
  /** Its own end tag was found. */
  isClosed = false;

  constructor(name: string) {
    this.#name = name;
  }

  /** Call it for each tag in turn, until it returns false or `isClosed` is set. */
  contains({ name, isEnd }: Tag): boolean {
    if (VOID.has(name)) return true;
    if (!isEnd) return DROPPED.has(name) || this.#enter(name);
    if ((this.#counts.get(name) ?? 0) > 0) {
      while (this.#leave() !== name);
      return true;
    }
    this.isClosed = name === this.#name;
    // The end of a surrounding element, which implies the end of this one.
    return this.isClosed || !(BLOCKS.has(name) || TABLE_PARTS.has(name));
  }

  #enter(name: string): boolean {
    const isNext = ENDED_BY[this.#name]?.includes(name) === true || this.#endsParagraph(name);
    if (this.#open.length === 0 && isNext) return false;
    this.#open.push(name);
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return true;
  }

  #endsParagraph(name: string): boolean {
    return this.#name === "p" && (BLOCKS.has(name) || /^(?:h[1-6]|pre|li)$/.test(name));
  }

  #leave(): string | undefined {
    const name = this.#open.pop();
    if (name !== undefined) this.#counts.set(name, (this.#counts.get(name) ?? 0) - 1);
    return name;
  }
}

interface TableRow {
  cells: number;
  /** How many of the cells are titles. */
  titles: number;
  readonly isFirst: boolean;
  /** The first row of its table has titles. */
  hasHeader: boolean;
  isCellOpen: boolean;
}

/** Collects the text in pieces: checking the end of a growing string would copy it each time. */
class TextWriter {
  readonly #pieces: string[] = [];
  /** The number of trailing line breaks; more than two do not matter. */
  #breaks = 2;
  #endsWithSpace = true;
  #isPre = false;
  /** The address of the open link, and whether it has text yet. */
  #link = { address: "", hasText: false };

  /** The base of relative addresses. */
  readonly #base: URL;

  /** The open row of a table, or the next one. */
  #row: TableRow = { cells: 0, titles: 0, isFirst: true, hasHeader: false, isCellOpen: false };

  constructor(base: URL) {
    this.#base = base;
  }

  text(text: string): void {
    const line = this.#isPre ? text : text.replaceAll(/\s+/g, " ");
    this.#add(this.#endsWithSpace && !this.#isPre ? line.trimStart() : line);
  }

  tag(tag: Tag): void {
    const { name, isEnd } = tag;
    const level = /^h([1-6])$/.exec(name)?.[1];
    if (level !== undefined) this.#startLine(2, isEnd ? "" : `${"#".repeat(Number(level))} `);
    else if (name === "li") this.#startLine(1, isEnd ? "" : "- ");
    else if (name === "br") this.#startLine(1);
    else if (name === "td" || name === "th") this.#cell(name, isEnd);
    else if (name === "tr" || TABLE_PARTS.has(name)) this.#endRow();
    else if (name === "table") this.#table();
    else if (name === "pre") this.#pre(isEnd);
    else if (name === "code") this.#add(this.#isPre ? "" : "`");
    else if (name === "a") this.#anchor(tag);
    else if (BLOCKS.has(name)) this.#startLine(2);
  }

  end(): string {
    this.#pre(true);
    const lines = this.#pieces.join("").split("\n");
    return lines
      .map((line) => line.trimEnd())
      .join("\n")
      .replaceAll(/\n{3,}/g, "\n\n")
      .trim();
  }

  #add(text: string): void {
    if (text === "") return;
    this.#pieces.push(text);
    this.#breaks = text.endsWith("\n") ? 1 : 0;
    this.#endsWithSpace = /\s/.test(text.slice(-1));
    if (text.trim() !== "") this.#link.hasText = true;
  }

  #table(): void {
    this.#endRow();
    this.#startLine(2);
    this.#row = { cells: 0, titles: 0, isFirst: true, hasHeader: false, isCellOpen: false };
  }

  /** In a table with a header row, rows start with a bar, as in Markdown. */
  #cell(name: "td" | "th", isEnd: boolean): void {
    const row = this.#row;
    if (row.isCellOpen) this.#add(" | ");
    row.isCellOpen = !isEnd;
    if (isEnd) return;
    if (name === "th") row.titles += 1;
    row.hasHeader ||= row.isFirst && name === "th";
    if (row.cells === 0 && row.hasHeader) this.#add("| ");
    row.cells += 1;
  }

  #endRow(): void {
    const { cells, titles, isFirst, hasHeader, isCellOpen } = this.#row;
    if (isCellOpen) this.#add(" | ");
    this.#startLine(1);
    if (isFirst && cells > 0 && titles === cells) {
      this.#add(`|${" --- |".repeat(cells)}`);
      this.#startLine(1);
    }
    const isStillFirst = isFirst && cells === 0;
    this.#row = { cells: 0, titles: 0, isFirst: isStillFirst, hasHeader, isCellOpen: false };
  }

  #pre(isEnd: boolean): void {
    if (this.#isPre !== isEnd) return;
    this.#isPre = false;
    this.#startLine(isEnd ? 1 : 2, "```\n");
    if (isEnd) this.#startLine(2);
    this.#isPre = !isEnd;
  }

  /** Links to other pages keep their address. */
  #anchor(tag: Tag): void {
    const { address, hasText } = this.#link;
    if (tag.isEnd && address !== "" && hasText) this.#add(` (${address})`);
    const href = tag.isEnd ? "" : (attributesOf(tag).get("href") ?? "").trim();
    const url = href === "" || href.startsWith("#") ? null : URL.parse(href, this.#base);
    const isPage = url !== null && /^https?:$/.test(url.protocol);
    this.#link = { address: isPage ? url.href : "", hasText: false };
  }

  /** Adds text after this many line breaks, except in code, which keeps its own. */
  #startLine(breaks: 1 | 2, text = ""): void {
    if (this.#isPre) return;
    const missing = Math.max(0, breaks - this.#breaks);
    if (missing > 0) this.#pieces.push("\n".repeat(missing));
    this.#breaks = Math.max(breaks, this.#breaks);
    this.#endsWithSpace = true;
    this.#add(text);
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  copy: "©",
  middot: "·",
  bull: "•",
  times: "×",
  rarr: "→",
  larr: "←",
};

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi, (whole, ...found) => {
    const [decimal, hexadecimal, name] = found as (string | undefined)[]; // The groups come first.
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : whole;
  });
}
