/** Summarizes a conversation for lists from its metadata and the end of its events. */
import { isUtf8 } from "node:buffer";
import { closeSync, readSync } from "node:fs";
import path from "node:path";
import {
  type ConversationId,
  type ConversationMetadata,
  findTimestamp,
  parseMetadata,
  type Timestamp,
} from "../../record/conversation/index.ts";
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
import { readEntries } from "./event-reader.ts";
import { fileIdCreatedAt } from "./file-id.ts";
import { type OpenedFile, openerOf } from "./safe-open.ts";
import type { ReadSummary, SummaryIndex } from "./summary-index.ts";

const TAIL_BYTES = 4096;
/** Shared: a list may read a thousand conversations, one after another. */
const sharedBuffer = Buffer.alloc(TAIL_BYTES);

/** `copies` are all copies of one conversation. Errors are reported in `problem`. */
export function summarize(
  id: ConversationId,
  copies: readonly ConversationCopy[],
  index?: SummaryIndex,
): ConversationSummary {
  const first = copies[0];
  const isIndexed = index !== undefined && first !== undefined && copies.length === 1;
  const current = isIndexed ? copies : currentCopies(copies);
  const isArchived = isIndexed ? first.isArchived : current.every((copy) => copy.isArchived);
  const read = () => ({ ...readSummary(current), createdAt: fileIdCreatedAt(id) });
  const found = isIndexed ? index.summarize(first, read) : read();
  const { createdAt = fileIdCreatedAt(id), metadata, lastEventAt, problem } = found;
  // Avoids the spreads below, which would slow down a list of a thousand conversations.
  if (metadata !== undefined && lastEventAt !== undefined && problem === undefined) {
    return { id, createdAt, isArchived, metadata, lastEventAt };
  }
  return {
    id,
    createdAt,
    isArchived,
    ...(metadata !== undefined && { metadata }),
    ...(lastEventAt !== undefined && { lastEventAt }),
    ...(problem !== undefined && { problem }),
  };
}

function readSummary(current: readonly ConversationCopy[]): ReadSummary {
  const folder = folderOfLatest(current, METADATA);
  const eventsFolder = folderOfLatest(current, EVENTS, BASE_CONFIG);
  const open = openerOf(folder);
  const openEvents = eventsFolder === folder ? open : openerOf(eventsFolder);
  const metadata = attempt(METADATA, () => parseMetadataFile(open(METADATA)));
  const lastEventAt = attempt(EVENTS, () =>
    findLastTimestamp(openEvents(EVENTS), path.join(eventsFolder, EVENTS)),
  );
  const problem = metadata.problem ?? lastEventAt.problem;
  return { metadata: metadata.value, lastEventAt: lastEventAt.value, problem };
}

/** Throws what reading or parsing throws. */
export function readMetadata(folder: string): ConversationMetadata {
  return parseMetadataFile(openerOf(folder)(METADATA));
}

/** Closes the file. */
function parseMetadataFile({ fd, size }: OpenedFile): ConversationMetadata {
  try {
    const bytes = readBytes(fd, 0, size);
    if (!isUtf8(bytes)) throw new Error("it is not UTF-8");
    return parseMetadata(parseJson(bytes.toString("utf8")));
  } finally {
    closeSync(fd);
  }
}

/** Valid until the next call. */
function readBytes(fd: number, start: number, length: number): Buffer {
  const bytes = length > TAIL_BYTES ? Buffer.alloc(length) : sharedBuffer;
  return bytes.subarray(0, readSync(fd, bytes, 0, length, start));
}

export function folderOfLatest(copies: readonly ConversationCopy[], ...files: string[]): string {
  return latestCopy(copies, ...files)?.folder ?? "";
}

/**
 * Searches for the last timestamp from the end of the file. In the usual layout, only timestamps of
 * elements are indented by four spaces. A file in another layout is read completely. Closes the file.
 */
function findLastTimestamp({ fd, size }: OpenedFile, file: string): Timestamp | undefined {
  try {
    for (let length = TAIL_BYTES; ; length *= 8) {
      const start = Math.max(0, size - length);
      const bytes = readBytes(fd, start, size - start);
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
  for (const { entries } of readEntries(file)) {
    last = findTimestamp(entries.at(-1)?.raw["timestamp"]) ?? last;
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
