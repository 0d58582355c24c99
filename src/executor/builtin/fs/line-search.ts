/** Finds the lines of a text that hold a piece of text. Expressions have a file of their own. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { messageOf } from "../../../util/index.ts";
import { Refusal } from "./file-error.ts";

export interface LineMatch {
  /** Both counted from 0. */
  readonly line: number;
  readonly column: number;
}

/** What a text is searched with. */
export interface LineSearch extends AsyncDisposable {
  /** The first matches, one per line, at most so many. Throws a refusal, and what the signal says. */
  find(text: string, most: number): Promise<readonly LineMatch[]>;
}

/** The same wherever lines are counted: a line is without its line end, CR LF or LF. */
export function splitLines(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

export function createLiteralSearch(piece: string): LineSearch {
  return {
    find: (text, most) => Promise.resolve(text.includes(piece) ? find(text, piece, most) : []),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function find(text: string, piece: string, most: number): readonly LineMatch[] {
  const matches: LineMatch[] = [];
  for (const [line, content] of splitLines(text).entries()) {
    const column = content.indexOf(piece);
    if (column < 0) continue;
    matches.push({ line, column });
    if (matches.length === most) break;
  }
  return matches;
}

export interface ExpressionSearchOptions {
  readonly pattern: string;
  /** For one text. */
  readonly timeLimitMs: number;
  readonly signal: AbortSignal;
}

/** Throws a refusal for what is no regular expression. */
export async function createExpressionSearch(
  options: ExpressionSearchOptions,
): Promise<LineSearch> {
  const { source, flags } = parseExpression(options.pattern);
  const worker = new Worker(WORKER, {
    eval: true,
    workerData: { source, flags },
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  await once(worker, "online");
  return {
    find: (text, most) => ask(worker, { text, most }, options),
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  };
}

/**
 * In text, since a bundle has no second file to start. Lines are those of `splitLines`; they are not
 * all held at once, as a text of line breaks alone would fill the thread's memory.
 */
const WORKER = `
const { parentPort, workerData } = require("node:worker_threads");
const expression = new RegExp(workerData.source, workerData.flags);
parentPort.on("message", ({ text, most }) => {
  const matches = [];
  for (let line = 0, start = 0; start < text.length && matches.length < most; line += 1) {
    const lineEnd = text.indexOf("\\n", start);
    const next = lineEnd < 0 ? text.length : lineEnd + 1;
    const match = expression.exec(text.slice(start, next).replace(/\\r?\\n$/, ""));
    if (match !== null) matches.push({ line, column: match.index });
    start = next;
  }
  parentPort.postMessage(matches);
});
`;

/** The stricter grammar first: it knows \p{…}. Many expressions are written for the other one. */
function parseExpression(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    try {
      return new RegExp(pattern, "");
    } catch (error) {
      const reason = messageOf(error);
      throw new Refusal(
        `The pattern is not a valid regular expression (${reason}). Correct it, or leave out regex ` +
          "to search for the text as it is.",
      );
    }
  }
}

interface SearchRequest {
  readonly text: string;
  readonly most: number;
}

async function ask(
  worker: Worker,
  request: SearchRequest,
  { timeLimitMs, signal }: ExpressionSearchOptions,
): Promise<readonly LineMatch[]> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<readonly LineMatch[]>();
  const onAbort = () => reject(signal.reason);
  const onEnd = () => reject(new Refusal("The regular expression needs too much memory."));
  const timer = setTimeout(() => reject(tooSlow(timeLimitMs)), timeLimitMs);
  signal.addEventListener("abort", onAbort);
  worker.once("message", resolve).once("error", onEnd).once("exit", onEnd);
  try {
    worker.postMessage(request, []);
    return await promise;
  } catch (error) {
    await worker.terminate();
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    worker.off("message", resolve).off("error", onEnd).off("exit", onEnd);
  }
}

function tooSlow(timeLimitMs: number): Refusal {
  return new Refusal(
    `The regular expression took longer than ${timeLimitMs / 1000} seconds on one file and was ` +
      "stopped. Avoid repetitions inside repetitions, such as (a+)+, or search for plain text.",
  );
}
