/** Summarizes a conversation for lists from its metadata and the end of its events. */
import { closeSync, fstatSync, readSync } from "node:fs";
import path from "node:path";
import {
  type ConversationId,
  type ConversationMetadata,
  findTimestamp,
  parseMetadata,
  type Timestamp,
} from "../../conversation/index.ts";
import type { ConversationSummary } from "../port.ts";
import { messageOf, parseJson, systemErrorCode } from "../../util/index.ts";
import {
  BASE_CONFIG,
  type ConversationCopy,
  currentCopies,
  EVENTS,
  METADATA,
  latestCopy,
} from "./conversation-folders.ts";
import { ENDING_LENGTH, findAppendPoint } from "./event-layout.ts";
import { readElements } from "./event-reader.ts";
import { openRecord, readRecord } from "./safe-open.ts";

const TAIL_BYTES = 4096;
/** Shared: a list may read a thousand conversations, one after another. */
const tailBuffer = Buffer.alloc(TAIL_BYTES);

/** `copies` are all copies of one conversation. Errors are reported in `problem`. */
export function summarize(
  id: ConversationId,
  copies: readonly ConversationCopy[],
): ConversationSummary {
  const current = currentCopies(copies);
  const roots = new Set(current.map((copy) => copy.root));
  const metadata = attempt(METADATA, () => readMetadata(folderOfLatest(current, METADATA)));
  const lastEventAt = attempt(EVENTS, () =>
    findLastTimestamp(path.join(folderOfLatest(current, EVENTS, BASE_CONFIG), EVENTS)),
  );
  const problem = metadata.problem ?? lastEventAt.problem;
  return {
    id,
    isArchived: current.every((copy) => copy.isArchived),
    place: roots.size > 1 ? "both" : roots.has("local") ? "local" : "workspace",
    ...(metadata.value !== undefined && { metadata: metadata.value }),
    ...(lastEventAt.value !== undefined && { lastEventAt: lastEventAt.value }),
    ...(problem !== undefined && { problem }),
  };
}

/** Throws what reading or parsing throws. */
export function readMetadata(folder: string): ConversationMetadata {
  return parseMetadata(parseJson(readRecord(path.join(folder, METADATA)).toString("utf8")));
}

export function folderOfLatest(copies: readonly ConversationCopy[], ...files: string[]): string {
  return latestCopy(copies, ...files)?.folder ?? "";
}

/**
 * Searches for the last timestamp from the end of the file. In the usual layout, only timestamps of
 * elements are indented by four spaces. A file in another layout is read completely.
 */
function findLastTimestamp(file: string): Timestamp | undefined {
  const fd = openRecord(file);
  try {
    const { size } = fstatSync(fd);
    for (let length = TAIL_BYTES; ; length *= 8) {
      const start = Math.max(0, size - length);
      const bytes =
        length === TAIL_BYTES ? tailBuffer.subarray(0, size - start) : Buffer.alloc(size - start);
      readSync(fd, bytes, 0, bytes.length, start);
      if (
        findAppendPoint(size, bytes.toString("latin1", bytes.length - ENDING_LENGTH)) === undefined
      ) {
        return scanForLastTimestamp(file);
      }
      const found = bytes.lastIndexOf('\n    "timestamp": "');
      if (found !== -1 || start === 0) return found === -1 ? undefined : timestampAt(bytes, found);
    }
  } finally {
    closeSync(fd);
  }
}

function timestampAt(bytes: Buffer, from: number): Timestamp | undefined {
  const line = bytes.toString("utf8", from, from + 100);
  return findTimestamp(/"timestamp": "([^"]*)"/.exec(line)?.[1]);
}

function scanForLastTimestamp(file: string): Timestamp | undefined {
  let last: Timestamp | undefined;
  for (const { elements } of readElements(file)) {
    last = findTimestamp(elements.at(-1)?.["timestamp"]) ?? last;
  }
  return last;
}

function attempt<Value>(file: string, read: () => Value): { value?: Value; problem?: string } {
  try {
    return { value: read() };
  } catch (error) {
    const reason = messageOf(error);
    const isMissing = systemErrorCode(error) === "ENOENT";
    return { problem: `${file}: ${isMissing ? "it does not exist" : reason}` };
  }
}
