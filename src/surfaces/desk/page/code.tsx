/** Code in Markdown, highlighted by language. It is untrusted: it becomes text nodes only. */
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { neutralize } from "../../../util/index.ts";
import { isDiff } from "../../render/index.ts";
import { Folded } from "./folded.tsx";
import type { Piece } from "./highlight.ts";
import { Verbatim } from "./verbatim.tsx";

/** Longer code stays plain. */
const MAX_HIGHLIGHTED = 50_000;

interface CodeProps {
  readonly text: string;
  /** The text after the fence: the language, and perhaps more. All of it is shown. */
  readonly info?: string;
}

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
      () => undefined, // Falls back to plain text.
    );
    return () => {
      isCurrent = false;
    };
  }, [text, language]);
  // Highlighting must not lose a character.
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
