import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { streamMarkdown } from "../../../test/support/markdown-stream.ts";
import type { Paint } from "../style.ts";

/** Everything that a terminal acts on, but for the ends of lines and tabs. */
const DANGEROUS =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/;
const EVIL = "\x1b[2J\x1b]8;;http://evil\x07\x9b31m\u202e\x08";

/** What our own colours and links look like; anything else of that kind is not ours. */
const OURS = /\x1b\[1m|\x1b\[22m|\x1b\]8;;(?:[\x21-\x7e]*)\x1b\\/g;
const ansi: Paint = (_style, text) => `\x1b[1m${text}\x1b[22m`;

async function foreignEscapes(document: string): Promise<RegExpMatchArray | null> {
  const text = await streamMarkdown([document], { paint: ansi, hyperlinks: true });
  return text.replaceAll(OURS, "").match(DANGEROUS);
}

describe("nothing of a text reaches the terminal as anything but text", () => {
  test.each([
    ["a paragraph", EVIL],
    ["emphasis", `**${EVIL}** *${EVIL}* ~~${EVIL}~~`],
    ["code in a line", `\`${EVIL}\``],
    ["the text of a link", `[${EVIL}](http://a.b)`],
    ["the address of a link", `[a](<http://a.b/${EVIL}>) [a](http://a.b/${EVIL})`],
    ["an address", `<http://a.b/${EVIL}> http://a.b/${EVIL}`],
    ["an address in entities", "[a](http://a.b/&#27;&#92;&#7;) [a](mailto:&#x1b;]0;x&#x9c;)"],
    ["the title of a link", `[a](http://a.b "${EVIL}")`],
    ["an image", `![${EVIL}](${EVIL})`],
    ["a heading", `# ${EVIL}\n\n${EVIL}\n===`],
    ["a list", `- ${EVIL}\n\n  ${EVIL}\n1. [x] ${EVIL}`],
    ["a quote", `> ${EVIL}`],
    ["code", `\`\`\`\n${EVIL}\n\`\`\``],
    ["code in a language", `\`\`\`js\nlet a = "${EVIL}" // ${EVIL}\n\`\`\``],
    ["the name of a language", `\`\`\`js${EVIL}\n1\n\`\`\`\n~~~${EVIL} ${EVIL}\n~~~`],
    ["code that is indented", `    ${EVIL}`],
    ["a table", `| ${EVIL} | b |\n|---|---|\n| ${EVIL} | c |`],
    ["a table without bars at the sides", `a | ${EVIL}\n--|--\n${EVIL} | b`],
    ["HTML", `<div ${EVIL}>\n${EVIL}\n\n<b ${EVIL}> <!-- ${EVIL} -->`],
    ["entities", "&#27;[2J &#x9b;31m &#8238; &#0; &#xd800; &#x110000;"],
    ["a definition", `[a]: http://a.b/${EVIL}\n[${EVIL}]: c\n\n[a] [${EVIL}]`],
    ["an escaped character", `\\${EVIL} \\\x1b[2J`],
    ["a mark of the order of bytes at the start", `\ufeff# a`],
  ])("in %s", async (_place, document) => {
    expect(await foreignEscapes(document)).toBeNull();
  });

  test("whatever the text", async () => {
    const parts = fc.oneof(
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.constantFrom(
        EVIL,
        "\x1b",
        "&#27;",
        "[a](http://b/",
        ")",
        "`",
        "*",
        "\n",
        "|",
        "- ",
        "> ",
        "```js\n",
      ),
      fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
    );
    const anyText = fc.array(parts, { maxLength: 40 }).map((all) => all.join(""));
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        expect(await foreignEscapes(text)).toBeNull();
        expect(await streamMarkdown([text])).not.toMatch(DANGEROUS);
      }),
      { numRuns: 200 },
    );
  });
});

test("no labels of links are found in the prototype of anything", async () => {
  expect(
    await streamMarkdown(["[constructor] [a][valueOf] [toString][] [__proto__]"], { width: 80 }),
  ).toBe("[constructor] [a][valueOf] [toString][] [**proto**]\n");
});
