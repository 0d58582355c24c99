/** The text of a page: HTML as Markdown, other text as it is, decoded as the page or its server declares. */
import { decodeUtf8, decodeWindows1252 } from "../files/index.ts";
import { htmlToText } from "./html-text.ts";
import { type LoadedPage, mediaTypeOf } from "./load-page.ts";

type Page = Extract<LoadedPage, { readonly type: "page" }>;

/** Undefined if it is not text. The result cannot control a terminal, reorder a line, or hide words from people. */
export function pageText({ bytes, contentType, url }: Omit<Page, "type">): string | undefined {
  const text = decode(bytes, contentType);
  if (text === undefined) return undefined;
  return withoutControls(isHtml(contentType, text) ? htmlToText(text, url) : text);
}

function isHtml(contentType: string, text: string): boolean {
  const type = mediaTypeOf(contentType);
  if (type === "") return /^\s*(?:<!doctype\s+html|<html)[\s>]/i.test(text.slice(0, 1000));
  return type === "text/html" || type === "application/xhtml+xml";
}

function decode(bytes: Buffer, contentType: string): string | undefined {
  const label = findCharset(bytes, contentType);
  const decoder = label === undefined ? undefined : findDecoder(label);
  if (decoder === undefined || decoder.encoding === "utf-8") {
    const text = decodeUtf8(bytes) ?? decodeWindows1252(bytes);
    // A page that claims to be UTF-8 may have a few errors in it.
    const isClaimed = decoder !== undefined && !bytes.includes(0);
    return (text ?? (isClaimed ? decoder.decode(bytes) : undefined))?.replace(/^\uFEFF/, "");
  }
  const text = decoder.decode(bytes);
  return text.includes("\0") ? undefined : text;
}

/** HTML and XML may declare their encoding at the start. */
const HEAD_BYTES = 1024;

/** A byte order mark takes precedence, then the server, then the page itself. */
function findCharset(bytes: Buffer, contentType: string): string | undefined {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  const sent = /;\s*charset\s*=\s*["']?([\w:.-]{1,40})/i.exec(contentType)?.[1];
  if (sent !== undefined) return sent;
  const head = bytes.toString("latin1", 0, HEAD_BYTES);
  const named =
    /<meta\s[^>]*?charset\s*=\s*["']?([\w:.-]{1,40})/i.exec(head) ??
    /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w:.-]{1,40})/i.exec(head);
  // A readable declaration cannot be in UTF-16.
  return named?.[1]?.replace(/^utf-?16.*$/i, "utf-8");
}

/** Undefined for an unknown name. */
function findDecoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}

/** Controls other than tabs and line breaks, those that reorder text, and tag characters, which only programs see. */
const CONTROLS = /[\0-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;

function withoutControls(text: string): string {
  return text.replaceAll(/\r\n?|\f/g, "\n").replaceAll(CONTROLS, "\uFFFD");
}
