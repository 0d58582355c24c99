/**
 * Multi-line values, such as file content, diffs and arguments. Nothing is left out, and two different values never
 * look the same: `verbatimLines` shows invisible characters, and line numbers distinguish lines from wrapped rows.
 */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { findOtherHost, isDiff, verbatimLines } from "../../render/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";
import { Folded } from "./folded.tsx";
import { Label, useIsWide, Value } from "./parts.tsx";
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
  const isSplit = useIsWide() && isChange && isWrapped;
  const lines = useMemo(
    () => (isChange ? diffLines(text, isHunks) : plainLines(text)),
    [text, isChange, isHunks],
  );
  const starts = lines.flatMap((_line, index) => (index % CHUNK_LINES === 0 ? [index] : []));
  const last = Math.max(...lines.slice(-CHUNK_LINES).map(({ number }) => number ?? 0));
  return (
    <div
      class={`lines${isWrapped ? "" : " sideways"}${isSplit ? " split" : ""}`}
      role="group"
      aria-label={label}
      data-digits={String(last).length}
      // Scrolls, so it must be reachable with the keyboard.
      {...(!isWrapped && { tabIndex: 0 })}
    >
      {starts.map((start) => (
        <Chunk
          key={start}
          lines={lines.slice(start, start + CHUNK_LINES)}
          isSplit={isSplit}
          isAlone={lines.length <= CHUNK_LINES}
        />
      ))}
    </div>
  );
}

/** A line as drawn. */
interface ShownLine {
  readonly text: string;
  readonly kind: DiffKind;
  /** In a diff, that of the new file, or of the old one for a removed line. */
  readonly number?: number | undefined;
  /** For an unchanged line of a diff, its number in the old file. */
  readonly old?: number;
}

function plainLines(text: string): readonly ShownLine[] {
  return show(text).map((line, index) => ({ text: line, kind: "same", number: index + 1 }));
}

const PLACE = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** The lines of a diff with their numbers in the files. `isHunks`: no line names a file, although it may look like it. */
export function diffLines(text: string, isHunks = false): readonly ShownLine[] {
  /** The next line of each file, and how many belong to the hunk: a removed `-- x` looks like the name of a file. */
  let [old, added, oldLeft, addedLeft] = isHunks ? [1, 1, Infinity, Infinity] : [0, 0, 0, 0];
  return text.split("\n").map((line): ShownLine => {
    const sign = /^[-+ ]/.exec(line)?.[0] ?? "";
    const shown = sign + show(line.slice(sign.length)).join(""); // The sign stays in its column.
    const place = PLACE.exec(line);
    if (place !== null) {
      const [, from, count = 1, to, addedCount = 1] = place;
      [old, added, oldLeft, addedLeft] = [from, to, count, addedCount].map(Number) as Place;
      return { text: shown, kind: "place" };
    }
    const isIn = oldLeft > 0 || addedLeft > 0;
    if (!isIn && !isHunks && /^(--- |\+\+\+ |diff |index )/.test(line))
      return { text: shown, kind: "file" };
    const kind = sign === "-" ? "removed" : sign === "+" ? "added" : "same";
    const isContent = isIn && (sign !== "" || line === ""); // Some tools strip the sign of an empty line.
    if (!isContent) return { text: shown, kind };
    if (kind !== "added") oldLeft -= 1;
    if (kind !== "removed") addedLeft -= 1;
    if (kind === "removed") return { text: shown, kind, number: old++ };
    return { text: shown, kind, number: added++, ...(kind === "same" && { old: old++ }) };
  });
}

type Place = [old: number, added: number, oldLeft: number, addedLeft: number];

function show(text: string): readonly string[] {
  return verbatimLines(text, { marksDirection: false });
}

/** One line for both sides, or one for each. */
type Row = readonly (ShownLine | undefined)[];

/** Removed lines beside the added ones that follow them. */
export function toRows(lines: readonly ShownLine[]): readonly Row[] {
  const rows: (ShownLine | undefined)[][] = [];
  let free = 0; // From here on, rows have only a removed line.
  for (const line of lines) {
    const row = line.kind === "added" ? rows[free] : undefined;
    if (line.kind === "removed") rows.push([line, undefined]);
    else if (row !== undefined) {
      row[1] = line;
      free += 1;
    } else {
      if (line.kind === "added") rows.push([undefined, line]);
      else rows.push(line.old === undefined ? [line] : [{ ...line, number: line.old }, line]);
      free = rows.length;
    }
  }
  return rows;
}

interface ChunkProps {
  readonly lines: readonly ShownLine[];
  /** Both versions of a file, side by side. */
  readonly isSplit: boolean;
  /** It is the only chunk. */
  readonly isAlone: boolean;
}

/** Far from the viewport, a chunk is a single text of the same size. */
function Chunk({ lines, isSplit, isAlone }: ChunkProps): VNode {
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
  const rows: readonly Row[] = isSplit ? toRows(lines) : lines.map((line) => [line]);
  const children: ComponentChildren = isNear
    ? rows.flatMap((row, index) =>
        row.map((line, side) => (
          <span
            key={`${index} ${side}`}
            class={classOf(line, isSplit && row.length === 1)}
            data-number={line && (line.number ?? "·")}
            // An unchanged line is read once.
            aria-hidden={side === 1 && line?.kind === "same" ? true : undefined}
          >
            {line?.text}
            {"\n"}
          </span>
        )),
      )
    : rows.map((row) => `${longest(row)}\n`).join("");
  return (
    <div ref={element} class={isAlone ? "" : isNear ? "chunk" : "chunk far"}>
      {children}
    </div>
  );
}

function classOf(line: ShownLine | undefined, isBoth: boolean): string {
  return `line ${line === undefined ? "" : DIFF_CLASSES[line.kind]}${isBoth ? " both" : ""}`.trimEnd();
}

function longest([left, right]: Row): string {
  const [one, other] = [left?.text ?? "", right?.text ?? ""];
  return one.length > other.length ? one : other;
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
