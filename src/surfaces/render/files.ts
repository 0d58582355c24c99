/** A message's files in words. */
import { type ChatRequest, fileSize, type RecordedFile } from "../../record/conversation/index.ts";
import { formatSize, oneLine } from "../../util/index.ts";

/** One line per file, such as `[image: cat.png, image/png, 12 kB]`. */
export function describeFiles({ files = [] }: ChatRequest): string[] {
  return files.map(describeFile);
}

function describeFile(file: RecordedFile): string {
  const { mediaType, filename, data } = file;
  const kind = mediaType.startsWith("image/") ? "image" : "file";
  const size = fileSize(file);
  const name = filename === undefined ? [] : [filename];
  const details = [...name, mediaType, size === undefined ? data : formatSize(size)];
  return oneLine(`[${kind}: ${details.join(", ")}]`);
}
