/** Commands that try to make the user's next Git command, or one of jp's own, run a program outside of the sandbox. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { findProblemIn } from "../../src/reach/shell/index.ts";
import { counters } from "../security/threats.ts";
import { type RunOptions, runIn, scene, type Scene, useSandbox } from "./support.ts";

interface GitScene extends Scene {
  /** As the user: with the home of the scene, and outside of the sandbox. */
  readonly git: (...args: string[]) => string;
  /** Makes something to commit. Whether a program of the command has run since. */
  readonly hasRun: () => boolean;
  readonly write: (name: string, text: string) => void;
}

/** `ran` is where the programs of commands leave a mark, which the sandbox keeps them from. */
function gitScene(): GitScene {
  const current = scene();
  const { root, home, outside } = current;
  const git: GitScene["git"] = (...args) =>
    execFileSync("git", args, {
      cwd: root,
      env: { PATH: process.env["PATH"], HOME: home, GIT_EDITOR: "true" },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  const write = (name: string, text: string) => {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  writeFileSync(
    path.join(home, ".gitconfig"),
    '[user]\nname = me\nemail = me@example.com\n[init]\ndefaultBranch = main\n[protocol "file"]\nallow = always\n',
  );
  writeFileSync(path.join(outside, "payload"), `#!/bin/sh\ntouch ${outside}/ran\n`);
  chmodSync(path.join(outside, "payload"), 0o755);
  const hasRun = () => {
    write("more.txt", "more\n");
    for (const words of [
      ["status"],
      ["diff", "HEAD"],
      ["add", "more.txt"],
      ["commit", "-m", "x"],
    ]) {
      try {
        git(...words);
      } catch {
        // Not a repository, or nothing to commit.
      }
    }
    return existsSync(path.join(outside, "ran"));
  };
  return { ...current, git, hasRun, write };
}

function repository(): GitScene {
  const current = gitScene();
  current.git("init", "-q");
  current.write("a.txt", "a\n");
  current.git("add", ".");
  current.git("commit", "-qm", "one");
  return current;
}

/** A repository with another one as its submodule `libs/sub`. */
function superproject(): GitScene {
  const current = repository();
  const { outside, git } = current;
  execFileSync("git", ["clone", "-q", current.root, path.join(outside, "sub")]);
  git("submodule", "add", "-q", path.join(outside, "sub"), "libs/sub");
  git("commit", "-qm", "submodule");
  return current;
}

/** Runs a line that is expected to fail at what it tries. `$payload` is a program that leaves a mark. */
function attack(current: Scene, line: string, options?: RunOptions): Promise<string> {
  const variables = { payload: path.join(current.outside, "payload") };
  return runIn(current, `{ ${line}\n} 2>/dev/null; true`, { ...options, variables });
}

const IDENTITY = Object.fromEntries(
  ["AUTHOR", "COMMITTER"].flatMap((who) => [
    [`GIT_${who}_NAME`, "me"],
    [`GIT_${who}_EMAIL`, "me@example.com"],
  ]),
);
const BARE =
  'git init -q --bare /tmp/b && cp -r /tmp/b/* . ; mkdir objects refs; echo "ref: refs/heads/main" >HEAD; ' +
  'printf "[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = .\\nfsmonitor = %s\\n" "$payload" >config';
/** Git finds the config, the objects and the refs there. */
const ELSEWHERE =
  'mkdir -p bare/objects bare/refs; echo bare >commondir; echo "ref: refs/heads/main" >HEAD; ' +
  "for file in bare/config config.worktree; do git config -f $file core.repositoryFormatVersion 0; git config -f $file core.bare false; git config -f $file core.worktree $PWD; done; " +
  "git config -f bare/config extensions.worktreeConfig true; git config -f bare/config core.fsmonitor $payload";
const HOOK = (folder: string) =>
  `mkdir -p ${folder}; cp $payload ${folder}/pre-commit; chmod +x ${folder}/pre-commit`;

describe("a command in the sandbox", () => {
  useSandbox();

  test("cannot make the user's Git run a program by a repository in the place of the workspace", async () => {
    counters("T-SHELL-12");
    for (const line of [BARE, ELSEWHERE]) {
      for (const present of [[], ["refs"], ["objects"], ["refs", "objects"], ["commondir"]]) {
        const current = gitScene();
        for (const name of present) mkdirSync(path.join(current.root, name));
        await attack(current, line);
        expect([line, present, current.hasRun()]).toEqual([line, present, false]);
      }
    }
  });

  test("cannot make the user's Git run a program by a repository in the place of the workspace, whose own has lost its HEAD", async () => {
    counters("T-SHELL-12");
    for (const options of [{}, { git: true }]) {
      const current = repository();
      await attack(current, `rm .git/HEAD; ${BARE}; ${ELSEWHERE}`, options);
      expect([options, current.hasRun()]).toEqual([options, false]);
    }
  });

  test("cannot make the user's Git run a program by hooks in a folder of the workspace, also if it is renamed or missing", async () => {
    counters("T-SHELL-12");
    for (const level of ["--local", "--global"]) {
      for (const isMade of [true, false]) {
        const current = repository();
        current.git("config", level, "core.hooksPath", ".husky/_");
        if (isMade) current.write(".husky/_/h", "");
        await attack(current, `mv .husky old; rm -rf .husky; ${HOOK(".husky/_")}`);
        expect([level, isMade, current.hasRun()]).toEqual([level, isMade, false]);
        expect(existsSync(path.join(current.root, ".husky"))).toBe(isMade);
      }
    }
  });

  test("cannot make the user's Git run a program by a script to which a hook is a link, even if that is missing", async () => {
    counters("T-SHELL-12");
    for (const isMade of [true, false]) {
      const current = repository();
      if (isMade) current.write("scripts/pre-commit", "#!/bin/sh\n");
      symlinkSync("../../scripts/pre-commit", path.join(current.root, ".git/hooks/pre-commit"));
      await attack(current, `${HOOK("scripts")}; mv scripts old; ${HOOK("scripts")}`);
      expect([isMade, current.hasRun()]).toEqual([isMade, false]);
    }
  });

  test("cannot make the user's Git run a program by a file that the config includes, also if it is missing or its condition is not met yet", async () => {
    counters("T-SHELL-12");
    for (const key of ["include.path", "includeIf.onbranch:other.path"]) {
      for (const isMade of [true, false]) {
        const current = repository();
        const { git, write } = current;
        git("config", key, "../conf/git/extra.inc");
        if (isMade) write("conf/git/extra.inc", "[user]\nname = me\n");
        const config = 'printf "[core]\\nfsmonitor = %s\\n" "$payload" >conf/git/extra.inc';
        await attack(current, `mv conf old; rm -rf conf; mkdir -p conf/git; ${config}`);
        git("checkout", "-q", "-b", "other");
        expect([key, isMade, current.hasRun()]).toEqual([key, isMade, false]);
      }
    }
  });

  test("cannot make the user's Git run a program by a config of the user's own that is in the workspace", async () => {
    counters("T-SHELL-12");
    const current = repository();
    const { root, home, write } = current;
    write("dotfiles/gitconfig", readFileSync(path.join(home, ".gitconfig"), "utf8"));
    execFileSync("ln", [
      "-sf",
      path.join(root, "dotfiles/gitconfig"),
      path.join(home, ".gitconfig"),
    ]);
    const config = 'printf "[core]\\nfsmonitor = %s\\n" "$payload" >dotfiles/gitconfig';
    await attack(current, `${config}; mv dotfiles old; mkdir dotfiles; ${config}`);
    expect(current.hasRun()).toBe(false);
  });

  test("cannot make the user's Git run a program by the steps of a rebase", async () => {
    counters("T-SHELL-12");
    const current = repository();
    const { git, write, outside } = current;
    git("checkout", "-q", "-b", "other");
    write("a.txt", "b\n");
    git("commit", "-qam", "two");
    git("checkout", "-q", "main");
    write("a.txt", "c\n");
    git("commit", "-qam", "three");
    expect(() => git("rebase", "-q", "other")).toThrow("git rebase");
    await attack(current, 'echo "exec $payload" >>.git/rebase-merge/git-rebase-todo');
    write("a.txt", "d\n");
    git("add", ".");
    git("rebase", "--continue");
    expect(existsSync(path.join(outside, "ran"))).toBe(false);
  });

  test.each([
    [
      "its folder",
      "rm libs/sub/.git; cp -r .git/modules/libs/sub libs/sub/.git; sed -i /worktree/d libs/sub/.git/config",
    ],
    [
      "a renamed parent",
      "mv libs old; mkdir -p libs/sub; git init -q libs/sub; cp old/sub/a.txt libs/sub",
    ],
    ["a renamed folder", "mv libs/sub old; git init -q libs/sub"],
    ["a removed folder", "rm -rf libs; git init -q libs/sub"],
  ])("cannot make the user's Git run a program by a submodule: %s (%s)", async (_what, line) => {
    counters("T-SHELL-12");
    for (const isMade of [true, false]) {
      const current = superproject();
      if (!isMade) current.git("submodule", "deinit", "-q", "-f", "libs/sub");
      await attack(
        current,
        `${line}; git config --file libs/sub/.git/config core.fsmonitor $payload; git -C libs/sub commit -qm x --allow-empty`,
      );
      expect([isMade, current.hasRun()]).toEqual([isMade, false]);
    }
  });

  test("cannot make the user's Git run a program by a linked worktree in the workspace", async () => {
    counters("T-SHELL-12");
    const current = repository();
    const { git, root, outside } = current;
    git("worktree", "add", "-q", "trees/one");
    await attack(
      current,
      "rm trees/one/.git; mv trees old; git init -q trees/one; git -C trees/one config core.fsmonitor $payload",
    );
    expect(readFileSync(path.join(root, "trees/one/.git"), "utf8")).toMatch(/^gitdir: /);
    git("-C", "trees/one", "status");
    expect(existsSync(path.join(outside, "ran"))).toBe(false);
  });

  test("cannot make the user's Git run a program, even with git: true, by config, hooks, attributes or a common folder", async () => {
    counters("T-SHELL-12");
    const current = repository();
    const { git, root } = current;
    git("config", "filter.x.clean", "./clean");
    const line =
      "git config core.fsmonitor $payload; mv .git old; mv .git/hooks old; mv .git/info old; mkdir -p .git/info; " +
      `cp $payload clean; echo "* filter=x" >.git/info/attributes; ${HOOK(".git/hooks")}; ` +
      "git init -q evil; git -C evil config core.fsmonitor $payload; echo ../evil/.git >.git/commondir";
    await attack(current, line, { git: true });
    expect([current.hasRun(), readdirSync(path.join(root, ".git/hooks"))]).toEqual([
      false,
      expect.not.arrayContaining(["pre-commit"]),
    ]);
  });
});

describe("a command in the sandbox", () => {
  useSandbox();

  test("reads a repository as usual, also from a folder inside of it", async () => {
    const current = repository();
    current.write("src/b.txt", "b\n");
    current.git("add", ".");
    const line = "git diff HEAD --stat; git log HEAD --format=%s; git reset HEAD || echo no";
    const expected = "src/b.txt | 1 +\n 1 file changed, 1 insertion(+)\none\nno\n0";
    const quiet = `{ ${line}; } 2>/dev/null`;
    expect(await current.run(quiet)).toBe(expected);
    const { run: _run, ...place } = current;
    const inner = { ...place, root: path.join(place.root, "src"), readable: [place.root] };
    expect(await runIn(inner, quiet)).toBe(expected);
  });

  test("with git commits, merges and rebases", async () => {
    const { root, git, run } = repository();
    const line =
      "git checkout -qb other && echo b >b && git add . && git commit -qm two && git checkout -q main && " +
      "echo c >c && git add . && git commit -qm three && git merge -q -m merged other && git rebase -q other && " +
      "echo d >d && git add . && git stash -q && git log --format=%s";
    expect(await run(line, { git: true, variables: IDENTITY })).toBe("three\ntwo\none\n0");
    expect(readdirSync(root).toSorted()).toEqual([".git", "a.txt", "b", "c"]);
    git("fsck", "--strict");
  });

  test("with git commits in a linked worktree, and cannot touch that of another one", async () => {
    const { home, git, hasRun, ...current } = repository();
    const root = path.join(home, "tree");
    git("worktree", "add", "-q", root);
    const line =
      "cd .. ; cd tree && git checkout -qb other && echo b >b && git add . && git commit -qm two && git log --format=%s; " +
      "for name in HEAD index config rebase-merge worktrees/tree/commondir; do touch ../project/.git/$name 2>/dev/null || echo no; done";
    const output = await runIn({ ...current, home, root }, line, {
      git: true,
      variables: IDENTITY,
    });
    expect(output).toBe("two\none\nno\nno\nno\nno\nno\n0");
    expect([git("-C", root, "status", "--short"), hasRun()]).toEqual(["", false]);
  });

  test("has no sandbox where a link stands in the way to hooks, or Git cannot read its config", async () => {
    const { git, root, outside, ...place } = repository();
    git("config", "core.hooksPath", "hooks/git");
    symlinkSync(outside, path.join(root, "hooks"));
    expect(await findProblemIn({ ...place, root })).toEqual({
      reason: "protected_link",
      detail: "hooks",
    });
    git("config", "core.hooksPath", ".");
    expect(await findProblemIn({ ...place, root })).toMatchObject({ reason: "git_config" });
    writeFileSync(path.join(root, ".git/config"), "[core");
    expect(await findProblemIn({ ...place, root })).toEqual({
      reason: "git_config",
      detail: "fatal: bad config line 2 in file .git/config",
    });
  });
});
