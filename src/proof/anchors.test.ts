import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import type { AnchorSettings } from "../settings/config/index.ts";
import { temporaryFolder } from "../stores/temporary-workspace.fixture.ts";
import { FakeClock } from "../testing/index.ts";
import { isJpError, messageOf, sha256 } from "../util/index.ts";
import { digestOfDocument, digestOfHead, documentToText } from "./anchor.ts";
import { anchorHeads, anchorState, isAnchorDue, readAnchors } from "./anchor-log.ts";
import { createAuthority, serveAuthority, useOpenssl } from "./authority.fixture.ts";
import { openClone } from "./git-anchor.ts";

const running = new AbortController().signal;

/** The data folder of a machine, with a log of heads. */
class Machine {
  readonly folder = temporaryFolder();
  readonly workspace = temporaryFolder();
  readonly clock = new FakeClock();
  readonly environment = {
    variables: { JP_USER_DATA_DIR: this.folder, PATH: process.env["PATH"], HOME: this.folder },
    home: this.folder,
    platform: process.platform,
  };

  get gitPlaces() {
    return { root: this.workspace, variables: this.environment.variables };
  }

  constructor() {
    this.note(1);
  }

  /** Notes that the chain of a conversation has so many links. */
  note(length: number, text = `${JSON.stringify(headAt(length))}\n`): void {
    appendFileSync(path.join(this.folder, "heads.jsonl"), text);
  }

  anchor(settings: AnchorSettings, signal = running) {
    const { environment, clock } = this;
    return anchorHeads({ root: this.workspace, environment, settings, clock, signal });
  }

  async failure(settings: AnchorSettings): Promise<unknown> {
    return this.anchor(settings).then(
      () => "anchored",
      (error: unknown) => (isJpError(error) ? error.code : error),
    );
  }

  get anchors() {
    return readAnchors(this.environment);
  }
}

function headAt(length: number) {
  return { conversation: "jp-c17673230450", workspace: "/w", length, head: sha256(`${length}`) };
}

const digestAt = (length: number) => digestOfHead({ ...headAt(length), isRemoved: false });

/** A bare repository, and what is in it. */
class Remote {
  readonly folder = path.join(temporaryFolder(), "anchors.git");
  readonly settings = {
    kind: "git",
    remote: this.folder,
    branch: "jp-anchors",
    isDaily: false,
  } as const;

  constructor() {
    this.git("init", "-q", "--bare", this.folder);
  }

  git(...words: readonly string[]): string {
    const cwd = path.dirname(this.folder);
    const inside = words[0] === "init" ? [] : ["--git-dir", this.folder];
    const identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    return execFileSync("git", [...inside, ...identity, ...words], {
      cwd,
      encoding: "utf8",
    }).trim();
  }

  /** Makes the branch point to a tree with one entry. */
  commit(entry: string): string {
    const tree = execFileSync("git", ["--git-dir", this.folder, "mktree"], {
      input: `${entry}\n`,
      encoding: "utf8",
    });
    const commit = this.git("commit-tree", tree.trim(), "-m", "Theirs");
    this.git("update-ref", "refs/heads/jp-anchors", commit);
    return commit;
  }

  blob(): string {
    return execFileSync("git", ["--git-dir", this.folder, "hash-object", "-w", "--stdin"], {
      input: "theirs",
      encoding: "utf8",
    }).trim();
  }

  get commits(): readonly string[] {
    return this.git("rev-list", "jp-anchors").split("\n");
  }

  get files(): readonly string[] {
    return this.git("ls-tree", "--name-only", "jp-anchors").split("\n");
  }
}

