/**
 * Untrusted Markdown as nodes of the page, for prose only. HTML is shown as text, links and images as text with their
 * address: nothing is loaded, and nothing leads away from the page. If the nodes would lose a word, the source is shown
 * instead.
 */
import { Lexer, type Token, type Tokens } from "marked";
import { type ComponentChild, type ComponentChildren, isValidElement, type VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { neutralize, oneLine } from "../../../util/index.ts";
import { isDiff } from "../../render/index.ts";
import { decodeEntities } from "./entities.ts";
import { Folded } from "./folded.tsx";
import type { Piece } from "./highlight.ts";
import { Verbatim } from "./verbatim.tsx";

/** Deeper lists and quotes are shown as text. */
const MAX_DEPTH = 12;
const MAX_LINES = 120;
const MAX_CHARACTERS = 12_000;
/** Longer texts are shown verbatim: parsing them may take seconds. */
const MAX_PARSED = 30_000;
/** Longer code stays plain. */
const MAX_HIGHLIGHTED = 50_000;

/** A text in Markdown, collapsed if long. */
export function Markdown({ text }: { readonly text: string }): VNode {
  return (
    <div class="markdown" dir="auto">
      <Folded text={text} maxLines={MAX_LINES} maxCharacters={MAX_CHARACTERS}>
        {markdownNodes}
      </Folded>
    </div>
  );
}

function markdownNodes(text: string): ComponentChildren {
  if (text.length > MAX_PARSED) return <Verbatim text={text} label="Text" />;
  try {
    const tokens = new Lexer({ gfm: true }).lex(text);
    return tokens.map((token) => wholeBlock(token as Known)); // There are no other tokens without extensions.
  } catch {
    return <Verbatim text={text} label="Text" />; // For example, quotes nested too deep for the parser.
  }
}

function wholeBlock(token: Known): ComponentChild {
  const drawn = block(token, 0);
  return wordsOf(textIn(drawn)) === wordsOf(token.raw) ? drawn : source(token.raw);
}

function source(raw: string): VNode {
  return <p class="source">{neutralize(raw.trimEnd())}</p>;
}

/** Letters, digits and symbols, without character references, which may be shown either way. */
function wordsOf(text: string): string {
  const plainText = text.replaceAll(/&(?:#x?[0-9a-f]+|[a-z0-9]+);/gi, "");
  return plainText.match(/[\p{L}\p{N}\p{So}]+/gu)?.join("") ?? "";
}

/** The readable text of these nodes, without the words that this page adds. */
function textIn(node: ComponentChildren): string {
  if (typeof node === "string") return node;
  if (Array.isArray(node)) return node.map(textIn).join("");
  if (!isValidElement(node)) return "";
  const { info, text, value, ours, children } = node.props as Readonly<Record<string, unknown>>; // Props of any component.
  if (ours === true) return "";
  const own = [value, info, text].filter((each) => /^(string|number)$/.test(typeof each)).join("");
  return own + textIn(children as ComponentChildren);
}

/** Words added by this page. */
function Ours({ children }: { readonly ours: true; readonly children: string }): VNode {
  return <>{children}</>;
}

function blocks(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token) => block(token as Known, depth)); // As above.
}

type Known =
  | Tokens.Blockquote
  | Tokens.Br
  | Tokens.Checkbox
  | Tokens.Code
  | Tokens.Codespan
  | Tokens.Def
  | Tokens.Del
  | Tokens.Em
  | Tokens.Escape
  | Tokens.HTML
  | Tokens.Heading
  | Tokens.Hr
  | Tokens.Image
  | Tokens.Link
  | Tokens.List
  | Tokens.Paragraph
  | Tokens.Space
  | Tokens.Strong
  | Tokens.Table
  | Tokens.Text;

function block(token: Known, depth: number): ComponentChild {
  if (depth > MAX_DEPTH) return source(token.raw);
  switch (token.type) {
    case "space":
      return null;
    case "def":
      return source(token.raw);
    case "hr":
      return <hr />;
    case "heading":
      // The page has its own headings: these must not look like parts of it.
      return <p class={`heading heading-${token.depth}`}>{inlines(token.tokens, depth)}</p>;
    case "code":
      return <Code text={token.text} info={token.lang ?? ""} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens, depth + 1)}</blockquote>;
    case "list":
      return list(token, depth);
    case "table":
      return table(token, depth);
    case "html":
      return <p>{neutralize(token.text)}</p>;
    case "paragraph":
      return <p>{inlines(token.tokens, depth)}</p>;
    case "text":
      return <>{token.tokens === undefined ? plain(token.text) : inlines(token.tokens, depth)}</>;
    default:
      return inline(token, depth);
  }
}

