/** Finds the lines of a text that contain plain text, or match a regular expression. */
import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { messageOf } from "../../../../util/index.ts";
import { FileError } from "../../../files/index.ts";
import { findRequiredTexts, isSearchable } from "./required-texts.ts";

export interface LineMatch {
  /** Both start at 0. */
  readonly line: number;
  readonly column: number;
}

export interface LineSearch extends AsyncDisposable {
  /** A text that contains none of these has no match. Undefined if unknown. */
  readonly required?: readonly string[] | undefined;
  /** Returns the first matches, one per line. Throws a `FileError`, or the signal's reason. */
  find(text: string, limit: number): Promise<readonly LineMatch[]>;
}

/** Returns the lines without their endings, LF or CR LF. All line numbers refer to these lines. */
export function splitLines(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

export function createTextSearch(wanted: string): LineSearch {
  return {
    required: isSearchable(wanted) ? [wanted] : undefined,
    find: async (text, limit) => {
      const matches: LineMatch[] = [];
      if (!text.includes(wanted)) return matches;
      for (const [line, content] of splitLines(text).entries()) {
        const column = content.indexOf(wanted);
        if (column < 0) continue;
        matches.push({ line, column });
        if (matches.length === limit) break;
      }
      return matches;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

export interface RegexSearchOptions {
  readonly pattern: string;
  /** Limit per text. */
  readonly timeLimitMs: number;
  readonly signal: AbortSignal;
}

/**
 * Some regular expressions practically never finish. They run in a worker, which is terminated when
 * its time is up. Throws a `FileError` for an invalid pattern.
 */
export async function createRegexSearch(options: RegexSearchOptions): Promise<LineSearch> {
  const { source, flags } = parseRegex(options.pattern);
  const { Worker } = await import("node:worker_threads"); // Slow to load.
  const worker = new Worker(WORKER, {
    eval: true,
    workerData: { source, flags },
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  await once(worker, "online");
  return {
    required: flags === "u" ? findRequiredTexts(options.pattern) : undefined,
    find: (text, limit) => findInWorker(worker, { text, limit }, options),
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  };
}

/** The `u` grammar first, for \p{…}. Many patterns are valid only in the older one. */
function parseRegex(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    try {
      return new RegExp(pattern, "");
    } catch (error) {
      throw new FileError(
        `The pattern is not a valid regular expression (${messageOf(error)}). Correct it, or leave ` +
          "out regex to search for plain text.",
      );
    }
  }
}

/**
 * A string, because a bundle has no second file to start. It splits lines like `splitLines`, but one at a time: an array
 * of them can need many times the memory of the text.
 */
const WORKER = `
const { parentPort, workerData } = require("node:worker_threads");
const regex = new RegExp(workerData.source, workerData.flags);
parentPort.on("message", ({ text, limit }) => {
  const matches = [];
  for (let line = 0, start = 0; start < text.length && matches.length < limit; line += 1) {
    const found = text.indexOf("\\n", start);
    const next = found < 0 ? text.length : found;
    const end = found > start && text[found - 1] === "\\r" ? found - 1 : next;
    const match = regex.exec(text.slice(start, end));
    if (match !== null) matches.push({ line, column: match.index });
    start = next + 1;
  }
  parentPort.postMessage(matches);
});
`;

interface WorkerRequest {
  readonly text: string;
  readonly limit: number;
}

async function findInWorker(
  worker: Worker,
  request: WorkerRequest,
  { timeLimitMs, signal }: RegexSearchOptions,
): Promise<readonly LineMatch[]> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<readonly LineMatch[]>();
  const onAbort = () => reject(signal.reason);
  const onEnd = () => reject(new FileError("The regular expression needs too much memory."));
  const timer = setTimeout(() => reject(timeLimitError(timeLimitMs)), timeLimitMs);
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

function timeLimitError(timeLimitMs: number): FileError {
  return new FileError(
    `The regular expression took longer than ${timeLimitMs / 1000} seconds on one file and was ` +
      "stopped. Avoid nested repetition, such as (a+)+, or search for plain text.",
  );
}
