/** Writes the open block of the innermost container: paragraph, code, table or HTML. */
import type { Links } from "marked";
import { assertNever, neutralize, oneLine } from "../../../util/index.ts";
import { createLineHighlighter, type LineHighlighter, prepareLanguage } from "../highlight.ts";
import type { Paint } from "../style.ts";
import { textWidth, truncate } from "../wrap.ts";
import { findHtmlTable } from "./html-table.ts";
import { addInlineAs, type InlineOptions } from "./inline.ts";
import {
  BLANK_LINE,
  type Fence,
  type LeafStart,
  type OpenBlocks,
  takeIndent,
} from "./line-start.ts";
import { createFlow, createWordSplitter, type Look, type Page } from "./page.ts";
import { createParagraph, type Paragraph } from "./paragraph.ts";
import { countDelimiters, createTableBlock, splitCells, type TableBlock } from "./table-block.ts";

export interface LeafWriterOptions {
  readonly page: Page;
  readonly paint: Paint;
  readonly hyperlinks: boolean;
  readonly colorsCode: boolean;
  /** Called before the first line of each block. */
  readonly startBlock: () => void;
}

type Leaf =
  | { readonly type: "none" | "definitions" }
  | OpenParagraph
  | { readonly type: "fence"; readonly block: CodeBlock; readonly fence: Fence }
  | { readonly type: "indented"; readonly block: CodeBlock; blanks: number }
  /** Lines shown unchanged, up to the one that matches. */
  | { readonly type: "verbatim"; readonly end: RegExp }
  /** An HTML table, which is drawn once it is complete. */
  | { readonly type: "html_table"; readonly lines: string[] }
  | { readonly type: "table"; readonly table: TableBlock };

interface OpenParagraph {
  readonly type: "paragraph";
  readonly paragraph: Paragraph;
  lines: number;
  /** Whether its first line could be a table header. */
  hasBar: boolean;
  /** A line that becomes a table header if a delimiter row follows. */
  held?: string | undefined;
}

const NONE: Leaf = { type: "none" };
const HEADING: Look = { styles: ["bold"] };
const MAX_RULE_WIDTH = 80;
const HTML_TABLE = /^\s*<table[\s>]/i;

export class LeafWriter {
  readonly #options: LeafWriterOptions;
  readonly #inline: InlineOptions;
  // No prototype, since labels are untrusted.
  readonly #links = Object.create(null) as Links;
  #leaf: Leaf = NONE;

  constructor(options: LeafWriterOptions) {
    this.#options = options;
    const keepsMarks = options.paint("bold", "x") === "x";
    this.#inline = { keepsMarks, hyperlinks: options.hyperlinks, links: this.#links };
  }

  open(): OpenBlocks["leaf"] {
    const { type } = this.#leaf;
    return type === "paragraph"
      ? type
      : type === "fence" || type === "verbatim" || type === "html_table"
        ? "inside"
        : "other";
  }

  /** Whether the open block takes only whole lines. */
  takesWholeLines(): boolean {
    return this.#leaf.type === "table";
  }

  /**
   * Takes a line without its container marks. `isLazy`: the line continues a paragraph without them. Await the promise
   * before the next line.
   */
  apply(start: LeafStart, isLazy: boolean): Promise<void> | undefined {
    switch (start.type) {
      case "blank":
        if (this.#leaf.type === "indented") this.#leaf.blanks += 1;
        else this.close();
        return undefined;
      case "inside":
        this.#addInside(start.rest);
        return undefined;
      case "text":
        this.#addTextLine(start.rest, isLazy);
        return undefined;
      case "heading":
        this.#writeHeading(start.level, start.source);
        return undefined;
      case "underline":
        this.#underline(start.level === 1 ? "═" : "─");
        return undefined;
      case "rule":
        this.#start();
        this.#writeDim("─".repeat(Math.min(this.#options.page.room(), MAX_RULE_WIDTH)));
        return undefined;
      case "html":
        this.#start();
        this.#leaf = HTML_TABLE.test(start.rest)
          ? { type: "html_table", lines: [] }
          : { type: "verbatim", end: start.end };
        this.#addInside(start.rest);
        return undefined;
      case "indented":
        this.#addIndented(start.rest);
        return undefined;
      case "fence":
        return this.#openFence(start.fence);
      default:
        return assertNever(start);
    }
  }

  /** Starts a paragraph line that arrives in pieces: follow with `addText` and `endText`. */
  beginText(text: string): void {
    this.#flushHeld(this.#paragraph());
    this.addText(text);
  }

  addText(text: string): void {
    const open = this.#paragraph();
    if (open.lines === 0 && text.includes("|")) open.hasBar = true;
    open.paragraph.add(text);
  }

  endText(): void {
    const open = this.#paragraph();
    open.lines += 1;
    open.paragraph.endLine();
  }

  close(): void {
    const leaf = this.#leaf;
    if (leaf.type === "paragraph") {
      this.#flushHeld(leaf);
      leaf.paragraph.close();
    } else if (leaf.type === "fence" || leaf.type === "indented") leaf.block.close();
    else if (leaf.type === "table") leaf.table.close();
    else if (leaf.type === "html_table") this.#writeHtmlTable(leaf.lines);
    this.#leaf = NONE;
  }

  #start(): void {
    this.close();
    this.#options.startBlock();
  }

