/**
 * Anchors through a commit in a remote repository. The remote is not trusted: nothing from it is checked out or run,
 * pushes only add to its branch, and the local repository is created for one anchor and then removed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import {
  findGit,
  findRemoteGit,
  type FoundGit,
  type GitPlaces,
  runGit,
  runProcess,
  SAFE_GIT_WORDS,
} from "../reach/process/index.ts";
import {
  canonicalJson,
  findJson,
  isJsonObject,
  JpError,
  type JsonObject,
  messageOf,
  oneLine,
  systemErrorCode,
} from "../util/index.ts";
import { AnchorError, type GitProof } from "./anchor.ts";

export interface PushRequest extends GitPlaces {
  readonly remote: string;
  readonly branch: string;
  /** The file's name: each machine has its own, so that several can push to one branch. */
  readonly file: string;
  readonly content: JsonObject;
  /** Where to create the repository. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Others may push at the same time. */
const MAX_ATTEMPTS = 5;

/** Throws `AnchorError`, and the signal's reason. */
export async function pushAnchor(request: PushRequest): Promise<GitProof> {
  const { remote, branch, file, folder, signal } = request;
  const git = findRemoteGit(request);
  if (git === undefined) throw new AnchorError("anchor_failed", "git is not installed");
  const repository = mkdtempSync(path.join(folder, "git-"));
  try {
    const run = runIn(git, repository, signal);
    await run(["init", "--quiet", "--bare", "--template=", "."]);
    let before = "";
    for (let attempt = 1; ; attempt += 1) {
      const tip = await findTip(run, request);
      if (tip !== undefined) await fetchTip(run, request);
      const commit = await commitOn(run, request, tip);
      const pushed = await run(
        [
          "push",
          "--quiet",
          "--no-verify",
          "--no-follow-tags",
          remote,
          `${commit}:${refOf(branch)}`,
        ],
        { mayFail: true },
      );
      if (pushed.isOk) return { kind: "git", remote, branch, commit, file };
      // A retry helps only if someone else pushed first.
      if (attempt === MAX_ATTEMPTS || (attempt > 1 && tip === before)) throw pushed.error;
      before = tip ?? "";
    }
  } finally {
    rmSync(repository, { recursive: true, force: true });
  }
}

interface GitEnd {
  readonly isOk: boolean;
  readonly stdout: string;
  /** The error to throw if it failed. */
  readonly error: AnchorError;
}

interface RunOptions {
  readonly input?: string;
  readonly mayFail?: boolean;
}

/** Throws `AnchorError` on failure, unless allowed to fail, and the signal's reason. */
type RunGit = (args: readonly string[], options?: RunOptions) => Promise<GitEnd>;

const LIMITS = {
  stdoutBytes: 64 * 1024,
  stderrBytes: 16 * 1024,
  killGraceMs: 500,
  pipeGraceMs: 250,
};

/** A reader of the commit should learn only that jp made it. */
const IDENTITY = {
  GIT_AUTHOR_NAME: "jp",
  GIT_AUTHOR_EMAIL: "jp@localhost",
  GIT_COMMITTER_NAME: "jp",
  GIT_COMMITTER_EMAIL: "jp@localhost",
};

function runIn({ program, environment }: FoundGit, cwd: string, signal: AbortSignal): RunGit {
  const variables = {
    ...environment,
    ...IDENTITY,
    GIT_DIR: cwd,
    GIT_INDEX_FILE: path.join(cwd, "index"),
  };
  return async (args, { input = "", mayFail = false } = {}) => {
    const end = await runProcess({
      program,
      args: [...SAFE_GIT_WORDS, ...args],
      cwd,
      variables,
      input,
      signal,
      endsGroup: true,
      limits: LIMITS,
    });
    signal.throwIfAborted();
    if (end.type !== "exited") {
      const reason = end.type === "not_started" ? end.error : end.type;
      const text = systemErrorCode(reason) ?? messageOf(reason);
      throw new AnchorError("anchor_failed", `git could not be run: ${text}`);
    }
    const { exit, stdout, stderr } = end;
    const isOk = "status" in exit && exit.status === 0;
    const error = new AnchorError("anchor_failed", `git ${args[0]}: ${reasonIn(stderr.text)}`);
    if (!isOk && !mayFail) throw error;
    return { isOk, stdout: stdout.text, error };
  };
}

/** The first meaningful line. The remote may have written it. */
function reasonIn(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  const found = lines.find((line) => /^(?:fatal|error|remote):/.test(line)) ?? lines.find(Boolean);
  return oneLine(found ?? "it failed").replace(/\.$/, "");
}

function refOf(branch: string): string {
  return `refs/heads/${branch}`;
}

/** The branch's commit. Undefined if there is no such branch. */
async function findTip(run: RunGit, { remote, branch }: PushRequest): Promise<string | undefined> {
  const { stdout } = await run(["ls-remote", "--quiet", remote, refOf(branch)]);
  const line = stdout.split("\n").find((each) => each.endsWith(`\t${refOf(branch)}`));
  const [id] = /^[0-9a-f]{40,64}(?=\t)/.exec(line ?? "") ?? [];
  return id;
}

const TIP = "refs/jp/tip";

async function fetchTip(run: RunGit, { remote, branch }: PushRequest): Promise<void> {
  const refs = `+${refOf(branch)}:${TIP}`;
  const words = ["--quiet", "--no-tags", "--depth=1", "--no-recurse-submodules", "--no-auto-gc"];
  await run(["fetch", ...words, remote, refs]);
}

/** A commit with the tip's files and ours. */
async function commitOn(
  run: RunGit,
  { file, content }: PushRequest,
  tip: string | undefined,
): Promise<string> {
  const input = `${canonicalJson(content)}\n`;
  const { stdout: blob } = await run(["hash-object", "-w", "--stdin"], { input });
  await run(["read-tree", tip === undefined ? "--empty" : TIP]);
  await run(["update-index", "--add", "--cacheinfo", `100644,${blob.trim()},${file}`]);
  const { stdout: tree } = await run(["write-tree"]);
  const words = ["--no-gpg-sign", tree.trim(), ...(tip === undefined ? [] : ["-p", TIP])];
  const { stdout: commit } = await run(["commit-tree", ...words], { input: "Anchor decisions\n" });
  return commit.trim();
}

/** A clone of the repository, for looking up commits. */
export interface Clone {
  /** Whether a branch or tag contains the commit, and its file has this digest. */
  readonly has: (proof: GitProof, digest: string) => Promise<boolean>;
}

/** Throws `git_not_found`, `not_a_repository`. */
export async function openClone(folder: string, places: GitPlaces): Promise<Clone> {
  const found = findGit(places);
  if (found === undefined) throw new JpError("git_not_found", "git is not installed.");
  const git = { ...found, folder, signal: new AbortController().signal };
  try {
    await runGit(git, ["rev-parse", "--git-dir"]);
  } catch (cause) {
    throw new JpError("not_a_repository", `${folder} is not a git repository.`, { cause });
  }
  return {
    has: async ({ commit, file }, digest) => {
      try {
        const refs = await runGit(git, ["for-each-ref", "--count=1", `--contains=${commit}`]);
        if (refs.trim() === "") return false;
        const json = findJson(await runGit(git, ["cat-file", "blob", `${commit}:${file}`]));
        return isJsonObject(json) && json["sha256"] === digest;
      } catch {
        return false; // The commit does not exist.
      }
    },
  };
}