describe("an anchor", () => {
  test("has the digests of heads that are new, and of the anchor before", async () => {
    const [machine, remote] = [new Machine(), new Remote()];
    await machine.anchor(remote.settings);
    machine.note(2);
    machine.note(3, '{"torn');
    await machine.anchor(remote.settings);
    const [first, second] = machine.anchors;
    expect([first?.document, second?.document]).toEqual([
      { prev: "", heads: [digestAt(1)] },
      { prev: first && digestOfDocument(first.document), heads: [digestAt(2)] },
    ]);
  });

  test("is not made if nothing is new", async () => {
    const [machine, remote] = [new Machine(), new Remote()];
    await machine.anchor(remote.settings);
    const { made, last } = await machine.anchor(remote.settings);
    expect([made, last, remote.commits.length]).toEqual([undefined, machine.anchors[0], 1]);
  });

  test("says how many heads the log has lost since", async () => {
    counters("T-ANCHOR-1");
    const [machine, remote] = [new Machine(), new Remote()];
    await machine.anchor(remote.settings);
    writeFileSync(path.join(machine.folder, "heads.jsonl"), "");
    expect(await machine.anchor(remote.settings)).toMatchObject({ lost: 1 });
  });

  test("shows nothing of the conversation or the workspace", async () => {
    counters("T-ANCHOR-4");
    const [machine, remote] = [new Machine(), new Remote()];
    await machine.anchor(remote.settings);
    const [file = ""] = remote.files;
    expect(JSON.parse(remote.git("show", `jp-anchors:${file}`))).toEqual({
      at: machine.clock.now().toISOString(),
      heads: 1,
      sha256: machine.anchors[0] && digestOfDocument(machine.anchors[0].document),
    });
    const said = remote.git("show", "--format=%an %ae %cn %ce %B", "jp-anchors");
    expect([said.includes("17673230450"), said.includes("/w")]).toEqual([false, false]);
  });

  test("is kept in a file that only its owner can read, and nothing else is left", async () => {
    const [machine, remote] = [new Machine(), new Remote()];
    await machine.anchor(remote.settings);
    const folder = path.join(machine.folder, "proof");
    const names = readdirSync(folder).filter((name) => !name.endsWith(".lock"));
    expect([names.toSorted(), statSync(path.join(folder, "anchors.jsonl")).mode & 0o777]).toEqual([
      ["anchors.jsonl", "machine-key.pem"],
      0o600,
    ]);
    chmodSync(path.join(folder, "anchors.jsonl"), 0o644);
    expect(() => machine.anchors).toThrow("other users may read or write it");
  });
});

describe("an anchor in a git repository", () => {
  test("is a commit with its digest, on top of those before", async () => {
    const [machine, remote] = [new Machine(), new Remote()];
    const before = remote.commit(`100644 blob ${remote.blob()}\tREADME`);
    const { made } = await machine.anchor(remote.settings);
    expect(made?.proof).toMatchObject({ kind: "git", commit: remote.commits[0] });
    expect([remote.commits.slice(1), remote.files.includes("README")]).toEqual([[before], true]);
  });

  test("goes beside those of other machines", async () => {
    const remote = new Remote();
    const machines = [new Machine(), new Machine(), new Machine()];
    await Promise.all(machines.map((machine) => machine.anchor(remote.settings)));
    expect([remote.files.length, remote.commits.length]).toEqual([3, 3]);
  });

  test("is tried again if someone else was faster", async () => {
    const [machine, remote] = [new Machine(), new Remote()];
    await machine.anchor(remote.settings);
    const { folder } = remote;
    const hook = `#!/bin/sh
[ -e "${folder}/moved" ] && exit 0
touch "${folder}/moved"
unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
moved=$(git -c user.name=B -c user.email=b@example.com commit-tree -p jp-anchors -m Theirs jp-anchors^{tree})
git update-ref refs/heads/jp-anchors $moved
exit 1
`;
    mkdirSync(path.join(folder, "hooks"), { recursive: true });
    writeFileSync(path.join(folder, "hooks", "pre-receive"), hook, { mode: 0o755 });
    machine.note(2);
    await machine.anchor(remote.settings);
    expect(remote.git("log", "--format=%s", "jp-anchors").split("\n")).toEqual([
      "Anchor decisions",
      "Theirs",
      "Anchor decisions",
    ]);
  });

  test("runs no hooks of the user's config", async () => {
    counters("T-ANCHOR-2");
    const [machine, remote] = [new Machine(), new Remote()];
    const hooks = path.join(machine.folder, "hooks");
    mkdirSync(hooks);
    const hook = `#!/bin/sh\ntouch ${machine.folder}/ran\n`;
    for (const name of ["pre-push", "post-index-change"])
      writeFileSync(path.join(hooks, name), hook, { mode: 0o755 });
    writeFileSync(path.join(machine.folder, ".gitconfig"), `[core]\nhooksPath = ${hooks}\n`);
    await machine.anchor(remote.settings);
    expect(readdirSync(machine.folder)).not.toContain("ran");
  });

  test("runs neither git nor ssh of the workspace", async () => {
    counters("T-PROG-8");
    const machine = new Machine();
    const [bin, linked] = [path.join(machine.workspace, "bin"), temporaryFolder()];
    mkdirSync(bin);
    for (const name of ["git", "ssh", "sh"]) {
      const script = `#!/bin/sh\ntouch ${machine.folder}/ran-${name}\n`;
      writeFileSync(path.join(bin, name), script, { mode: 0o755 });
    }
    symlinkSync(path.join(bin, "ssh"), path.join(linked, "ssh"));
    machine.environment.variables.PATH = `${bin}:${linked}:${process.env["PATH"]}`;
    const remote = "ssh://127.0.0.1:1/nowhere.git";
    const settings = { kind: "git", remote, branch: "jp-anchors", isDaily: false } as const;
    expect(await machine.failure(settings)).toBe("anchor_failed");
    expect(readdirSync(machine.folder).filter((name) => name.startsWith("ran"))).toEqual([]);
  });

  test.each([
    ["a path into the repository", "040000 tree", ".git"],
    ["a path outside", "040000 tree", ".."],
  ])("fails if the branch has what git would not check out: %s", async (_name, kind, entry) => {
    counters("T-ANCHOR-2");
    const [machine, remote] = [new Machine(), new Remote()];
    const inner = execFileSync("git", ["--git-dir", remote.folder, "mktree"], {
      input: `100644 blob ${remote.blob()}\tconfig\n`,
      encoding: "utf8",
    });
    remote.commit(`${kind} ${inner.trim()}\t${entry}`);
    expect([await machine.failure(remote.settings), machine.anchors]).toEqual([
      "anchor_failed",
      [],
    ]);
  });

  test("fails if there is no such repository, and says so for the next time", async () => {
    const machine = new Machine();
    const remote = path.join(machine.folder, "nowhere.git");
    const settings = { kind: "git", remote, branch: "jp-anchors", isDaily: true } as const;
    expect(await machine.failure(settings)).toBe("anchor_failed");
    const { failedAt = 0, ...state } = anchorState(machine.environment);
    expect(state).toEqual({ hasNew: true });
    const due = [0, 59, 61].map((minutes) =>
      isAnchorDue({ ...state, failedAt }, failedAt + minutes * 60_000),
    );
    expect(due).toEqual([false, false, true]);
    await machine.anchor(new Remote().settings);
    expect(anchorState(machine.environment)).not.toHaveProperty("failedAt");
  });

  test("is found in a clone, unless it has another digest or is on no branch", async () => {
    counters("T-ANCHOR-1");
    const [machine, remote] = [new Machine(), new Remote()];
    const { made } = await machine.anchor(remote.settings);
    if (made?.proof.kind !== "git") throw new Error("not in git");
    const clone = await openClone(remote.folder, machine.gitPlaces);
    const digest = digestOfDocument(made.document);
    const other = { ...made.proof, commit: "0".repeat(40) };
    expect([
      await clone.has(made.proof, digest),
      await clone.has(made.proof, sha256("other")),
      await clone.has(other, digest),
    ]).toEqual([true, false, false]);
    remote.git("update-ref", "-d", "refs/heads/jp-anchors");
    expect(await clone.has(made.proof, digest)).toBe(false);
    await expect(openClone(temporaryFolder(), machine.gitPlaces)).rejects.toMatchObject({
      code: "not_a_repository",
    });
  });
});

