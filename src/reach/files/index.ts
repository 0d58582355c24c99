export { FileError, fileChangedError, notFoundError, toFileError } from "./file-error.ts";
export { decodeFileName, toSystemPath } from "./file-name.ts";
export { type Folder, openFolder, openOrCreateFolder } from "./folder.ts";
export { compileGlob } from "./ignore-rules.ts";
export { MAX_KEPT_FILE_BYTES, openFile, readFileNow } from "./open-file.ts";
export {
  type FileTarget,
  findRelative,
  formatPath,
  isProtectedName,
  type ResolvedPath,
  resolvePath,
  resolveTarget,
  toTarget,
} from "./resolve-path.ts";
export { decodeUtf8, decodeWindows1252, parseText, toBody, toBytes } from "./text.ts";
export { type FoundFile, walkFiles } from "./walk-files.ts";
