/**
 * Describes a model's surroundings: the folder, the platform, the date, the git state, and the project's `AGENTS.md`
 * or `CLAUDE.md`. Collected once per turn, so that all its requests start alike.
 */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import path from "node:path";
import { namesSecretFile, type PartialConfig } from "../settings/config/index.ts";
import type { Section } from "../record/conversation/index.ts";
import { isProtectedName } from "../reach/files/index.ts";
import { type Clock, sha256, systemClock } from "../util/index.ts";
import { type Checkout, findCheckout, findGitState, type GitState } from "./git-state.ts";

/** The part of a prompt that describes the surroundings. Made by `describeSurroundings`. */
export interface Surroundings {
  /** The project's instructions for assistants. They change rarely, so they follow the other instructions. */
  readonly sections: readonly Section[];
  /** The rest, which changes from turn to turn. It comes last, so that everything before it can be cached. */
  readonly text?: string;
}

/** The parts to include. All of them by default. */
export interface SurroundingsOptions {
  /** The user's working directory. */
  readonly folder: string;
  /** The root of the project; `folder` if absent. */
  readonly root?: string;
  /** Set one to false to leave it out. */
  readonly shows?: Partial<Readonly<Record<SurroundingsPart, boolean>>>;
  /** Replaces the `AGENTS.md` or `CLAUDE.md` of the folder and the root; an empty list for none. */
  readonly instructions?: readonly InstructionFile[];
  /** The environment for git. Without it, git is looked up in the system's folders. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** For tests: a clock other than the machine's. */
  readonly clock?: Clock;
}

/** A part of the surroundings that can be left out. */
export type SurroundingsPart = "folder" | "platform" | "date" | "git";

/** A project file with instructions for assistants. */
export interface InstructionFile {
  /** Its path, relative to the root. */
  readonly name: string;
  readonly content: string;
  /** Changes with the file's content. */
  readonly digest: string;
  /** `content` is only the start of the file. */
  readonly isCut: boolean;
}

/** The first one that exists in a folder is read. */
const FILE_NAMES = ["AGENTS.md", "CLAUDE.md"];
const MAX_BYTES = 32 * 1024;
const MAX_NAME_LENGTH = 100;

/** The surroundings, while git is still counting changed files. */
export interface SurroundingsSearch {
  readonly complete: Promise<Surroundings>;
  /** Ends the search. Leaves out what is not known by now. */
  readonly take: () => Surroundings;
}

export function searchSurroundings(options: SurroundingsOptions): SurroundingsSearch {
  const { folder, root = folder, shows = {}, variables = {}, clock = systemClock } = options;
  const { instructions = findInstructions({ folder, root }) } = options;
  const lines = [
    ...(shows.folder === false ? [] : folderLines(folder, root)),
    ...(shows.platform === false ? [] : [`Platform: ${process.platform} ${process.arch}`]),
    ...(shows.date === false ? [] : [`Date: ${dateText(clock.now())}`]),
  ];
  const sections = instructions.map(toSection);
  const stop = new AbortController();
  let git = shows.git === false ? undefined : findCheckout(folder);
  const describe = () => {
    const all = [...lines, ...(git === undefined ? [] : gitLines(git))].map(plainLine);
    const text = ["<surroundings>", ...all, "</surroundings>"].join("\n");
    return { sections, ...(all.length > 0 && { text }) };
  };
  const findMore = async () => {
    // Outside a repository, git is not run.
    if (git === undefined) return describe();
    const state = await findGitState({ folder, root, variables, signal: stop.signal });
    if (state !== undefined) git = state;
    return describe();
  };
  return {
    complete: findMore(),
    take: () => {
      stop.abort();
      return describe();
    },
  };
}

/** `conversation.surroundings`, for the command's turns. Never throws. */
export function configuredSurroundings(
  config: PartialConfig,
  place: Omit<SurroundingsOptions, "shows">,
): SurroundingsSearch {
  const { surroundings = {} } = config.conversation ?? {};
  const { folder = true, platform: showsPlatform = true, date = true, git = true } = surroundings;
  const shows = { folder, platform: showsPlatform, date, git };
  const isWithout = surroundings.agents_md === false;
  return searchSurroundings({ ...place, shows, ...(isWithout && { instructions: [] }) });
}

/**
 * The root's `AGENTS.md`, then the nearest one on the way from the root to the folder; a folder without one may have
 * `CLAUDE.md`. Ignores links that lead out of the root, or to a file that may hold passwords. Never throws.
 */
