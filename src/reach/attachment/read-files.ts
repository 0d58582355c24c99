/**
 * Reads the files that an attachment names: one file, a folder, or the matches of a pattern. Reads only inside the
 * workspace, and never Git's or jp's own files. Refuses links that lead elsewhere.
 */
import { stat } from "node:fs/promises";
import path from "node:path";
import { namesSecretFile } from "../../settings/config/index.ts";
import {
  compileGlob,
  FileError,
  formatPath,
  type FoundFile,
  openFile,
  openFolder,
  type ResolvedPath,
  resolvePath,
  walkFiles,
} from "../files/index.ts";
import { formatSize, systemErrorCode } from "../../util/index.ts";
import { AttachmentError } from "./attachment-error.ts";
import { isPattern, MAX_FILE_BYTES } from "./name.ts";

/** Limit per folder or pattern: all files are held in memory. */
const MAX_FILES = 1000;
const MAX_FOLDER_BYTES = 32_000_000;

export interface ReadFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  readonly bytes: Buffer;
  /** The attachment names this file itself, not a folder or a pattern. */
  readonly isNamed: boolean;
}

export interface FilesRequest {
  readonly root: string;
  /** Relative to the root. */
  readonly path: string;
  /** Patterns to leave out of folders and patterns. */
  readonly excluded: readonly string[];
  readonly signal: AbortSignal;
  /** Called with a sentence about files that a folder or pattern leaves out. */
  readonly onNote: (note: string) => void;
}

/** Throws `AttachmentError`, and the signal's reason. */
export async function readFiles(request: FilesRequest): Promise<readonly ReadFile[]> {
  const { path: named } = request;
  try {
    const resolved = await resolvePath(request.root, named);
    if (resolved.missing.length === 0) {
      const stats = await stat(resolved.realPath);
      if (!stats.isDirectory()) return await readOne(resolved, named);
      const files = await readFolder(request, resolved, () => true);
      if (files.length > 0) return files;
      const message = `Cannot attach ${named}: the folder contains no files that jp may read.`;
      throw new AttachmentError("attachment_not_found", message);
    }
    if (!isPattern(named)) throw notFound(named);
    return await readMatches(request);
  } catch (error) {
    if (error instanceof AttachmentError || request.signal.aborted) throw error;
    const reason = error instanceof FileError ? error.message : systemErrorCode(error);
    if (reason === undefined) throw error;
    const message = `Cannot attach ${named}: ${reason}`;
    throw new AttachmentError("attachment_not_read", message, { cause: error });
  }
}

function notFound(named: string): AttachmentError {
  return new AttachmentError("attachment_not_found", `Cannot attach ${named}: it does not exist.`);
}

async function readOne(resolved: ResolvedPath, named: string): Promise<readonly ReadFile[]> {
  const { realPath, displayPath } = resolved;
  assertNamed(resolved, named);
  await using folder = await openFolder(path.dirname(realPath));
  const name = path.basename(realPath);
  await using handle = await openFile(folder, name, { displayPath, access: "read" });
  const { size } = await handle.stat();
  if (size > MAX_FILE_BYTES) {
    const limit = `the limit is ${formatSize(MAX_FILE_BYTES)}`;
    const message = `Cannot attach ${named}: it is ${formatSize(size)}; ${limit}.`;
    throw new AttachmentError("attachments_too_large", message);
  }
  return [{ path: displayPath, bytes: await handle.readFile(), isNamed: true }];
}

/** Trust is given to names: one that looks harmless must not lead to a file with keys. Throws `attachment_not_read`. */
function assertNamed({ root, realPath }: ResolvedPath, named: string): void {
  const relative = path.relative(root, realPath);
  if (!namesSecretFile(relative) || namesSecretFile(named)) return;
  const file = formatPath(relative);
  const message = `Cannot attach ${named}: it is ${file}, which may contain passwords or keys.`;
  throw new AttachmentError("attachment_not_read", message, {
    hint: `To let the model see it, attach ${file} by that name.`,
  });
}

