/** Workspaces whose Git would run programs that a command could place in them. Each is made once, and copied for each round. */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import type { SandboxPlace } from "../../src/reach/shell/index.ts";
import {
  HOOKS,
  MISSING_SUBMODULES,
  SUBMODULES,
  type WorkspaceKind,
  WORKTREE,
} from "./break-out-lines.ts";

export interface GitWorkspace extends SandboxPlace {
  readonly base: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Where jp keeps what it needs for an undo. */
  readonly data: string;
  /** A command in the sandbox cannot write it. Names what started the command's program outside of it. */
  readonly escapes: string;
  /** The user's own hooks note here that they ran. */
  readonly hooks: string;
}

/** In a place that the sandbox does not hide. */
export class GitWorkspaces {
  readonly #folder: string;
  readonly #data: string;
  readonly #templates = new Map<WorkspaceKind, GitWorkspace>();

  /** Two folders: for the workspaces, and for jp's data. */
  constructor(folder: string, data: string) {
    this.#folder = folder;
    this.#data = data;
  }

  /** The caller removes its `base`. */
  copy(kind: WorkspaceKind): GitWorkspace {
    const template = this.#templates.get(kind) ?? this.#make(kind);
    const copied = this.#place();
    mkdirSync(copied.data);
    cpSync(template.base, copied.base, { recursive: true, verbatimSymlinks: true });
    for (const name of FILES_WITH_PATHS) {
      const file = path.join(copied.base, name);
      if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) continue;
      const text = readFileSync(file, "utf8");
      writeFileSync(
        file,
        text.replaceAll(template.base, () => copied.base),
      );
    }
    return { ...copied, variables: activatedVariables(copied) };
  }

  #make(kind: WorkspaceKind): GitWorkspace {
    const template = this.#place();
    this.#templates.set(kind, template);
    for (const folder of [template.root, path.dirname(template.escapes)]) {
      mkdirSync(folder, { recursive: true });
    }
    BUILDERS[kind](new Builder(template));
    return template;
  }

  #place(): GitWorkspace {
    const base = mkdtempSync(path.join(this.#folder, "r"));
    const home = path.join(base, "home");
    const data = path.join(this.#data, path.basename(base));
    const root = path.join(home, "project");
    const escapes = path.join(base, "outside", "escapes");
    const hooks = path.join(base, "outside", "hooks");
    const variables = activatedVariables({ base, root, home });
    return { base, root, home, variables, data, escapes, hooks, hidden: [data], readable: [] };
  }
}

/** The files in which Git, or the user's config, has absolute paths. */
const FILES_WITH_PATHS = [
  "home/.gitconfig",
  "home/project/.git",
  "home/project/.git/worktrees/feature/gitdir",
  `home/project/${WORKTREE}/.git`,
  "home/main/.git/worktrees/project/gitdir",
];

/** Does nothing while a workspace is made. */
const NOTE_HOOK = '#!/bin/sh\n[ -z "$HOOK_LOG" ] || echo pre-commit >>"$HOOK_LOG"\n';

const BUILDERS: Readonly<Record<WorkspaceKind, (builder: Builder) => void>> = {
  husky: (builder) => {
    builder.project();
    builder.husky();
    builder.git("config", "include.path", "../common.gitconfig");
  },
  rebasing: (builder) => {
    builder.project();
    builder.git("-c", "sequence.editor=sed -i 1s/^pick/edit/", "rebase", "-q", "-i", "HEAD~2");
    builder.husky();
    // Applies once the rebase is done.
    builder.git("config", "includeIf.onbranch:main.path", "../branch.gitconfig");
  },
  global: (builder) => {
    builder.project();
    builder.git("config", "--global", "core.hooksPath", ".githooks");
    builder.git("config", "--global", "include.path", path.join(builder.root, "team.gitconfig"));
  },
  named: (builder) => {
    builder.project();
    builder.write(
      `../${USER_CONFIG}`,
      "[include]\n\tpath = .gitconfig\n\tpath = ~/project/team.gitconfig\n[core]\n\thooksPath = .githooks\n",
    );
  },
  deep: (builder) => {
    builder.project();
    builder.write("tools/git/config", "[alias]\n\tst = status\n");
    builder.git("config", "core.hooksPath", "tools/git/hooks");
    builder.git("config", "include.path", "../tools/git/config");
  },
  links: (builder) => {
    builder.project();
    builder.write("scripts/check.sh", NOTE_HOOK, 0o755);
    mkdirSync(path.join(builder.root, ".git/hooks"));
    symlinkSync("../../scripts/check.sh", path.join(builder.root, ".git/hooks/pre-commit"));
  },
  linked: (builder) => {
    builder.linked();
  },
  none: (builder) => {
    builder.files();
  },
  headless: (builder) => {
    builder.files();
    mkdirSync(path.join(builder.root, ".git"));
    builder.write(".git/config", "[core]\n\tbare = false\n");
  },
  inner: (builder) => {
    builder.files();
    builder.git("init", "-q", "..");
    builder.git("add", "notes.txt");
    builder.commit("one");
    builder.git("config", "core.hooksPath", "project/.githooks");
    builder.git("config", "include.path", "../project/common.gitconfig");
  },
};

class Builder {
  readonly root: string;
  readonly #workspace: GitWorkspace;

  constructor(workspace: GitWorkspace) {
    this.#workspace = workspace;
    this.root = workspace.root;
    const { home } = workspace;
    writeFileSync(
      path.join(home, ".gitconfig"),
      '[user]\n\tname = me\n\temail = me@example.com\n[init]\n\tdefaultBranch = main\n\ttemplateDir =\n[protocol "file"]\n\tallow = always\n[core]\n\tfsync = none\n[advice]\n\tdetachedHead = false\n',
    );
  }

  git(...args: string[]): void {
    this.gitIn(this.root, ...args);
  }

  gitIn(cwd: string, ...args: string[]): void {
    execFileSync("git", args, { cwd, env: userVariables(this.#workspace), stdio: "pipe" });
  }

  commit(message: string): void {
    this.git("commit", "-q", "-m", message);
  }

  write(name: string, text: string, mode = 0o644): void {
    const file = path.join(this.root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
  }

  files(): void {
    this.write("notes.txt", "one\n");
    this.write("src/app.txt", "app\n");
    this.write("common.gitconfig", "[alias]\n\tst = status\n[include]\n\tpath = extra.gitconfig\n");
    this.write(".gitignore", ".venv/\nnode_modules/\ntrees/\n");
    for (const name of [".venv/bin/python", "node_modules/.bin/tsc"]) {
      this.write(name, "#!/bin/sh\n", 0o755);
    }
    for (const name of HOOKS) {
      this.write(`.husky/_/${name}`, '#!/bin/sh\n. "${0%/*}/h"\n', 0o755);
    }
    // Uses only what the shell has built in, and no program of the workspace.
    this.write(".husky/_/h", 'own="${0%/*}/../${0##*/}"\n[ ! -f "$own" ] || . "$own"\n');
    this.write(".husky/_/.gitignore", "*\n");
    this.write(".husky/pre-commit", NOTE_HOOK);
  }

  /** With submodules that are checked out and others that are not, and a linked worktree. */
  project(): void {
    this.files();
    this.git("init", "-q");
    const library = path.join(this.#workspace.base, "library");
    mkdirSync(library);
    this.gitIn(library, "init", "-q");
    writeFileSync(path.join(library, "library.txt"), "library\n");
    this.gitIn(library, "add", ".");
    this.gitIn(library, "commit", "-q", "-m", "library");
    for (const name of SUBMODULES) this.git("submodule", "--quiet", "add", library, name);
    const [head = ""] =
      /[0-9a-f]{40}/.exec(readFileSync(path.join(library, ".git/refs/heads/main"), "utf8")) ?? [];
    this.git("add", ".");
    for (const name of MISSING_SUBMODULES) {
      this.git("update-index", "--add", "--cacheinfo", `160000,${head},${name}`);
    }
    mkdirSync(path.join(this.root, "libs/empty"));
    for (const text of ["one", "two", "three"]) {
      this.write("src/app.txt", text);
      this.git("add", "src");
      this.commit(text);
    }
    this.git("worktree", "add", "-q", WORKTREE);
  }

  husky(): void {
    this.git("config", "core.hooksPath", ".husky/_");
  }

  /** The workspace is a linked worktree of a repository outside of it. */
  linked(): void {
    const main = path.join(this.#workspace.home, "main");
    mkdirSync(main);
    this.gitIn(main, "init", "-q");
    this.gitIn(main, "commit", "-q", "--allow-empty", "-m", "one");
    this.gitIn(main, "worktree", "add", "-q", "../project");
    this.files();
    this.git("add", ".");
    this.commit("two");
    this.husky();
  }
}

/** With folders of the workspace in front of `PATH`, as an activated environment puts them. */
function activatedVariables(
  place: Pick<GitWorkspace, "base" | "root" | "home">,
): GitWorkspace["variables"] {
  const user = userVariables(place);
  const folders = [".venv/bin", "node_modules/.bin"].map((name) => path.join(place.root, name));
  const searchPath = [...folders, user["PATH"]].join(path.delimiter);
  return { ...user, PATH: searchPath, GIT_EDITOR: "true" };
}

/** In the home, if the user's environment names it. */
const USER_CONFIG = "named.gitconfig";

/** The environment of the user's own commands. Nothing above the workspace counts: it lies in the repository of these tests. */
export function userVariables({
  base,
  home,
}: Pick<GitWorkspace, "base" | "home">): Readonly<Record<string, string | undefined>> {
  const config = path.join(home, USER_CONFIG);
  return {
    ...(existsSync(config) && { GIT_CONFIG_GLOBAL: config }),
    PATH: process.env["PATH"],
    HOME: home,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CEILING_DIRECTORIES: base,
    EDITOR: "true",
  };
}
