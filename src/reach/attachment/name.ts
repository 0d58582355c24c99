/** Resolves the name of an attachment: on the command line, and as `@path` in a message. */
import { realpathSync, statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import {
  conversationHint,
  fileUri,
  namesSecretFile,
  parseAttachment,
  schemeOf,
} from "../../settings/config/index.ts";
import type { MessageFile } from "../../record/conversation/index.ts";
import { bytesToBase64, formatSize, JpError, systemErrorCode } from "../../util/index.ts";
import { AttachmentError } from "./attachment-error.ts";
import { toContent } from "./media-type.ts";

/** Limit per file, as in the Rust original. */
export const MAX_FILE_BYTES = 10_000_000;

/** The folders that names are resolved against. */
export interface NamingPlace {
  /** The root of the workspace. */
  readonly root: string;
  readonly cwd: string;
  /** The folder that `~` stands for. */
  readonly home: string;
}

/** Something in the workspace or at an address, or a file elsewhere on this machine. */
export type NamedAttachment =
  | { readonly type: "kept"; readonly uri: string }
  | { readonly type: "outside"; readonly file: string };

/**
 * Throws `invalid_attachment`, and `attachment_not_found` for a path that does not exist. `!path` excludes it from
 * folders and patterns.
 */
export function nameAttachment(words: string, place: NamingPlace): NamedAttachment {
  const isExcluded = words.startsWith("!");
  const written = isExcluded ? words.slice(1) : words;
  if (written.trim() === "") {
    throw new JpError("invalid_attachment", "Cannot attach an empty path.", {
      hint: "For everything in this folder, attach `.`",
    });
  }
  const file = toAbsolute(written, place);
  const isAddress = !exists(file) && schemeOf(written) !== undefined;
  const relative = isAddress ? undefined : relativeTo(place.root, file);
  if (isExcluded && relative === undefined) {
    const message = `Cannot exclude ${written}: it is not a path in the workspace.`;
    throw new JpError("invalid_attachment", message);
  }
  if (isAddress) {
    parseAttachment(written); // Throws if jp cannot attach it.
    return { type: "kept", uri: written };
  }
  if (!exists(file) && !isExcluded && !(isPattern(written) && relative !== undefined)) {
    const message = `Cannot attach ${written}: it does not exist.`;
    const hint = conversationHint(written);
    throw new AttachmentError("attachment_not_found", message, hint === undefined ? {} : { hint });
  }
  if (relative === undefined) return { type: "outside", file };
  return { type: "kept", uri: fileUri(relative, isExcluded) };
}

/** Whether it can match several files. An existing file with such a name takes precedence. */
export function isPattern(text: string): boolean {
  return /[*?[]/.test(text);
}

function toAbsolute(written: string, { cwd, home }: NamingPlace): string {
  return path.resolve(cwd, written.replace(/^~(?=$|[/\\])/, home));
}

function exists(file: string): boolean {
  return kindOf(file) !== undefined;
}

/** Undefined if it does not exist, or cannot be looked at. */
function kindOf(file: string): "file" | "other" | undefined {
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats && (stats.isFile() ? "file" : "other");
  } catch {
    return undefined;
  }
}

/** Uses forward slashes; `.` is the root. Undefined for a path outside. */
function relativeTo(root: string, file: string): string | undefined {
  for (const base of [root, realpathSync(root)]) {
    const relative = path.relative(base, file);
    const isOutside = relative === ".." || relative.startsWith(`..${path.sep}`);
    if (!isOutside && !path.isAbsolute(relative)) return relative.split(path.sep).join("/") || ".";
  }
  return undefined;
}

/**
 * Reads a file outside the workspace, to be recorded with a message: its path would mean nothing on another machine,
 * and would reveal how this one is set up. Throws `AttachmentError`.
 */
export async function readOutsideFile(file: string): Promise<MessageFile> {
  const filename = path.basename(file);
  const failed = (reason: string) =>
    new AttachmentError("attachment_not_read", `Cannot attach ${file}: ${reason}.`, {
      hint: "From outside the workspace, jp attaches only single files.",
    });
  const stats = await stat(file).catch((error: unknown) => {
    throw failed(systemErrorCode(error) ?? "it cannot be read");
  });
  if (!stats.isFile()) throw failed(stats.isDirectory() ? "it is a folder" : "it is not a file");
  if (stats.size > MAX_FILE_BYTES)
    throw failed(`it is ${formatSize(stats.size)}; the limit is ${formatSize(MAX_FILE_BYTES)}`);
  const bytes = await readFile(file).catch((error: unknown) => {
    throw failed(systemErrorCode(error) ?? "it cannot be read");
  });
  const { content } = toContent(bytes, filename);
  if (typeof content !== "string") return content;
  return { mediaType: "text/plain", data: bytesToBase64(Buffer.from(content)), filename };
}

/** The message as it is sent, and the paths that it mentions. */
export interface MentioningText {
  readonly text: string;
  readonly paths: readonly string[];
  /** Mentioned too, but these look like files with passwords or keys, and the text may be pasted. */
  readonly secretPaths: readonly string[];
}

/**
 * Finds `@path` in a message that a person typed. It counts at the start of a word and if the path exists: relative to
 * the current folder, absolute, or below `~`. Trailing punctuation is not part of it, unless a path with it exists. A
 * path with spaces is written `@"a path"`. `\@path` stays text, without the backslash.
 */
export function findMentions(text: string, place: NamingPlace): MentioningText {
  const paths = new Set<string>();
  let sent = "";
  let position = 0;
  for (const { index, groups = {} } of text.matchAll(MENTION)) {
    const { escape = "", quoted, plain = "" } = groups;
    const found = quoted ?? endOfPath(plain, place);
    if (!isMentionable(found, place)) continue;
    if (escape === "") paths.add(found);
    sent += text.slice(position, index);
    position = index + escape.length;
  }
  const isSecret = (written: string) => leadsToSecret(written, place);
  return {
    text: sent + text.slice(position),
    paths: [...paths].filter((written) => !isSecret(written)),
    secretPaths: [...paths].filter(isSecret),
  };
}

/** Checks the resolved path, because `.env/.` and a link lead to that file too. */
function leadsToSecret(written: string, place: NamingPlace): boolean {
  try {
    const file = realpathSync(toAbsolute(written, place));
    return [written, relativeTo(place.root, file) ?? file].some(namesSecretFile);
  } catch {
    return true; // It was just deleted.
  }
}

const MAX_PATH_LENGTH = 1000;
const MENTION = /(?<=^|[\s([{"'])(?<escape>\\?)@(?:"(?<quoted>[^"\n]+)"|(?<plain>[^\s"]+))/g;

/** Any path in the workspace except the root, and single files elsewhere. */
function isMentionable(written: string, place: NamingPlace): boolean {
  if (/^[./\\~]*$/.test(written) || written.length > MAX_PATH_LENGTH) return false;
  if (/^[/\\]{2}/.test(written)) return false; // On Windows, even a stat of it would log in to another machine.
  const file = toAbsolute(written, place);
  const kind = kindOf(file);
  return kind === "file" || (kind === "other" && relativeTo(place.root, file) !== undefined);
}

/** The longest prefix that can be mentioned, without trailing punctuation; empty if none can. */
function endOfPath(word: string, place: NamingPlace): string {
  if (word.length > MAX_PATH_LENGTH) return "";
  let found = word;
  while (found !== "" && !isMentionable(found, place)) {
    const shorter = found.replace(/[.,;:!?)\]}'’]$/, "");
    if (shorter === found) return "";
    found = shorter;
  }
  return found;
}