  #addInside(line: string): void {
    const leaf = this.#leaf;
    if (leaf.type === "fence") {
      if (isClosingFence(line, leaf.fence)) this.close();
      else leaf.block.add(takeIndent({ rest: line, column: 0 }, leaf.fence.indent).rest);
    } else if (leaf.type === "verbatim") {
      const isEnd = leaf.end.test(line);
      if (!isEnd || leaf.end !== BLANK_LINE) this.#writeLine(neutralize(line));
      if (isEnd) this.close();
    } else if (leaf.type === "html_table") {
      if (BLANK_LINE.test(line)) this.close();
      else leaf.lines.push(line);
    }
  }

  /** Drawn as a table, or unchanged if it is more than that. */
  #writeHtmlTable(lines: readonly string[]): void {
    const [header, delimiters, ...rows] = findHtmlTable(lines.join("\n")) ?? [];
    if (header === undefined || delimiters === undefined) {
      for (const line of lines) this.#writeLine(neutralize(line));
      return;
    }
    const { page, paint } = this.#options;
    const table = createTableBlock({ header, delimiters, page, paint, inline: this.#inline });
    for (const row of rows) table.add(row);
    table.close();
  }

  #addTextLine(line: string, isLazy: boolean): void {
    if (this.#leaf.type === "table") {
      this.#leaf.table.add(line);
      return;
    }
    if (this.#leaf.type === "paragraph") {
      if (!isLazy && this.#becomesTable(this.#leaf, line)) return;
      this.#flushHeld(this.#leaf);
    } else if (this.#addDefinition(line)) return;
    if (line.startsWith("|")) {
      this.#paragraph().held = line;
      return;
    }
    this.addText(line);
    this.endText();
  }

  #becomesTable(open: OpenParagraph, line: string): boolean {
    const columns = countDelimiters(line);
    if (columns === undefined) return false;
    const { held: header } = open;
    if (header !== undefined) {
      if (splitCells(header).length !== columns) return false;
      open.held = undefined;
      // The header has already started a block, unless it follows text.
      this.close();
      if (open.lines > 0) this.#options.startBlock();
      const { page, paint } = this.#options;
      const inline = this.#inline;
      const table = createTableBlock({ header, delimiters: line, page, paint, inline });
      this.#leaf = { type: "table", table };
      return true;
    }
    if (open.lines !== 1 || !open.hasBar) return false;
    // A header without a leading bar is already written, so the table is shown unchanged.
    this.close();
    this.#leaf = { type: "verbatim", end: BLANK_LINE };
    this.#addInside(line);
    return true;
  }

  /** Definitions are also shown, since links before them are already written. */
  #addDefinition(line: string): boolean {
    const definition = findDefinition(line);
    if (definition === undefined) return false;
    if (this.#leaf.type !== "definitions") this.#start();
    this.#leaf = { type: "definitions" };
    const { label, address } = definition;
    // The first definition counts, as in CommonMark.
    this.#links[label] ??= { href: address, title: null };
    this.#writeDim(neutralize(line.trim()));
    return true;
  }

  #paragraph(): OpenParagraph {
    if (this.#leaf.type === "paragraph") return this.#leaf;
    this.#start();
    const { page, paint } = this.#options;
    const paragraph = createParagraph({ page, paint, inline: this.#inline });
    const open: OpenParagraph = { type: "paragraph", paragraph, lines: 0, hasBar: false };
    this.#leaf = open;
    return open;
  }

  #flushHeld(open: OpenParagraph): void {
    const { held } = open;
    if (held === undefined) return;
    open.held = undefined;
    this.addText(held);
    this.endText();
  }

  #writeHeading(level: number, source: string): void {
    this.#start();
    const { page, paint } = this.#options;
    const splitter = createWordSplitter();
    if (this.#inline.keepsMarks) splitter.add(`${"#".repeat(level)} `, HEADING);
    addInlineAs(HEADING, { source, splitter, options: this.#inline });
    const flow = createFlow(page, paint);
    flow.add(splitter.take());
    flow.end();
  }

  /** The heading text is already written, so it gets a line below it. */
  #underline(character: string): void {
    if (this.#leaf.type !== "paragraph") return;
    const { paragraph } = this.#leaf;
    this.close();
    this.#writeDim(character.repeat(Math.min(paragraph.widest(), this.#options.page.room())));
  }

  #addIndented(line: string): void {
    if (this.#leaf.type !== "indented") {
      this.#start();
      const { page, paint } = this.#options;
      this.#leaf = {
        type: "indented",
        block: createCodeBlock({ page, paint, info: "", keepsMarks: this.#inline.keepsMarks }),
        blanks: 0,
      };
    }
    const leaf = this.#leaf;
    for (; leaf.blanks > 0; leaf.blanks -= 1) leaf.block.add("");
    leaf.block.add(line);
  }

  #openFence(fence: Fence): Promise<void> | undefined {
    this.#start();
    const { page, paint, colorsCode } = this.#options;
    const { keepsMarks } = this.#inline;
    const isPlain = keepsMarks || !colorsCode;
    this.#leaf = {
      type: "fence",
      fence,
      block: createCodeBlock({ page, paint, info: fence.info, keepsMarks, isPlain }),
    };
    return isPlain ? undefined : prepareLanguage(languageOf(fence.info));
  }

  #writeDim(line: string): void {
    this.#writeLine(line === "" ? "" : this.#options.paint("dim", line));
  }

  #writeLine(line: string): void {
    if (line !== "") this.#options.page.write(line);
    this.#options.page.endLine();
  }
}

