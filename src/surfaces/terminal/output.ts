/**
 * A command's output: results on standard output, notices on standard error, with the colours and width that each
 * supports.
 */
import { styleText } from "node:util";
import { type Paint, plain, type StyleName } from "../render/index.ts";
import type { OutputStream } from "./descriptor-output.ts";

export interface Output {
  readonly isTerminal: boolean;
  /** Width of result lines: the user's setting, or the terminal's width, or unlimited. */
  readonly lineWidth: number;
  /** Width of notice lines. */
  readonly noticeWidth: number;
  /** Whether results may use colours. */
  readonly hasColors: boolean;
  readonly paint: Paint;
  readonly paintNotice: Paint;
  /** Writes part of the result at once. */
  write(text: string): void;
  /** Prints a line of the result; may be buffered. */
  print(line: string): void;
  /** Prints a line to standard error: warnings, hints, progress. */
  notice(line: string): void;
  /** Writes part of a notice at once. */
  noticePiece(text: string): void;
  /** Writes the buffered output. */
  flush(): void;
  /** From now on, the screen prints terminal output above what it draws. Undefined ends that. */
  share(screen: SharedScreen | undefined): void;
}

/** Prints above its own drawing. */
export interface SharedScreen {
  print(stream: OutputStream, text: string): void;
  /** The output so far ends mid-line. */
  noteUnfinishedLine(): void;
}

export interface OutputStreams {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** The user's setting; overrides the terminal's width. */
  readonly width?: number | undefined;
  /** The user wants colours everywhere. */
  readonly isColorForced?: boolean;
}

/**
 * Whether the terminal supports links, judging by its variables. Others show only the text, so the address would be
 * lost.
 */
export function showsHyperlinks(variables: Readonly<Record<string, string | undefined>>): boolean {
  const { TERM = "", TERM_PROGRAM = "", FORCE_HYPERLINK: wanted } = variables;
  if (wanted !== undefined) return wanted !== "" && wanted !== "0";
  // Inside screen and tmux, the variables belong to another terminal, or to one that was left.
  if (/^(?:screen|tmux)/.test(TERM) || variables["TMUX"] !== undefined) return false;
  return (
    LINKING_PROGRAMS.has(TERM_PROGRAM) ||
    LINKING_TERMS.test(TERM) ||
    variables["WT_SESSION"] !== undefined ||
    variables["KONSOLE_VERSION"] !== undefined ||
    variables["DOMTERM"] !== undefined ||
    Number(variables["VTE_VERSION"] ?? 0) >= LINKING_VTE
  );
}

const LINKING_PROGRAMS: ReadonlySet<string> = new Set([
  "iTerm.app",
  "WezTerm",
  "vscode",
  "ghostty",
  "Hyper",
  "rio",
  "zed",
]);
const LINKING_TERMS = /^(?:xterm-kitty|xterm-ghostty|alacritty|foot|contour|wezterm)/;
/** Version 0.50 crashed on some links. */
const LINKING_VTE = 5001;

/** For terminals that report a width of 0. */
const DEFAULT_COLUMNS = 80;

/** The width of a terminal; unlimited for anything else. */
export function columnsOf(stream: Pick<OutputStream, "isTTY" | "columns">): number {
  if (!stream.isTTY) return Number.POSITIVE_INFINITY;
  return stream.columns > 0 ? stream.columns : DEFAULT_COLUMNS;
}

const FLUSH_THRESHOLD = 1 << 14;

export function createOutput(streams: OutputStreams): Output {
  const { stdout, stderr, width, isColorForced = false } = streams;
  let pending = "";
  let screen: SharedScreen | undefined;
  let isLineOver = true;
  const put = (stream: OutputStream, text: string) => {
    if (screen !== undefined && stream.isTTY) return screen.print(stream, text);
    if (stream.isTTY && text !== "") isLineOver = text.endsWith("\n");
    stream.write(text);
    return undefined;
  };
  const flush = () => {
    if (pending !== "") put(stdout, pending);
    pending = "";
  };
  return {
    isTerminal: stdout.isTTY,
    get lineWidth() {
      return width ?? columnsOf(stdout);
    },
    get noticeWidth() {
      return width ?? columnsOf(stderr);
    },
    hasColors: stdout.isTTY && paintFor(stdout, isColorForced)("bold", "x") !== "x",
    paint: paintFor(stdout, isColorForced),
    paintNotice: paintFor(stderr, isColorForced),
    write: (text) => {
      flush();
      put(stdout, text);
    },
    print: (line) => {
      pending += `${line}\n`;
      if (pending.length > FLUSH_THRESHOLD) flush();
    },
    notice: (line) => {
      flush();
      put(stderr, `${line}\n`);
    },
    noticePiece: (text) => {
      flush();
      put(stderr, text);
    },
    flush,
    share: (shared) => {
      flush();
      screen = shared;
      if (!isLineOver) screen?.noteUnfinishedLine();
      isLineOver = true;
    },
  };
}

/** Colours only on terminals, unless NO_COLOR or FORCE_COLOR is set. */
function paintFor(target: OutputStream, isColorForced: boolean): Paint {
  // Querying its styles would open standard error.
  if (!target.isTTY && !isColorForced) return plain;
  const stream = target as NodeJS.WriteStream; // `styleText` reads only fields that an `OutputStream` has.
  const hasColors = styleText("bold", "x", { stream }) !== "x";
  return hasColors ? createPaint() : plain;
}

/** Like `styleText`, but looks up each code once: a long transcript has millions of pieces of text. */
function createPaint(): Paint {
  const codes = new Map<StyleName, readonly [string, string]>();
  return (style, text) => {
    // Nested codes are left to `styleText`.
    if (text.includes("\u001b")) return styleText(style, text, { validateStream: false });
    let found = codes.get(style);
    if (found === undefined) {
      const [open = "", close = ""] = styleText(style, "x", { validateStream: false }).split("x");
      codes.set(style, (found = [open, close]));
    }
    return found[0] + text + found[1];
  };
}
