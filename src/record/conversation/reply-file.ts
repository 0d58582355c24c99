/** Files that a model sends: the event that names one, and the name under which a store keeps its bytes. */
import {
  integerField,
  type JsonObject,
  mismatch,
  type Shape,
  sha256,
  stringField,
} from "../../util/index.ts";
import type { KeptFile, ReplyFile } from "./event.ts";
import { isMediaType } from "./message-file.ts";

/** The folder of a conversation that has its files. */
export const FILES_FOLDER = "files";

const EXTENSIONS: Readonly<Record<string, string>> = {
  "application/json": "json",
  "application/pdf": "pdf",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "audio/wav": "wav",
  "image/gif": "gif",
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
  "text/csv": "csv",
  "text/markdown": "md",
  "text/plain": "txt",
  "video/mp4": "mp4",
};

/** The file's name in its conversation. Nothing of it is the model's choice but one of a few extensions. */
export function keptFileName(file: KeptFile): string {
  return `${FILES_FOLDER}/${keptFileBaseName(file)}`;
}

/** The same without the folder. */
export function keptFileBaseName({ digest, mediaType }: KeptFile): string {
  const extension = Object.hasOwn(EXTENSIONS, mediaType) ? EXTENSIONS[mediaType] : undefined;
  return `${digest}.${extension ?? "bin"}`;
}

const MAX_TYPE_LENGTH = 100;

/** The file's fields for the record. A media type that is none counts as unknown. */
export function describeFile(mediaType: string, bytes: Uint8Array): KeptFile & { size: number } {
  const [start = ""] = mediaType.toLowerCase().split(";");
  const type = start.trim();
  const isPlain = type.length <= MAX_TYPE_LENGTH && isMediaType(type);
  return {
    mediaType: isPlain ? type : "application/octet-stream",
    digest: sha256(bytes),
    size: bytes.length,
  };
}

/** Whether these are the bytes that were recorded: a record may come from elsewhere. */
export function isRecordedFile(bytes: Uint8Array, { digest }: KeptFile): boolean {
  return sha256(bytes) === digest;
}

const DIGEST = /^[0-9a-f]{64}$/;

export function parseReplyFile(shape: Shape): Omit<ReplyFile, "timestamp"> {
  const mediaType = stringField(shape, "media_type");
  const digest = stringField(shape, "digest");
  const size = integerField(shape, "size");
  if (!isMediaType(mediaType)) throw mismatch("media_type", "a media type", mediaType);
  if (!DIGEST.test(digest)) throw mismatch("digest", "64 hexadecimal digits", digest);
  return { type: "reply_file", mediaType, digest, size };
}

export function replyFileToJson({ mediaType, digest, size }: ReplyFile): JsonObject {
  return { media_type: mediaType, digest, size };
}