function isClosingFence(line: string, { marks }: Fence): boolean {
  const [, found = ""] = /^ {0,3}(`+|~+)[ \t]*$/.exec(line) ?? [];
  return found.startsWith(marks);
}

interface CodeBlock {
  add(line: string): void;
  close(): void;
}

interface CodeBlockOptions {
  readonly page: Page;
  readonly paint: Paint;
  /** The text after the fence; its first word names the language. */
  readonly info: string;
  /** Shown with its fences, as they are in Markdown. Otherwise between two lines, so that it can be copied. */
  readonly keepsMarks: boolean;
  /** Without colours. */
  readonly isPlain?: boolean;
}

const FENCE = "```";
const MAX_RULE = 40;

/** The language must be loaded before the first line; see `prepareLanguage`. */
function createCodeBlock(options: CodeBlockOptions): CodeBlock {
  const { page, paint, info, keepsMarks, isPlain = false } = options;
  let highlight: LineHighlighter | undefined;
  const writeEdge = (title: string) => {
    const edge = keepsMarks ? FENCE + title : rule(title, Math.min(MAX_RULE, page.room()));
    page.write(paint("dim", truncate(edge, page.room())));
    page.endLine();
  };
  writeEdge(oneLine(info));
  return {
    add: (line) => {
      highlight ??= createLineHighlighter(isPlain ? "" : languageOf(info), paint);
      const shown = highlight(neutralize(line));
      if (shown !== "") page.write(shown);
      page.endLine();
    },
    close: () => writeEdge(""),
  };
}

/** `── ts ─────────`. */
function rule(title: string, width: number): string {
  const start = title === "" ? "" : `── ${title} `;
  return start + "─".repeat(Math.max(2, width - textWidth(start)));
}

/** `ts`, also in ```` ```ts title="a.ts" ````, `{.ts}` or `ts{1,3}`. */
function languageOf(info: string): string {
  return /^\{?\.?([\w+#-]+)/.exec(info)?.[1]?.toLowerCase() ?? "";
}

interface Definition {
  readonly label: string;
  readonly address: string;
}

/** `[label]: address "title"`. Excludes footnotes, and labels with a backslash for simplicity. */
const DEFINITION =
  /^\[(?!\^)([^\]\\]+)\]:[ \t]*(?:<([^<>]*)>|([^\s<]\S*))(?:[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*$/;

function findDefinition(line: string): Definition | undefined {
  const [, label, enclosed, bare] = DEFINITION.exec(line) ?? [];
  const address = enclosed ?? bare;
  if (label === undefined || address === undefined || label.trim() === "") return undefined;
  return { label: label.trim().replaceAll(/\s+/g, " ").toLowerCase(), address };
}
