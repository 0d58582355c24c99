/** A workspace in a temporary folder that is removed after the test, and a clock that the test sets. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { FakeClock } from "../testing/index.ts";
import { openWorkspace, type OpenWorkspaceOptions, type Workspace } from "./index.ts";

const WORKSPACE_ID = "abc12";

/** The start time of all clocks in these tests. */
export const START = new Date("2026-01-02T03:04:05.000Z");

export interface TemporaryWorkspace extends Workspace {
  /** The value of `JP_USER_DATA_DIR`. */
  readonly data: string;
  /** The user's own folder for this workspace. */
  readonly userFolder: string;
  /** The conversation folders of the workspace and of the user. */
  readonly live: string;
  readonly local: string;
  readonly locks: string;
  readonly clock: FakeClock;
  readonly environment: OpenWorkspaceOptions["environment"];
  /** Opens the same workspace again. */
  readonly reopen: (options?: Partial<OpenWorkspaceOptions>) => Workspace;
}

export interface TemporaryOptions extends Partial<OpenWorkspaceOptions> {
  /** Where the workspace is created; a new temporary folder by default. */
  readonly inside?: string;
  /** The user's data; a folder beside the workspace by default. */
  readonly data?: string;
}

export function temporaryWorkspace(options: TemporaryOptions = {}): TemporaryWorkspace {
  const { inside = temporaryFolder(), data = path.join(inside, "data"), ...rest } = options;
  const root = path.join(inside, "project");
  mkdirSync(path.join(root, ".jp"), { recursive: true });
  writeFileSync(path.join(root, ".jp", ".id"), `# Do not edit.\n${WORKSPACE_ID}`);
  const clock = new FakeClock(START);
  const environment = {
    variables: { JP_USER_DATA_DIR: data, JP_SESSION: "a-test" },
    home: path.join(inside, "home"),
    platform: process.platform,
  };
  const reopen = (changed: Partial<OpenWorkspaceOptions> = {}) =>
    openWorkspace({ from: root, environment, clock, pid: process.pid, ...rest, ...changed });
  const userFolder = path.join(data, "workspace", `project-${WORKSPACE_ID}`);
  return {
    ...reopen(),
    data,
    userFolder,
    live: path.join(root, ".jp", "conversations"),
    local: path.join(userFolder, "conversations"),
    locks: path.join(userFolder, "locks"),
    clock,
    environment,
    reopen,
  };
}

/** In memory if the system supports it: syncing to disk takes a good part of the time of all tests. */
const FAST_PLACE = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** An empty folder for one test. */
export function temporaryFolder(parent = FAST_PLACE): string {
  const folder = mkdtempSync(path.join(realpathSync(parent), "jp-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Like `temporaryFolder`, but on disk: jp does not treat files below `/dev` as ordinary. */
export function diskFolder(): string {
  return temporaryFolder(tmpdir());
}

/** The texts of a conversation's files; omitted files are not created. */
export interface PlacedFiles {
  readonly events?: string | Buffer;
  readonly metadata?: string;
  readonly baseConfig?: string;
}

const FILE_NAMES = {
  events: "events.json",
  metadata: "metadata.json",
  baseConfig: "base_config.json",
} as const;

/** Creates a conversation's folder as another program would have left it. */
export function placeConversation(folder: string, files: PlacedFiles): string {
  mkdirSync(folder, { recursive: true });
  for (const key of ["events", "metadata", "baseConfig"] as const) {
    const text = files[key];
    if (text !== undefined) writeFileSync(path.join(folder, FILE_NAMES[key]), text);
  }
  return folder;
}

/** Makes a file look as if it was written this many seconds after the start. */
export function setAge(file: string, seconds: number): void {
  const time = new Date(START.getTime() + seconds * 1000);
  utimesSync(file, time, time);
}

export interface FileSnapshot {
  readonly name: string;
  readonly mode: number;
  readonly changed: bigint;
  readonly content: string;
}

export function snapshotOf(...folders: readonly string[]): readonly FileSnapshot[] {
  return folders.flatMap(walk);
}

function walk(name: string): FileSnapshot[] {
  const stat = lstatSync(name, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) return [];
  const below = stat.isDirectory() ? readdirSync(name).toSorted() : [];
  const content = stat.isSymbolicLink()
    ? readlinkSync(name)
    : stat.isDirectory()
      ? below.join("\n")
      : readFileSync(name, "base64");
  const self = { name, mode: Number(stat.mode), changed: stat.mtimeNs, content };
  return [self, ...below.flatMap((entry) => walk(path.join(name, entry)))];
}
