/**
 * Finds the sockets that programs have bound to files. They are not part of the network, so a command could reach a service
 * through one.
 */
import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import path from "node:path";

/** For names that are relative to a folder that is not known. The upper folders are looked at first. */
const MAX_FOLDERS = 2000;

/** The real paths, everywhere on this machine. Those that are opened later are missing. */
export function findOpenSockets(root: string): readonly string[] {
  const names = boundNames();
  const absolute = names.filter((name) => path.isAbsolute(name));
  const relative = names.filter((name) => !path.isAbsolute(name));
  const found = [...absolute.flatMap(findSocket), ...searchSockets(root, relative)];
  return [...new Set(found)];
}

/** As the programs gave them. Only of this machine: a container has a table of its own. */
function boundNames(): readonly string[] {
  let table = "";
  try {
    table = readFileSync("/proc/net/unix", "utf8");
  } catch {
    return [];
  }
  const rows = table.split("\n").slice(1);
  // Those that start with @ have no file.
  return rows.flatMap((row) => /^(?:\S+\s+){6}\S+ ([^@].*)$/.exec(row)?.[1] ?? []);
}

/** Empty if the socket was removed or renamed, or is not visible. */
function findSocket(file: string): readonly string[] {
  try {
    return lstatSync(file).isSocket() ? [realpathSync(file)] : [];
  } catch {
    return [];
  }
}

/** The table does not have the folders that relative names start from, so their last parts are looked for in the workspace. */
function searchSockets(root: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const wanted = new Set(names.map((name) => path.basename(name)));
  const folders = [root];
  const found: string[] = [];
  for (let at = 0; at < Math.min(folders.length, MAX_FOLDERS); at += 1) {
    const folder = folders[at] ?? root;
    for (const entry of listFolder(folder)) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(file);
      else if (entry.isSocket() && wanted.has(entry.name)) found.push(file);
    }
  }
  return found;
}

function listFolder(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
