/** Code, diffs, JSON and other text with fixed columns. All of it is foreign: it becomes text nodes only. */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { isDiff, neutralize, oneLine } from "../../render/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import type { Piece } from "./highlight.ts";
import { Line } from "./parts.tsx";

/** Longer code stays plain. */
const MAX_HIGHLIGHTED = 50_000;
/** What is longer is shown in part, until the person asks for the rest. */
const MAX_LINES = 40;
const MAX_CHARACTERS = 6000;
/** No more than this is ever drawn: a browser takes seconds for it. */
const MAX_DRAWN = 4_000_000;
/** Lines that are laid out only when they are scrolled to. */
const CHUNK_LINES = 200;

interface CodeProps {
  readonly text: string;
  /** As after the fence in Markdown. */
  readonly language?: string | undefined;
  readonly label?: string | undefined;
  /** All of it is shown from the start. */
  readonly isOpen?: boolean;
}

/** A block of code, coloured as a diff if it is one, else by its language. */
export function Code({ text, language = "", label, isOpen = false }: CodeProps): VNode {
  const clean = useMemo(() => neutralize(text.replace(/\n$/, "")), [text]);
  const isChange = /^(diff|patch)$/.test(language) || isDiff(clean.split("\n"));
  return (
    <Collapsible text={clean} label={label} isOpen={isOpen}>
      {(part) =>
        isChange ? <DiffLines text={part} /> : <Highlighted text={part} language={language} />
      }
    </Collapsible>
  );
}

/** Any JSON, indented. */
export function JsonBlock({
  value,
  label,
}: {
  readonly value: Json;
  readonly label?: string;
}): VNode {
  return <Code text={JSON.stringify(value, null, 2)} language="json" label={label} />;
}

/** The arguments of a call: texts of several lines as they are, the rest as JSON. */
export function Arguments({ value }: { readonly value: JsonObject }): VNode {
  const entries = Object.entries(value);
  const long = entries.flatMap(([name, argument]) =>
    isLong(argument) ? [[name, argument] as const] : [],
  );
  const short = entries.filter(([, argument]) => !isLong(argument));
  return (
    <>
      {(short.length > 0 || long.length === 0) && (
        <JsonBlock value={Object.fromEntries(short)} label="Arguments" />
      )}
      {long.map(([name, text]) => (
        <div key={name}>
          <h3>
            <Line text={name} />
          </h3>
          <Code text={text} label={`Argument ${oneLine(name)}`} />
        </div>
      ))}
    </>
  );
}

function isLong(argument: Json): argument is string {
  return typeof argument === "string" && argument.includes("\n");
}

interface CollapsibleProps {
  readonly text: string;
  readonly label?: string | undefined;
  readonly isOpen: boolean;
  readonly children: (text: string) => ComponentChildren;
}

/** The beginning of a long text, and a button for the rest. */
function Collapsible({ text, label = "Code", isOpen, children }: CollapsibleProps): VNode {
  const [isWhole, setIsWhole] = useState(isOpen);
  const short = useMemo(() => beginningOf(text, MAX_LINES, MAX_CHARACTERS), [text]);
  const shown = isWhole ? text.slice(0, MAX_DRAWN) : short;
  const drawn = useMemo(() => children(shown), [shown]);
  return (
    <div class="code">
      {/* Scrolls sideways, so it must be reachable with the keyboard. */}
      <pre tabIndex={0} role="group" aria-label={label} dir="ltr">
        <code>{drawn}</code>
      </pre>
      {!isOpen && short.length < text.length && (
        <button
          type="button"
          class="quiet"
          aria-expanded={isWhole}
          onClick={() => setIsWhole(!isWhole)}
        >
          {isWhole ? "Show less" : `Show all ${sizeWords(text)}`}
        </button>
      )}
      {isWhole && text.length > MAX_DRAWN && (
        <p class="hint">
          The last {(text.length - MAX_DRAWN).toLocaleString()} characters do not fit here.
        </p>
      )}
    </div>
  );
}

function sizeWords(text: string): string {
  const lines = text.split("\n").length;
  return lines === 1
    ? `${text.length.toLocaleString()} characters`
    : `${lines.toLocaleString()} lines`;
}

/** Whole lines if possible. The whole text if it is only a little longer. */
export function beginningOf(text: string, maxLines: number, maxCharacters: number): string {
  const lines = text.split("\n");
  if (lines.length <= maxLines * 1.2 && text.length <= maxCharacters * 1.2) return text;
  const short = lines.slice(0, maxLines).join("\n").slice(0, maxCharacters);
  return short.replace(/[\ud800-\udbff]$/, "");
}

/** The sign at the start of a line says what it is; colour only repeats it. */
export function DiffLines({ text }: { readonly text: string }): VNode {
  return (
    <Chunks text={text}>
      {(lines) =>
        lines.map((line, index) => (
          <span key={index} class={`line ${DIFF_CLASSES[diffKind(line)]}`}>
            {line}
            {"\n"}
          </span>
        ))
      }
    </Chunks>
  );
}

interface ChunksProps {
  readonly text: string;
  readonly children: (lines: readonly string[]) => ComponentChildren;
}

function Chunks({ text, children }: ChunksProps): VNode {
  const lines = text.split("\n");
  if (lines.length <= CHUNK_LINES) return <>{children(lines)}</>;
  const starts = lines.flatMap((_line, index) => (index % CHUNK_LINES === 0 ? [index] : []));
  return (
    <>
      {starts.map((start) => (
        <span key={start} class="chunk">
          {children(lines.slice(start, start + CHUNK_LINES))}
        </span>
      ))}
    </>
  );
}

type DiffKind = "added" | "removed" | "place" | "file" | "same";

const DIFF_CLASSES: Readonly<Record<DiffKind, string>> = {
  added: "diff-added",
  removed: "diff-removed",
  place: "diff-place",
  file: "diff-file",
  same: "",
};

/** What a line of a unified diff says. */
export function diffKind(line: string): DiffKind {
  if (/^(--- |\+\+\+ |diff |index )/.test(line)) return "file";
  if (line.startsWith("@@")) return "place";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "same";
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
  if (pieces === undefined) return <Chunks text={text}>{(lines) => lines.join("\n")}</Chunks>;
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
