/** The sandbox on macOS: a profile for `sandbox-exec`, with the same rules as on Linux. Untested, for lack of a machine. */
import type { Mount } from "./cover.ts";
import type { ConfinedRun } from "./protected-paths.ts";
import { isInside, type SandboxPlace } from "./sandbox-place.ts";

export const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

/** Without the files of programs that listen, except the one that looks up names. */
const NO_SOCKET_FILES = [
  "(deny network-outbound (remote unix-socket))",
  '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
];

/** Later rules take precedence. */
export function seatbeltProfile(
  { root, home, hidden, readable }: SandboxPlace,
  { paths, network, isReadOnly = false }: ConfinedRun,
): string {
  const inner = hidden.filter((folder) => isInside(root, folder));
  const closed = ["/Users", "/Volumes", "/private/tmp", "/private/var/run", home, ...hidden];
  return [
    "(version 1)",
    "(allow default)",
    ...(network ? NO_SOCKET_FILES : ["(deny network*)"]),
    "(deny file-write*)",
    `(deny file-read* ${subpaths(closed)})`,
    // Programs look up each parent folder of their own.
    "(allow file-read-metadata)",
    ...([...readable, ...paths.readable].length === 0
      ? []
      : [`(allow file-read* ${subpaths([...readable, ...paths.readable])})`]),
    `(allow file-read*${isReadOnly ? "" : " file-write*"} ${subpaths([root])})`,
    ...(inner.length === 0 ? [] : [`(deny file-read* file-write* ${subpaths(inner)})`]),
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (subpath "/dev/fd"))',
    ...paths.mounts.map(mountRule),
    `(deny file-write* (regex #"^${escapeRegex(root)}/\\.jp\\."))`,
    "(deny signal)",
    "(allow signal (target same-sandbox))",
    "(deny process-info*)",
    "(allow process-info* (target same-sandbox))",
  ].join("\n");
}

/** Removing or renaming a file needs `file-write-unlink`. */
function mountRule({ file, access }: Mount): string {
  const name = JSON.stringify(file);
  if (access === "read_only") return `(deny file-write* (subpath ${name}))`;
  const pin = `(deny file-write-unlink (literal ${name}))`;
  return access === "pinned" ? pin : `(allow file-write* (subpath ${name})) ${pin}`;
}

function subpaths(files: readonly string[]): string {
  return files.map((file) => `(subpath ${JSON.stringify(file)})`).join(" ");
}

function escapeRegex(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\"]/g, String.raw`\$&`);
}
