/** Where HTML that stands for itself begins and ends. It is shown as it was written. */

/** The end of what goes on to the next blank line. */
export const BLANK = /^[ \t]*$/;

/** The beginning, and what the last line of it matches. */
const KINDS: readonly (readonly [RegExp, RegExp])[] = [
  [/^<(?:script|pre|style|textarea)(?:[\s>]|$)/i, /<\/(?:script|pre|style|textarea)>/i],
  [/^<!--/, /-->/],
  [/^<\?/, /\?>/],
  [/^<!\[CDATA\[/, /\]\]>/],
  [/^<![a-z]/i, />/],
  [
    /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:\s|\/?>|$)/i,
    BLANK,
  ],
];

/** A tag of any name, alone on its line; a paragraph is not ended by it. */
const LONE_TAG = /^<\/?[a-z][a-z0-9-]*(?:\s[^<>]*)?\/?>[ \t]*$/i;

export function findHtmlEnd(rest: string, inParagraph: boolean): RegExp | undefined {
  if (!rest.startsWith("<")) return undefined;
  const kind = KINDS.find(([begin]) => begin.test(rest));
  if (kind !== undefined) return kind[1];
  return !inParagraph && LONE_TAG.test(rest) ? BLANK : undefined;
}
