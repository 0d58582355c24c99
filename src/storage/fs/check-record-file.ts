/** Says what is wrong with a file that somebody edited, before it takes the place of a good one. */
import { parseMetadata, StreamEntry } from "../../conversation/index.ts";
import { isJsonObject, jsonTypeOf, parseJson } from "../../util/index.ts";
import type { RecordFile } from "../port.ts";
import { StorageError } from "../storage-error.ts";

/** Throws `invalid_record`. */
export function checkRecordFile(file: RecordFile, text: string): void {
  try {
    CHECKS[file](parseJson(text));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StorageError("invalid_record", `This is no valid ${file} file: ${reason}`, { cause });
  }
}

const CHECKS = {
  events: checkEvents,
  metadata: parseMetadata,
  baseConfig: (value: unknown) => {
    if (!isJsonObject(value)) throw new Error(`expected an object, got ${jsonTypeOf(value)}`);
  },
} satisfies Record<RecordFile, (value: unknown) => unknown>;

function checkEvents(value: unknown): void {
  if (!Array.isArray(value)) throw new Error(`expected a list, got ${jsonTypeOf(value)}`);
  for (const [index, element] of value.entries()) {
    if (!isJsonObject(element)) {
      throw new Error(`element ${index}: expected an object, got ${jsonTypeOf(element)}`);
    }
    // Without these two, the Rust original would put the whole conversation in the trash.
    for (const key of ["timestamp", "type"]) {
      if (element[key] === undefined) throw new Error(`element ${index}: "${key}" is missing`);
    }
    const { content } = StreamEntry.fromJson(element);
    if (content.kind === "malformed") throw new Error(`element ${index}: ${content.error.message}`);
  }
}
