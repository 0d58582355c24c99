/**
 * Foreign Markdown as nodes of the page. HTML in it is shown as text, links and images as text with their address:
 * nothing is loaded, and nothing leads away from the page.
 */
import { Lexer, type Token, type Tokens } from "marked";
import type { ComponentChild, ComponentChildren, VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { neutralize, oneLine } from "../../render/index.ts";
import { beginningOf, Code } from "./code.tsx";
import { decodeEntities } from "./entities.ts";

/** Deeper lists and quotes are shown as text. */
const MAX_DEPTH = 12;
const MAX_LINES = 120;
const MAX_CHARACTERS = 12_000;
/** Longer texts are shown as they are: parsing them may take seconds. */
const MAX_PARSED = 30_000;

/** A text in Markdown. A long one is collapsed. */
export function Markdown({ text }: { readonly text: string }): VNode {
  const [isWhole, setIsWhole] = useState(false);
  const short = beginningOf(text, MAX_LINES, MAX_CHARACTERS);
  const shown = isWhole ? text : short;
  const nodes = useMemo(() => markdownNodes(shown), [shown]);
  return (
    <div class="markdown" dir="auto">
      {nodes}
      {short.length < text.length && (
        <button
          type="button"
          class="quiet"
          aria-expanded={isWhole}
          onClick={() => setIsWhole(!isWhole)}
        >
          {isWhole ? "Show less" : "Show the whole text"}
        </button>
      )}
    </div>
  );
}

/** Of longer texts, lists show only the beginning. */
const MAX_SUMMARY = 300;

/** The first line in plain words, for lists and messages: without the signs of Markdown, and safe to show. */
export function summaryOf(text: string): string {
  const whole = text.trim();
  const line = beginningOf(whole, 1, MAX_SUMMARY);
  return oneLine(wordsOf(line)) + (line.length < whole.length ? " …" : "");
}

function wordsOf(markdown: string): string {
  try {
    return words(new Lexer({ gfm: true }).lex(markdown));
  } catch {
    return markdown;
  }
}

function words(tokens: readonly Token[]): string {
  return tokens.map((token) => tokenWords(token as Known)).join(""); // As for blocks.
}

function tokenWords(token: Known): string {
  if (token.type === "list") return token.items.map((item) => words(item.tokens)).join(" ");
  if ("tokens" in token && token.tokens !== undefined) return words(token.tokens);
  const isText = token.type === "text" || token.type === "image";
  if (isText) return decodeEntities(token.text);
  const isCode = token.type === "codespan" || token.type === "code" || token.type === "escape";
  return isCode ? token.text : token.raw;
}

/** The nodes of a document. */
function markdownNodes(text: string): ComponentChildren {
  if (text.length > MAX_PARSED) return <Code text={text} label="Long text" isOpen />;
  try {
    return blocks(new Lexer({ gfm: true }).lex(text), 0);
  } catch {
    return <Code text={text} label="Text" />; // Such as quotes nested so deep that the parser gives up.
  }
}

function blocks(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token) => block(token as Known, depth)); // Without extensions there are no others.
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
  if (depth > MAX_DEPTH) return <p>{neutralize(token.raw)}</p>;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "hr":
      return <hr />;
    case "heading":
      // The page has its own headings: these must not look like its parts.
      return <p class={`heading heading-${token.depth}`}>{inlines(token.tokens, depth)}</p>;
    case "code":
      return <Code text={token.text} language={token.lang?.split(/\s/, 1)[0]} />;
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

function list({ ordered, start, items }: Tokens.List, depth: number): VNode {
  const entries = items.map((item, index) => <li key={index}>{blocks(item.tokens, depth + 1)}</li>);
  return ordered ? <ol start={Number(start) || 1}>{entries}</ol> : <ul>{entries}</ul>;
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
      return token.checked ? "☑ " : "☐ ";
    case "link":
      return link(token, depth);
    case "image":
      return (
        <>
          [image: {plain(token.text)} <Address href={token.href} />]
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

/** The words, and where they would lead. The address is left out only if the words are the address. */
function link({ href, text, tokens }: Tokens.Link, depth: number): VNode {
  if (decodeEntities(text) === decodeEntities(href)) return <Address href={href} />;
  return (
    <>
      <u>{inlines(tokens, depth + 1)}</u> <Address href={href} />
    </>
  );
}

function Address({ href }: { readonly href: string }): VNode {
  return <span class="address">&lt;{oneLine(decodeEntities(href))}&gt;</span>;
}

function plain(text: string): string {
  return neutralize(decodeEntities(text));
}
