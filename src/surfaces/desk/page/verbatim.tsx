/**
 * Multi-line values, such as file content, diffs and arguments. Nothing is left out, and two different values never
 * look the same: `verbatimLines` shows invisible characters, and line numbers distinguish lines from wrapped rows.
 */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { findOtherHost, isDiff, verbatimLines } from "../../render/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";
import { Folded } from "./folded.tsx";
import { Label, Value } from "./parts.tsx";
import { useWrapping } from "./wrapping.ts";

/** The most that is ever drawn: a browser takes seconds for it. To decide, read the rest elsewhere. */
export const MAX_DRAWN = 4_000_000;
/** Shorter lines fit on a phone. In characters. */
const NARROW = 36;
/** Lines per chunk. A chunk becomes elements only near the viewport. */
const CHUNK_LINES = 200;

interface VerbatimProps {
  readonly text: string;
  readonly label: string;
  /** Shows the beginning of a long text, with a button for the rest. Never used where someone decides. */
  readonly folds?: boolean;
  /** The text is part of a diff, below the lines that name its file. */
  readonly isHunks?: boolean;
}

/** A text, coloured if it is a diff. */
export function Verbatim({ text, label, folds = false, isHunks = false }: VerbatimProps): VNode {
  const isChange = useMemo(() => isHunks || isDiff(text.split("\n")), [text, isHunks]);
  const hasLongLines = useMemo(
    () => text.split("\n").some(({ length }) => length > NARROW),
    [text],
  );
  const [isWrapped, setIsWrapped] = useWrapping();
  const lines = (shown: string) => <Lines {...{ text: shown, label, isChange, isHunks }} />;
  return (
    <div class="code">
      {hasLongLines && (
        <button type="button" class="quiet wrapping" onClick={() => setIsWrapped(!isWrapped)}>
          {isWrapped ? "Scroll long lines" : "Wrap long lines"}
        </button>
      )}
      {folds ? <Folded text={text}>{lines}</Folded> : lines(text.slice(0, MAX_DRAWN))}
      {!folds && text.length > MAX_DRAWN && (
        <p class="hint">
          The last {(text.length - MAX_DRAWN).toLocaleString()} characters do not fit here.
        </p>
      )}
    </div>
  );
}

/** Any JSON, indented. */
export function JsonBlock({
  value,
  ...props
}: Omit<VerbatimProps, "text"> & { readonly value: Json }): VNode {
  return <Verbatim {...props} text={JSON.stringify(value, null, 2)} />;
}

/** A call's arguments: multi-line texts verbatim, the rest as JSON. */
export function Arguments({
  value,
  folds = false,
  level = 3,
}: {
  readonly value: JsonObject;
  readonly folds?: boolean;
  /** The level of the headings. */
  readonly level?: 2 | 3;
}): VNode {
  const entries = Object.entries(value);
  const long = entries.flatMap(([name, argument]) =>
    isLong(argument) ? [[name, argument] as const] : [],
  );
  const short = entries.filter(([, argument]) => !isLong(argument));
  return (
    <>
      {(short.length > 0 || long.length === 0) && (
        <JsonBlock value={Object.fromEntries(short)} label="Arguments" folds={folds} />
      )}
      {short.map(([name, argument]) => (
        <OtherHost key={name} name={name} argument={argument} />
      ))}
      {long.map(([name, text]) => (
        <div key={name}>
          <Label level={level}>
            Argument <Value text={name} />
          </Label>
          <Verbatim text={text} label="Argument" folds={folds} />
        </div>
      ))}
    </>
  );
}

/** Shows the host that an address resolves to, if it is spelled differently. */
function OtherHost({ name, argument }: { readonly name: string; readonly argument: Json }) {
  const host = typeof argument === "string" ? findOtherHost(argument) : undefined;
  if (host === undefined) return null;
  return (
    <p class="hint">
      Host of <Value text={name} />: <Value text={host} />
    </p>
  );
}

function isLong(argument: Json): argument is string {
  return typeof argument === "string" && argument.includes("\n");
}

interface LinesProps {
  readonly text: string;
  readonly label: string;
  readonly isChange: boolean;
  readonly isHunks: boolean;
}

function Lines({ text, label, isChange, isHunks }: LinesProps): VNode {
  const [isWrapped] = useWrapping();
  const lines = useMemo(() => toLines(text, isChange, isHunks), [text, isChange, isHunks]);
  const starts = lines.flatMap((_line, index) => (index % CHUNK_LINES === 0 ? [index] : []));
  return (
    <div
      class={isWrapped ? "lines" : "lines sideways"}
      role="group"
      aria-label={label}
      data-digits={String(lines.length).length}
      // Scrolls, so it must be reachable with the keyboard.
      {...(!isWrapped && { tabIndex: 0 })}
    >
      {starts.map((start) => (
        <Chunk
          key={start}
          lines={lines.slice(start, start + CHUNK_LINES)}
          first={start + 1}
          isAlone={lines.length <= CHUNK_LINES}
        />
      ))}
    </div>
  );
}

interface ShownLine {
  readonly text: string;
  readonly kind: DiffKind;
}

function toLines(text: string, isChange: boolean, isHunks: boolean): readonly ShownLine[] {
  if (!isChange) return show(text).map((line) => ({ text: line, kind: "same" }));
  return text.split("\n").map((line) => {
    // Keeps the sign in its column.
    const sign = /^[-+ ]/.exec(line)?.[0] ?? "";
    return { text: sign + show(line.slice(sign.length)).join(""), kind: diffKind(line, isHunks) };
  });
}

function show(text: string): readonly string[] {
  return verbatimLines(text, { marksDirection: false });
}

interface ChunkProps {
  readonly lines: readonly ShownLine[];
  /** The number of the first line. */
  readonly first: number;
  /** It is the only chunk. */
  readonly isAlone: boolean;
}

/** Far from the viewport, a chunk is a single text of the same size. */
function Chunk({ lines, first, isAlone }: ChunkProps): VNode {
  const element = useRef<HTMLDivElement>(null);
  const [isNear, setIsNear] = useState(isAlone);
  useEffect(() => {
    const { current } = element;
    if (isAlone || current === null) return;
    const observer = new IntersectionObserver(
      (entries) => setIsNear(entries.at(-1)?.isIntersecting === true),
      { rootMargin: "100% 0px" },
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, [isAlone]);
  const children: ComponentChildren = isNear
    ? lines.map(({ text, kind }, index) => (
        <span key={index} class={`line ${DIFF_CLASSES[kind]}`} data-number={first + index}>
          {text}
          {"\n"}
        </span>
      ))
    : lines.map(({ text }) => `${text}\n`).join("");
  return (
    <div ref={element} class={isAlone ? "" : isNear ? "chunk" : "chunk far"}>
      {children}
    </div>
  );
}

type DiffKind = "added" | "removed" | "place" | "file" | "same";

/** The sign at the start of a line carries the meaning; colour only repeats it. */
const DIFF_CLASSES: Readonly<Record<DiffKind, string>> = {
  added: "diff-added",
  removed: "diff-removed",
  place: "diff-place",
  file: "diff-file",
  same: "",
};

/** The kind of a unified diff line. A hunk names no files, although its lines may look like it. */
export function diffKind(line: string, isHunk = false): DiffKind {
  if (!isHunk && /^(--- |\+\+\+ |diff |index )/.test(line)) return "file";
  if (line.startsWith("@@")) return "place";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "same";
}
