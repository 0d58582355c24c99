/** The sandbox on Linux: whether bubblewrap works here, and the arguments that make it one. */
import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { findProgram, runProcess } from "../process/index.ts";
import type { ProtectedPaths } from "./protected-paths.ts";
import { isInside, type SandboxPlace, type SandboxProblem } from "./sandbox-place.ts";

export interface Bubblewrap {
  readonly program: string;
  /** Options that not every version and kernel has. */
  readonly options: readonly string[];
}

const NAMESPACES = ["ipc", "pid", "uts"].map((name) => `--unshare-${name}`);
const ALWAYS = [
  ...NAMESPACES,
  "--unshare-cgroup-try",
  "--die-with-parent",
  // Root would otherwise keep the means to undo every mount.
  "--cap-drop",
  "ALL",
];
/** From the best to what an old version that is setuid root can do. */
const VARIANTS: readonly (readonly string[])[] = [
  ["--unshare-user", "--disable-userns"],
  ["--unshare-user"],
  [],
];

const PROBE_TIMEOUT_MS = 5000;

/** Starts it up to three times. */
export async function findBubblewrap(): Promise<Bubblewrap | SandboxProblem> {
  const program = findProgram("bwrap");
  if (program === undefined) return { reason: "not_installed" };
  let detail = "";
  for (const options of VARIANTS) {
    const end = await runProcess({
      program,
      args: [...options, ...ALWAYS, "--unshare-net", ...SYSTEM, "--", "/bin/sh", "-c", ":"],
      cwd: "/",
      variables: {},
      input: "",
      signal: new AbortController().signal,
      timeoutMs: PROBE_TIMEOUT_MS,
      limits: { stdoutBytes: 0, stderrBytes: 4096, killGraceMs: 0, pipeGraceMs: 100 },
    });
    if (end.type !== "exited") continue;
    if ("status" in end.exit && end.exit.status === 0) return { program, options };
    detail = end.stderr.text.trim().split("\n")[0] ?? "";
  }
  return { reason: areNamespacesOff() ? "namespaces_disabled" : "failed", detail };
}

/** Settings of the system by which distributions keep users from making namespaces. */
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
/** Homes, sockets of services, other disks, and what other programs leave for each other. */
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
/** Programs of NixOS and Guix. */
const NEEDED = ["/run/current-system", "/run/current-system/profile"];
/** Where `/etc/resolv.conf` leads. */
const NAME_SERVERS = ["/run/systemd/resolve", "/run/NetworkManager/resolv.conf", "/run/resolvconf"];

/**
 * What is mounted later covers what was mounted before: the system, then what is hidden of it, then the workspace, then what is
 * hidden or protected in that.
 */
export function bubblewrapArguments(
  { options }: Bubblewrap,
  place: SandboxPlace,
  { paths, network }: { readonly paths: ProtectedPaths; readonly network: boolean },
): readonly string[] {
  const { root } = place;
  const hidden = hiddenFolders(place);
  const inner = hidden.filter((folder) => isInside(root, folder));
  const outer = hidden.filter((folder) => !isInside(root, folder));
  const shown = [...NEEDED, ...(network ? NAME_SERVERS : []), ...place.readable, ...paths.readable];
  const visible = shown.filter((file) => existsSync(file));
  const workspace = ["--bind", root, root];
  const mark = ["--unsetenv", "JP_PROCESS_GROUP"];
  return [
    ...options,
    ...ALWAYS,
    "--new-session",
    ...(network ? [] : ["--unshare-net"]),
    ...SYSTEM,
    ...outer.flatMap((folder) => ["--tmpfs", folder]),
    ...socketsOutside([root, ...hidden]).flatMap((socket) => ["--ro-bind", "/dev/null", socket]),
    ...visible.flatMap((file) => ["--ro-bind", file, file]),
    ...workspace,
    ...inner.flatMap((folder) => ["--tmpfs", folder]),
    ...paths.pinned.flatMap((file) => ["--bind", file, file]),
    ...paths.readOnly.flatMap((file) => ["--ro-bind", file, file]),
    ...mark,
  ];
}

/** Without links, each only once, the home even if a folder above it is hidden. Outer ones first. */
function hiddenFolders({ home, hidden }: SandboxPlace): readonly string[] {
  const found = [...HIDDEN, ...hidden].flatMap((folder) => {
    const real = findFolder(folder);
    return real === undefined || real === "/" ? [] : [real];
  });
  const outer = [...new Set(found)].filter(
    (folder) => !found.some((other) => other !== folder && isInside(other, folder)),
  );
  const needsHome =
    findFolder(home) !== undefined || outer.some((folder) => isInside(folder, home));
  return [...outer.filter((folder) => folder !== home), ...(needsHome ? [home] : [])];
}

function findFolder(folder: string): string | undefined {
  try {
    const real = realpathSync(folder);
    return statSync(real).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Sockets that have a path are not part of the network: a service that listens on one could be reached. Those that begin to listen
 * later are not found.
 */
function socketsOutside(folders: readonly string[]): readonly string[] {
  let table = "";
  try {
    table = readFileSync("/proc/net/unix", "utf8");
  } catch {
    return [];
  }
  const paths = table.split("\n").flatMap((row) => /^(?:\S+\s+){7}(\/.*)$/.exec(row)?.[1] ?? []);
  return [...new Set(paths)].filter(
    (file) => !folders.some((folder) => isInside(folder, file)) && isSocket(file),
  );
}

function isSocket(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isSocket() === true;
}
