/** The sandbox on Linux: checks whether bubblewrap works here, and builds its arguments. */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { findSystemProgram, runProcess } from "../process/index.ts";
import type { Mount } from "./cover.ts";
import { openBubblewrapPipes } from "./bubblewrap-pipes.ts";
import { findOpenSockets } from "./open-sockets.ts";
import type { ConfinedRun } from "./protected-paths.ts";
import { isInside, type SandboxPlace, type SandboxProblem } from "./sandbox-place.ts";
import { seccompFilter } from "./seccomp.ts";

export interface Bubblewrap {
  readonly program: string;
  /** Options that not every version and kernel supports. */
  readonly options: readonly string[];
  /** Of system calls. */
  readonly filter: Uint8Array;
}

const NAMESPACES = ["ipc", "pid", "uts"].map((name) => `--unshare-${name}`);
const ALWAYS = [
  ...NAMESPACES,
  "--unshare-cgroup-try",
  "--die-with-parent",
  // Otherwise root could undo every mount.
  "--cap-drop",
  "ALL",
];
/** From the best to the options of an old setuid-root version. */
const VARIANTS: readonly (readonly string[])[] = [
  ["--unshare-user", "--disable-userns"],
  ["--unshare-user"],
  [],
];

const PROBE_TIMEOUT_MS = 5000;

/** Tries up to three variants. */
export async function findBubblewrap(): Promise<Bubblewrap | SandboxProblem> {
  const program = findSystemProgram("bwrap");
  if (program === undefined) return { reason: "not_installed" };
  const filter = seccompFilter(process.arch);
  if (filter === undefined) return { reason: "unsupported_platform" };
  let detail = "";
  for (const options of VARIANTS) {
    const { words, pipes } = openBubblewrapPipes({}, filter);
    const end = await runProcess({
      program,
      args: [
        ...options,
        ...ALWAYS,
        "--unshare-net",
        ...SYSTEM,
        ...words,
        "--",
        "/bin/sh",
        "-c",
        ":",
      ],
      pipes,
      cwd: "/",
      variables: {},
      input: "",
      signal: new AbortController().signal,
      timeoutMs: PROBE_TIMEOUT_MS,
      limits: { stdoutBytes: 0, stderrBytes: 4096, killGraceMs: 0, pipeGraceMs: 100 },
    });
    if (end.type !== "exited") continue;
    if ("status" in end.exit && end.exit.status === 0) return { program, options, filter };
    detail = end.stderr.text.trim().split("\n")[0] ?? "";
  }
  return { reason: areNamespacesOff() ? "namespaces_disabled" : "failed", detail };
}

/** System settings by which distributions forbid user namespaces. */
const SWITCHES: readonly (readonly [file: string, off: string])[] = [
  ["/proc/sys/user/max_user_namespaces", "0"],
  ["/proc/sys/kernel/unprivileged_userns_clone", "0"],
  ["/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"],
];

function areNamespacesOff(): boolean {
  return SWITCHES.some(([file, off]) => {
    try {
      return readFileSync(file, "utf8").trim() === off;
    } catch {
      return false;
    }
  });
}

const SYSTEM = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"];
/** Names of the caller's keys. */
const KEY_LISTS = ["/proc/keys", "/proc/key-users"];
/** Homes, sockets of services, other disks, and files that other programs share. */
const HIDDEN = [
  "/home",
  "/root",
  "/run",
  "/var/run",
  "/tmp",
  "/var/tmp",
  "/mnt",
  "/media",
  "/var/snap",
  "/var/lib/docker",
  "/var/lib/containerd",
  "/var/lib/containers",
  "/var/lib/incus",
  "/var/lib/lxd",
];
/** The programs of NixOS and Guix. */
const NEEDED = ["/run/current-system", "/run/current-system/profile"];
/** Targets of `/etc/resolv.conf`. */
const NAME_SERVERS = ["/run/systemd/resolve", "/run/NetworkManager/resolv.conf", "/run/resolvconf"];

/**
 * Later mounts cover earlier ones: the system, its hidden parts, the workspace, the hidden and protected parts of that,
 * then sockets.
 */
export function bubblewrapArguments(
  { options }: Bubblewrap,
  place: SandboxPlace,
  { paths, network, isReadOnly = false }: ConfinedRun,
): readonly string[] {
  const { root } = place;
  const { inner, outer } = hiddenFolders(place);
  const shown = [...NEEDED, ...(network ? NAME_SERVERS : []), ...place.readable, ...paths.readable];
  const visible = shown.filter((file) => existsSync(file));
  const workspace = [isReadOnly ? "--ro-bind" : "--bind", root, root];
  const exposed = [root, ...place.readable, ...paths.readable];
  const isShown = (file: string) =>
    !isInsideAny(inner, file) && (isInsideAny(exposed, file) || !isInsideAny(outer, file));
  const mark = ["--unsetenv", "JP_PROCESS_GROUP"];
  return [
    ...options,
    ...ALWAYS,
    "--new-session",
    ...(network ? [] : ["--unshare-net"]),
    ...SYSTEM,
    ...KEY_LISTS.filter((file) => existsSync(file)).flatMap(cover),
    ...outer.flatMap((folder) => ["--tmpfs", folder]),
    ...visible.flatMap((file) => ["--ro-bind", file, file]),
    ...workspace,
    ...inner.flatMap((folder) => ["--tmpfs", folder]),
    ...paths.mounts.flatMap(mountWords),
    // Last, so that nothing uncovers them.
    ...findOpenSockets(root).filter(isShown).flatMap(cover),
    ...mark,
  ];
}

function mountWords({ file, access }: Mount): readonly string[] {
  return [access === "read_only" ? "--ro-bind" : "--bind", file, file];
}

function isInsideAny(folders: readonly string[], file: string): boolean {
  return folders.some((folder) => isInside(folder, file));
}

function cover(file: string): readonly string[] {
  return ["--ro-bind", "/dev/null", file];
}

/** Real paths in the workspace, and outside of it. Includes the home even if a parent folder is hidden. */
function hiddenFolders({ root, home, hidden }: SandboxPlace) {
  const found = [...HIDDEN, ...hidden].flatMap((folder) => {
    const real = findFolder(folder);
    return real === undefined || real === "/" ? [] : [real];
  });
  const isInner = (folder: string) => isInside(root, folder);
  // The workspace is mounted over what is hidden around it.
  const inner = outermost(found.filter(isInner));
  const outer = outermost(found.filter((folder) => !isInner(folder)));
  const needsHome =
    findFolder(home) !== undefined || outer.some((folder) => isInside(folder, home));
  return {
    inner,
    outer: [...outer.filter((folder) => folder !== home), ...(needsHome ? [home] : [])],
  };
}

function outermost(folders: readonly string[]): readonly string[] {
  return [...new Set(folders)].filter(
    (folder) => !folders.some((other) => other !== folder && isInside(other, folder)),
  );
}

function findFolder(folder: string): string | undefined {
  try {
    const real = realpathSync(folder);
    return statSync(real).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}
