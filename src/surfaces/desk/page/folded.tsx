/** The beginning of a long text, and a button for the rest. */
import type { ComponentChildren, VNode } from "preact";
import { useMemo, useState } from "preact/hooks";

const MAX_LINES = 40;
const MAX_CHARACTERS = 6000;

interface FoldedProps {
  readonly text: string;
  readonly maxLines?: number;
  readonly maxCharacters?: number;
  /** Draws the text or its beginning. */
  readonly children: (shown: string) => ComponentChildren;
}

export function Folded({
  text,
  maxLines = MAX_LINES,
  maxCharacters = MAX_CHARACTERS,
  children,
}: FoldedProps): VNode {
  const [isWhole, setIsWhole] = useState(false);
  const short = useMemo(
    () => beginningOf(text, maxLines, maxCharacters),
    [text, maxLines, maxCharacters],
  );
  const shown = isWhole ? text : short;
  const drawn = useMemo(() => children(shown), [shown]);
  return (
    <>
      {drawn}
      {short.length < text.length && (
        <button
          type="button"
          class="quiet"
          aria-expanded={isWhole}
          onClick={() => setIsWhole(!isWhole)}
        >
          {isWhole ? "Show less" : `Show all ${sizeWords(text)}`}
        </button>
      )}
    </>
  );
}

function sizeWords(text: string): string {
  const lines = text.split("\n").length;
  return lines === 1
    ? `${text.length.toLocaleString()} characters`
    : `${lines.toLocaleString()} lines`;
}

/** Whole lines if possible. The whole text if it is only slightly longer. */
export function beginningOf(text: string, maxLines: number, maxCharacters: number): string {
  const lines = text.split("\n");
  if (lines.length <= maxLines * 1.2 && text.length <= maxCharacters * 1.2) return text;
  const short = lines.slice(0, maxLines).join("\n").slice(0, maxCharacters);
  return short.replace(/[\ud800-\udbff]$/, "");
}