function list({ ordered, items }: Tokens.List, depth: number): VNode {
  const entries = items.map((item, index) => (
    // Keeps the numbers from the text.
    <li key={index} value={ordered ? Number(/\d+/.exec(item.raw)?.[0]) : undefined}>
      {blocks(item.tokens, depth + 1)}
    </li>
  ));
  return ordered ? <ol>{entries}</ol> : <ul>{entries}</ul>;
}

function table({ header, rows }: Tokens.Table, depth: number): VNode {
  const cells = (row: readonly Tokens.TableCell[], Name: "th" | "td") =>
    row.map((cell, index) => <Name key={index}>{inlines(cell.tokens, depth + 1)}</Name>);
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>{cells(header, "th")}</tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlines(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token) => inline(token as Known, depth)); // As for blocks.
}

function inline(token: Known, depth: number): ComponentChild {
  if (depth > MAX_DEPTH) return neutralize(token.raw);
  switch (token.type) {
    case "strong":
      return <strong>{inlines(token.tokens, depth + 1)}</strong>;
    case "em":
      return <em>{inlines(token.tokens, depth + 1)}</em>;
    case "del":
      return <del>{inlines(token.tokens, depth + 1)}</del>;
    case "codespan":
      return <code>{neutralize(token.text)}</code>;
    case "br":
      return <br />;
    case "checkbox":
      return token.checked ? "[x] " : "[ ] ";
    case "link":
      return link(token, depth);
    case "image":
      return (
        <>
          [<Ours ours>image: </Ours>
          {plain(token.text)} {address(token)}]
        </>
      );
    case "escape":
      return neutralize(token.text);
    case "text":
      return token.tokens === undefined ? plain(token.text) : inlines(token.tokens, depth + 1);
    default:
      return neutralize(token.raw);
  }
}

/** The link's text and its address. */
function link(token: Tokens.Link, depth: number): ComponentChild {
  const isBare = decodeEntities(token.raw) === token.text || token.raw === `<${token.text}>`;
  if (isBare) return address({ href: token.text });
  return (
    <>
      <u>{inlines(token.tokens, depth + 1)}</u> {address(token)}
    </>
  );
}

/** Includes the title, which a browser would show on hover. */
function address({ href, title }: { readonly href: string; readonly title?: string | null }) {
  const words = title == null ? "" : ` "${oneLine(decodeEntities(title))}"`;
  return (
    <span class="address">
      &lt;{oneLine(decodeEntities(href))}&gt;{words}
    </span>
  );
}

function plain(text: string): string {
  return neutralize(decodeEntities(text));
}

interface CodeProps {
  readonly text: string;
  /** Whatever stands after the fence: the language, and perhaps more. All of it is shown. */
  readonly info?: string;
}

/** A block of code, coloured by its language. */
export function Code({ text, info = "" }: CodeProps): VNode {
  const [language = ""] = info.split(/\s/, 1);
  const isChange = /^(diff|patch)$/.test(language) || isDiff(text.split("\n"));
  return (
    <>
      {info !== "" && <p class="hint">{neutralize(info)}</p>}
      {isChange ? (
        <Verbatim text={text} label="Change" folds />
      ) : (
        <Folded text={neutralize(text)}>
          {(part) => (
            // Scrolls, so it must be reachable with the keyboard.
            <pre tabIndex={0} role="group" aria-label="Code" dir="ltr">
              <code>
                <Highlighted text={part} language={language} />
              </code>
            </pre>
          )}
        </Folded>
      )}
    </>
  );
}

function Highlighted({ text, language }: { readonly text: string; readonly language: string }) {
  const [pieces, setPieces] = useState<readonly Piece[]>();
  useEffect(() => {
    setPieces(undefined);
    if (language === "" || text.length > MAX_HIGHLIGHTED) return;
    let isCurrent = true;
    import("./highlight.ts").then(
      ({ highlight }) => isCurrent && setPieces(highlight(text, language)),
      () => undefined, // It stays without colours.
    );
    return () => {
      isCurrent = false;
    };
  }, [text, language]);
  // Colours must not cost a character.
  const isWhole = pieces?.map((piece) => piece.text).join("") === text;
  if (pieces === undefined || !isWhole) return <>{text}</>;
  return (
    <>
      {pieces.map((piece, index) =>
        piece.scope === undefined ? (
          piece.text
        ) : (
          <span key={index} class={`hl-${piece.scope}`}>
            {piece.text}
          </span>
        ),
      )}
    </>
  );
}
