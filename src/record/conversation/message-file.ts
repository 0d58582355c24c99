/** The files of a user's message, such as images: as a program gives them, and as they are recorded. */
import {
  base64Size,
  bytesToBase64,
  decodeBase64,
  JpError,
  type JsonObject,
  mismatch,
  optionalString,
  shapeOf,
  stringField,
} from "../../util/index.ts";

/** An image or another file that a message of the user comes with. */
export interface MessageFile {
  /** Such as `image/png`. Which ones a model accepts is up to its provider; all accept `text/plain`. */
  readonly mediaType: string;
  /** Bytes, base64, or an `http` or `https` URL that the provider loads. jp reads no files and loads no URLs. */
  readonly data: Uint8Array | string | URL;
  readonly filename?: string;
}

/** A file in the record. */
export interface RecordedFile extends MessageFile {
  /** Base64 or a URL. */
  readonly data: string;
}

/** The most bytes that the files of one message may have together. */
export const MAX_FILE_BYTES = 20 * 1024 * 1024;

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+*-]+$/;

export function isMediaType(text: string): boolean {
  return MEDIA_TYPE.test(text);
}

/** Throws `invalid_file`. */
export function recordFiles(files: readonly MessageFile[]): readonly RecordedFile[] {
  const recorded = files.map(recordFile);
  const total = recorded.reduce((sum, file) => sum + (fileSize(file) ?? 0), 0);
  if (total <= MAX_FILE_BYTES) return recorded;
  throw new JpError(
    "invalid_file",
    `The files of a message may have ${MAX_FILE_BYTES} bytes together; these have ${total}.`,
    { hint: "Scale images down, or pass a URL." },
  );
}

function recordFile(file: MessageFile): RecordedFile {
  const { mediaType, data, filename } = file;
  const text = typeof data === "string" ? data : toText(data);
  const isNamed = typeof (filename ?? "") === "string";
  const problem = isNamed ? findProblem(mediaType, text) : "its filename is not text";
  if (problem !== undefined) {
    const name = typeof filename === "string" ? ` ${JSON.stringify(filename)}` : "";
    throw new JpError("invalid_file", `The file${name} cannot be sent: ${problem}.`);
  }
  return { mediaType, data: text, ...(typeof filename === "string" && { filename }) };
}

/** Programs without types may pass anything, and "null" is base64. */
function toText(data: Uint8Array | URL): string {
  if (data instanceof Uint8Array) return bytesToBase64(data);
  return data instanceof URL ? data.href : NOT_DATA;
}

const NOT_DATA = "-";

function findProblem(mediaType: string, data: string): string | undefined {
  if (!isMediaType(mediaType)) return `${JSON.stringify(mediaType)} is not a media type`;
  if (isUrl(data) || base64Size(data) !== undefined) return undefined;
  return "its data is neither bytes, nor base64, nor an http or https URL";
}

function isUrl(data: string): boolean {
  return /^https?:\/\//.test(data) && URL.canParse(data);
}

/** Undefined for base64. */
export function fileUrl({ data }: RecordedFile): URL | undefined {
  return isUrl(data) ? new URL(data) : undefined;
}

/** In bytes. Undefined for a URL. */
export function fileSize({ data }: RecordedFile): number | undefined {
  return isUrl(data) ? undefined : base64Size(data);
}

/** The content of a text file. Undefined for any other, and for a URL. */
export function fileText(file: RecordedFile): string | undefined {
  const isText = file.mediaType.startsWith("text/") && fileUrl(file) === undefined;
  return isText ? decodeBase64(file.data) : undefined;
}

export function fileToJson(file: RecordedFile): JsonObject {
  return { ...nameToJson(file), data: file.data };
}

/** The same without its data, which can be long. */
export function fileToPlainJson(file: RecordedFile): JsonObject {
  const size = fileSize(file);
  return { ...nameToJson(file), ...(size === undefined ? { url: file.data } : { size }) };
}

function nameToJson({ mediaType, filename }: RecordedFile): JsonObject {
  return { media_type: mediaType, ...(filename !== undefined && { filename }) };
}

/** Throws `ShapeError`: a record may come from elsewhere, and its files go to a provider. */
export function parseFile(value: unknown): RecordedFile {
  const shape = shapeOf(value);
  const mediaType = stringField(shape, "media_type");
  const data = stringField(shape, "data");
  const filename = optionalString(shape, "filename");
  const problem = findProblem(mediaType, data);
  if (problem !== undefined) throw mismatch("files", "files that can be sent", problem);
  return { mediaType, data, ...(filename !== undefined && { filename }) };
}
