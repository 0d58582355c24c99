/**
 * Every name of the file that a path stands for. A rule that lets a call run must match all of them, because a tool may
 * use any; a rule that stops a call needs only one.
 */
import { readlink, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { systemErrorCode } from "../../util/index.ts";

/** Relative to the workspace with forward slashes, or absolute if outside of it. */
export interface PathForms {
  /** As written, in the shortest form. */
  readonly written: string;
  /** Undefined if the file cannot be determined: then nothing allows it. */
  readonly exact: readonly string[] | undefined;
  /** Also includes names that another program or file system would treat as the same, and all of them as absolute paths. */
  readonly possible: readonly string[];
}

/** Follows links where they exist. Never throws. */
export async function findPathForms(root: string, written: string): Promise<PathForms> {
  const roots = await rootsOf(root);
  const readings = await Promise.all(
    readingsOf(written).map(async (text) => {
      const straight = path.resolve(root, text);
      if (!text.includes("..")) return { straight, ends: [await follow(straight)] };
      // As the system resolves it: `..` after a link does not lead where it seems to.
      const walked = path.isAbsolute(text) ? text : `${root}/${text}`;
      return { straight, ends: await Promise.all([follow(walked), follow(straight)]) };
    }),
  );
  const [first = { straight: root, ends: [] }] = readings;
  const lexical = relativeTo(roots, first.straight);
  const isSure =
    written !== "" &&
    !written.includes("\0") &&
    !written.startsWith("~") &&
    first.ends.every((end) => end?.isSure === true);
  const known = readings.flatMap(({ straight, ends }) => [
    straight,
    ...ends.flatMap((end) => end?.file ?? []),
  ]);
  const ends = first.ends.flatMap((end) => end?.file ?? []);
  const possible = known.flatMap((file) => [relativeTo(roots, file), file]);
  return {
    written: lexical,
    exact: isSure
      ? [...new Set([lexical, ...ends.map((file) => relativeTo(roots, file))])]
      : undefined,
    possible: [...new Set(possible.flatMap((file) => [file, foldPath(file)]))],
  };
}

/** The workspace, as it was named and as it really is. */
export async function rootsOf(root: string): Promise<readonly string[]> {
  return [path.resolve(root), await realpath(root).catch(() => root)];
}

/** Possible readings of the text by a program. The first is the usual one. */
function readingsOf(written: string): readonly string[] {
  const [first = ""] = written.split("\0");
  const plain = [written.replaceAll("\0", ""), first];
  const slashed = plain.map((text) => text.replaceAll("\\", "/"));
  const fromHome = slashed
    .filter((text) => text === "~" || text.startsWith("~/"))
    .map((text) => homedir() + text.slice(1));
  return [...new Set([...plain, ...slashed, ...fromHome])];
}

/** The path in the form that rules use. */
export function normalizePath(root: string, written: string): string {
  return relativeTo([path.resolve(root)], path.resolve(root, written));
}

/**
 * Folds differences that file systems may ignore: case, Unicode forms, invisible characters, and trailing dots and
 * spaces.
 */
function foldPath(file: string): string {
  const names = foldText(file)
    .replaceAll(/\p{Cf}/gu, "")
    .split("/")
    .map((name) => (/^\.+$/.test(name) ? name : name.replace(/:.*$/s, "").replace(/[. ]+$/, "")));
  return path.posix.normalize(names.join("/")).replace(/(?<=.)\/$/, "");
}

/** Upper case first: some treat `ß` as `ss`, and a final sigma is the same letter. */
function foldText(text: string): string {
  return text.normalize("NFKC").toUpperCase().normalize("NFKC").toLowerCase();
}

function relativeTo(roots: readonly string[], absolute: string): string {
  for (const root of roots) {
    const relative = path.relative(root, absolute);
    const isOutside = relative === ".." || relative.startsWith(`..${path.sep}`);
    if (isOutside || path.isAbsolute(relative)) continue;
    return relative === "" ? "." : relative.split(path.sep).join("/");
  }
  return absolute;
}

interface End {
  readonly file: string;
  /** Nothing on the path can still change, as far as is known now. */
  readonly isSure: boolean;
}

/** The limit on Linux. */
const MAX_LINKS = 40;

/** The real path, including names that do not exist yet. Undefined if unknown. */
async function follow(absolute: string, links = 0): Promise<End | undefined> {
  const names = absolute.split("/").filter((name) => name !== "" && name !== ".");
  for (let count = names.length; count >= 0; count -= 1) {
    const rest = names.slice(count);
    const existing = `/${names.slice(0, count).join("/")}`;
    try {
      const real = await realpath(existing);
      return rest.includes("..") ? undefined : { file: path.join(real, ...rest), isSure: true };
    } catch (error) {
      const code = systemErrorCode(error);
      if (code !== "ENOENT" && code !== "ENOTDIR") return undefined;
      const target = await readlink(existing).catch(() => undefined);
      if (target === undefined) continue;
      // A link to something that does not exist: writing there would create it.
      if (links === MAX_LINKS) return undefined;
      const from = path.isAbsolute(target) ? "" : `${path.dirname(existing)}/`;
      const end = await follow([`${from}${target}`, ...rest].join("/"), links + 1);
      return end && { ...end, isSure: false };
    }
  }
  return undefined;
}
