/**
 * Whether a path is the folder or below it. Both are absolute, or relative to the same place with forward slashes;
 * `.` is that place itself. Compares names only, and does not follow links.
 */
export function isPathWithin(folder: string, file: string): boolean {
  if (folder === ".") return file !== ".." && !/^(?:\.\.)?\//.test(file);
  return file === folder || file.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