export function findInstructions({
  folder,
  root,
}: Required<Pick<SurroundingsOptions, "folder" | "root">>): readonly InstructionFile[] {
  const inside = path.relative(root, folder);
  const isInside = inside.split(path.sep)[0] !== ".." && !path.isAbsolute(inside);
  const steps = isInside ? inside.split(path.sep).filter((step) => step !== "") : [];
  const folders = steps.map((_step, index) => steps.slice(0, index + 1).join("/")).toReversed();
  const files = [findIn(root, "")];
  for (const name of folders) {
    const nearest = findIn(root, `${name}/`);
    files.push(nearest);
    if (nearest !== undefined) break;
  }
  return files.filter((file) => file !== undefined);
}

function findIn(root: string, folder: string): InstructionFile | undefined {
  for (const name of FILE_NAMES) {
    const found = readInstructions(root, `${folder}${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function readInstructions(root: string, name: string): InstructionFile | undefined {
  try {
    const realRoot = realpathSync(root);
    const file = realpathSync(path.join(root, name));
    if (!file.startsWith(realRoot + path.sep)) return undefined;
    if (isPrivate(path.relative(realRoot, file))) return undefined;
    const { bytes, isCut } = readStart(file);
    const content = bytes.toString("utf8").trim();
    if (content === "") return undefined;
    const digest = sha256(bytes);
    return { name, content, digest, isCut };
  } catch {
    return undefined;
  }
}

/** A link must not lead to passwords, or to files of Git and jp. */
function isPrivate(relative: string): boolean {
  return namesSecretFile(relative) || relative.split(path.sep).some(isProtectedName);
}

/** Undefined on Windows, which the types do not say. */
const FLAGS: Partial<Pick<typeof constants, "O_NOFOLLOW" | "O_NONBLOCK">> = constants;

/** Avoids blocking on a pipe, and following a link: links are already resolved. Throws system errors. */
function readStart(file: string): { readonly bytes: Buffer; readonly isCut: boolean } {
  const { O_NOFOLLOW: noFollow = 0, O_NONBLOCK: noBlock = 0 } = FLAGS;
  const fd = openSync(file, constants.O_RDONLY | noFollow | noBlock);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error("not a regular file");
    const buffer = Buffer.alloc(Math.min(stats.size, MAX_BYTES));
    const length = readSync(fd, buffer, 0, buffer.length, 0);
    return { bytes: buffer.subarray(0, length), isCut: stats.size > MAX_BYTES };
  } finally {
    closeSync(fd);
  }
}

/** The element marks where the file ends, so the file must not contain its tags. */
function toSection({ name, content, isCut }: InstructionFile): Section {
  const tags = /<(?=\s*\/?\s*(?:project_instructions|surroundings)\b)/gi;
  const text = content.replaceAll(tags, "&lt;");
  const end = isCut
    ? [`(The rest of the file is left out: it is longer than ${MAX_BYTES} bytes.)`]
    : [];
  return {
    title: "Project instructions",
    content: [
      "The project has this file for assistants. What the user says takes precedence over it.",
      `<project_instructions file="${plainLine(name).replaceAll('"', "&quot;")}">`,
      text,
      "</project_instructions>",
      ...end,
    ].join("\n"),
  };
}

function folderLines(folder: string, root: string): readonly string[] {
  return [`Folder: ${folder}`, ...(folder === root ? [] : [`Root of the project: ${root}`])];
}

/** `Intl` would first load data for all languages, which takes half as long as Node's own start. */
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** The user's local date, without the time, which would change every request. */
function dateText(now: Date): string {
  const [year, month, day] = [now.getFullYear(), now.getMonth() + 1, now.getDate()];
  const date = [String(year), ...[month, day].map((part) => String(part).padStart(2, "0"))];
  return `${date.join("-")} (${WEEKDAYS[now.getDay()]})`;
}

function gitLines(git: Checkout | GitState): readonly string[] {
  const name = git.branch === undefined ? "none (detached)" : shortName(git.branch);
  if (!("changed" in git)) return [`Git branch: ${name}`];
  const { upstream, ahead, behind, changed, untracked } = git;
  const distance =
    ahead === 0 && behind === 0 ? "up to date with" : `${ahead} ahead, ${behind} behind`;
  const remote = upstream === undefined ? "" : ` (${distance} ${shortName(upstream)})`;
  const changes = changed + untracked === 0 ? "none" : `${changed} changed, ${untracked} untracked`;
  return [`Git branch: ${name}${remote}`, `Git changes: ${changes}`];
}

/** Branch names come with a clone, and models see them before the user trusts it. */
function shortName(name: string): string {
  return name.length <= MAX_NAME_LENGTH ? name : `${name.slice(0, MAX_NAME_LENGTH)}…`;
}

/** Folder and branch names may contain anything. */
function plainLine(text: string): string {
  if (/^[ -;=?-~]*$/.test(text)) return text; // A fast path: Unicode properties are slow to look up.
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}<>]+/gu, "?");
}