describe("an anchor by a time stamp", () => {
  useOpenssl();

  test("is one of the document", async () => {
    const machine = new Machine();
    const authority = createAuthority();
    const url = await serveAuthority((query) => ({ body: authority.reply(query) }));
    const { made } = await machine.anchor({ kind: "timestamp", url, isDaily: false });
    if (made?.proof.kind !== "timestamp") throw new Error("not a time stamp");
    const response = Buffer.from(made.proof.response, "base64");
    expect(authority.accepts(response, sha256(documentToText(made.document)))).toBe(true);
    const file = path.join(machine.folder, "proof", "anchors.jsonl");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      at: made.at,
      document: made.document,
      proof: { kind: "timestamp", url, response: made.proof.response },
    });
  });
});

test("an anchor that takes too long, or is interrupted, is not made", async () => {
  counters("T-ANCHOR-2");
  const machine = new Machine();
  const asked = Promise.withResolvers<void>();
  const url = await serveAuthority(() => {
    asked.resolve();
    return new Promise(() => undefined);
  });
  const settings = { kind: "timestamp", url, isDaily: false } as const;
  const late = machine.failure(settings);
  await asked.promise;
  machine.clock.advance(60_000);
  const stop = new AbortController();
  const interrupted = machine.anchor(settings, stop.signal).catch(messageOf);
  stop.abort(new Error("interrupted"));
  expect(await interrupted).toBe("interrupted");
  expect(await late).toBe("anchor_failed");
  expect(machine.anchors).toEqual([]);
});

test("an anchor is due once a day, if something is new", async () => {
  const [machine, remote] = [new Machine(), new Remote()];
  await machine.anchor(remote.settings);
  const file = path.join(machine.folder, "heads.jsonl");
  const { lastAt = 0 } = anchorState(machine.environment);
  const dueAfter = (hours: number) =>
    isAnchorDue(anchorState(machine.environment), lastAt + hours * 3_600_000);
  utimesSync(file, lastAt / 1000 - 1, lastAt / 1000 - 1);
  const without = dueAfter(25);
  utimesSync(file, lastAt / 1000 + 1, lastAt / 1000 + 1);
  expect([without, dueAfter(23), dueAfter(25)]).toEqual([false, false, true]);
});