/** Walks from the deepest folder before the first pattern. */
async function readMatches(request: FilesRequest): Promise<readonly ReadFile[]> {
  const { root, path: pattern } = request;
  const parts = pattern.split("/").filter((part) => part !== "" && part !== ".");
  const first = parts.findIndex(isPattern);
  const matches = compileGlob(parts) ?? (() => false);
  const start = await resolvePath(root, parts.slice(0, first).join("/") || ".");
  if (start.missing.length > 0) throw notFound(pattern);
  const files = await readFolder(request, start, matches);
  if (files.length > 0) return files;
  const message = `Cannot attach ${pattern}: no file matches it.`;
  throw new AttachmentError("attachment_not_found", message, {
    hint: "Hidden files, and those that .gitignore excludes, match only by their full name.",
  });
}

/** Leaves out files that are hidden, ignored by Git, excluded, too large, or likely to contain secrets. */
async function readFolder(
  request: FilesRequest,
  start: ResolvedPath,
  matches: (parts: readonly string[]) => boolean,
): Promise<readonly ReadFile[]> {
  const { path: named, signal } = request;
  const isExcluded = excludes(request.excluded);
  const showsHidden = named.split("/").some((part) => isPattern(part) && part.startsWith("."));
  const base = path.relative(start.root, start.realPath).split(path.sep).filter(Boolean).length;
  const files: ReadFile[] = [];
  let size = 0;
  const leftOut = new LeftOut();
  const onUnreadable = (folder: string) => leftOut.add("unreadable", folder);
  for await (const found of walkFiles(start, { signal, onUnreadable })) {
    const parts = found.path.split("/");
    const isHidden = parts.slice(base).some((part) => part.startsWith("."));
    if ((isHidden && !showsHidden) || !matches(parts) || isExcluded(parts)) continue;
    if (found.isLink) leftOut.add("link", found.displayPath);
    else if (namesSecretFile(found.path)) leftOut.add("may contain secrets", found.displayPath);
    else {
      const bytes = await readFound(found, leftOut);
      if (bytes !== undefined) files.push({ path: found.displayPath, bytes, isNamed: false });
      size += bytes?.length ?? 0;
    }
    if (files.length > MAX_FILES || size > MAX_FOLDER_BYTES) {
      const limit = size > MAX_FOLDER_BYTES ? formatSize(MAX_FOLDER_BYTES) : `${MAX_FILES} files`;
      const message = `Cannot attach ${named}: it contains more than ${limit}.`;
      const hint = "Name a smaller folder, or a pattern such as src/**/*.ts.";
      throw new AttachmentError("attachments_too_large", message, { hint });
    }
  }
  for (const note of leftOut.notes()) request.onNote(`${named}: ${note}`);
  return files;
}

async function readFound(found: FoundFile, leftOut: LeftOut): Promise<Buffer | undefined> {
  const { folder, name, displayPath } = found;
  try {
    await using handle = await openFile(folder, name, { displayPath, access: "read" });
    const { size } = await handle.stat();
    if (size <= MAX_FILE_BYTES) return await handle.readFile();
    leftOut.add("too large", displayPath);
  } catch (error) {
    if (!(error instanceof FileError) && systemErrorCode(error) === undefined) throw error;
    leftOut.add("unreadable", displayPath);
  }
  return undefined;
}

/** A pattern excludes its matches and everything below them. */
function excludes(patterns: readonly string[]): (parts: readonly string[]) => boolean {
  const globs = patterns.flatMap((pattern) => {
    const parts = pattern.split("/").filter((part) => part !== "" && part !== ".");
    return compileGlob(parts) ?? [];
  });
  return (parts) =>
    globs.some((glob) => parts.some((_part, index) => glob(parts.slice(0, index + 1))));
}

/** How many names a note lists. */
const MAX_NAMES = 3;

/** The matches of a folder or a pattern that are not attached. */
export class LeftOut {
  readonly #names = new Map<string, string[]>();

  add(reason: string, name: string): void {
    const names = this.#names.get(reason) ?? [];
    names.push(name);
    this.#names.set(reason, names);
  }

  /** One note per reason. */
  notes(): readonly string[] {
    return [...this.#names].map(([reason, names]) => {
      const more = names.length - MAX_NAMES;
      const listed = names.slice(0, MAX_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
      return `left out ${listed} (${reason})`;
    });
  }
}
