/**
 * Where a command's words go. Results go to standard output, notices to standard error; colours and
 * line lengths follow what stands at the other end.
 */
import { styleText } from "node:util";
import type { Paint } from "../render/index.ts";

export interface Output {
  readonly isTerminal: boolean;
  /** Where lines are cut: what the user says, else the screen's width; no limit elsewhere. */
  readonly lineWidth: number;
  /** The same beside the result. */
  readonly noticeWidth: number;
  /** Whether more than plain text is understood where results go. */
  readonly hasColors: boolean;
  readonly paint: Paint;
  readonly paintNotice: Paint;
  /** A piece of the result, handed over at once. */
  write(text: string): void;
  /** A line of the result. */
  print(line: string): void;
  /** A line beside it: warnings, hints, what was done. */
  notice(line: string): void;
  /** A piece of such a line, handed over at once. */
  noticePiece(text: string): void;
  /** What was printed is handed over. */
  flush(): void;
}

export interface OutputStreams {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Said by the user, and more than what the screen says. */
  readonly width?: number | undefined;
}

const CHUNK = 1 << 14;

export function createOutput({ stdout, stderr, width }: OutputStreams): Output {
  let pending = "";
  const flush = () => {
    if (pending !== "") stdout.write(pending);
    pending = "";
  };
  return {
    isTerminal: stdout.isTTY,
    lineWidth: width ?? (stdout.isTTY ? stdout.columns : Number.POSITIVE_INFINITY),
    noticeWidth: width ?? (stderr.isTTY ? stderr.columns : Number.POSITIVE_INFINITY),
    hasColors: stdout.isTTY && paintFor(stdout)("bold", "x") !== "x",
    paint: paintFor(stdout),
    paintNotice: paintFor(stderr),
    write: (text) => {
      flush();
      stdout.write(text);
    },
    print: (line) => {
      pending += `${line}\n`;
      if (pending.length > CHUNK) flush();
    },
    notice: (line) => {
      flush();
      stderr.write(`${line}\n`);
    },
    noticePiece: (text) => {
      flush();
      stderr.write(text);
    },
    flush,
  };
}

/** Colours on a terminal only, unless NO_COLOR or FORCE_COLOR say otherwise. */
function paintFor(stream: NodeJS.WriteStream): Paint {
  return (style, text) => styleText(style, text, { stream });
}
