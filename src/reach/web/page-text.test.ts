import { describe, expect, test } from "vitest";
import { pageText } from "./page-text.ts";

const url = new URL("https://a.example/");

function textOf(content: string | Buffer, contentType = ""): string | undefined {
  const bytes = typeof content === "string" ? Buffer.from(content, "latin1") : content;
  return pageText({ bytes, contentType, url });
}

describe("the text of a page", () => {
  test.each([
    ["UTF-8 without a word about it", Buffer.from("é"), "text/plain"],
    ["with a byte order mark", Buffer.from("\uFEFFé"), "text/plain"],
    ["Windows-1252 without a word about it", "caf\xe9", "text/plain"],
    ["as the server says", "\xe9", "text/plain; charset=ISO-8859-1"],
    ["as the server says, quoted", "\x8e", 'text/plain; charset="macintosh"; x=y'],
    ["as an HTML page says", '<meta charset="iso-8859-1">\xe9', "text/html"],
    [
      "as an HTML page says in the older way",
      "<META http-equiv=Content-Type content='text/html; charset=iso-8859-1'>\xe9",
      "text/html",
    ],
    ["as XML says", '<?xml version="1.0" encoding="iso-8859-1"?>é', "application/xml"],
    ["UTF-16 by its byte order mark", Buffer.from("\uFEFFé", "utf16le"), "text/plain"],
    ["an unknown one, as if there were none", Buffer.from("é"), "text/plain; charset=nonsense"],
    ["UTF-8, though the page says UTF-16", Buffer.from("<meta charset=utf-16>é"), "text/html"],
  ])("is read in its encoding: %s", (_how, content, contentType) => {
    expect(textOf(content, contentType)).toMatch(/é$/);
  });

  test("may have errors in it if it is said to be UTF-8", () => {
    const bytes = Buffer.concat([Buffer.from("日本 "), Buffer.from([0xff])]);
    expect(textOf(bytes, "text/plain; charset=utf-8")).toBe("日本 \uFFFD");
  });

  test.each([
    ["a NUL", "a\0b", "text/plain; charset=utf-8"],
    ["a NUL in another encoding", "a\0b", "text/plain; charset=iso-8859-1"],
    ["bytes of no encoding", "\x89PNG\r\n\x1a\n\xff\xfe", ""],
  ])("does not exist if the page is not text: %s", (_what, content, contentType) => {
    expect(textOf(content, contentType)).toBeUndefined();
  });

  test("is Markdown of HTML, also if only the content says so", () => {
    const html = "<!DOCTYPE html><h1>Hi</h1>";
    const types = ["text/html", "application/xhtml+xml; charset=utf-8", "", "text/plain"];
    expect(types.map((type) => textOf(html, type))).toEqual(["# Hi", "# Hi", "# Hi", html]);
  });

  test("has no characters that act on a terminal, reorder lines or only programs see", () => {
    const hidden = "\u001b[2J\u009b1m\u202eevil\u2069\u{e0041}\u{e0042}";
    const text = textOf(Buffer.from(`a\tb\r\nc\rd ${hidden}`), "text/plain; charset=utf-8");
    expect(text).toBe("a\tb\nc\nd \uFFFD[2J\uFFFD1m\uFFFDevil\uFFFD\uFFFD\uFFFD");
  });

  test("has none of them even if HTML writes them as entities", () => {
    expect(textOf("<p>a&#27;[2Jb&#x202e;c</p>", "text/html")).toBe("a\uFFFD[2Jb\uFFFDc");
  });
});
