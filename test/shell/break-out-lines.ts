/**
 * Command lines that prepare something in the workspace which Git or jp would run later, outside of the sandbox. `RUN_LATER`
 * stands for that command; it has no quotes.
 */
import * as fc from "fast-check";

export const RUN_LATER = "RUN_LATER";

/**
 * - `husky`: hooks in `.husky/_`, and a file of the workspace that the config includes.
 * - `rebasing`: stopped in a rebase. Another file is included once that is done.
 * - `global`: the user's own config names a folder of hooks and a file in the workspace, which are missing.
 * - `named`: the same, in a file that `GIT_CONFIG_GLOBAL` names.
 * - `deep`: both are in a subfolder; the one of the hooks is missing.
 * - `links`: a hook is a link to a script of the workspace.
 * - `linked`: a linked worktree of a repository outside.
 * - `none`: outside of any repository.
 * - `headless`: has a `.git` that is not a repository.
 * - `inner`: a folder in a repository, whose hooks and included file are in this folder.
 */
export type WorkspaceKind =
  | "husky"
  | "rebasing"
  | "global"
  | "named"
  | "deep"
  | "links"
  | "linked"
  | "none"
  | "headless"
  | "inner";

export type Way = "path" | "bare" | "hooks" | "includes" | "todo" | "nested";

export interface BreakOut {
  /** `random`: made of any steps. */
  readonly way: Way | "random";
  readonly kind: WorkspaceKind;
  readonly line: string;
}

export const SUBMODULES = ["sub", "libs/inner"] as const;
/** In the index, but not checked out. The folder of the first one exists. */
export const MISSING_SUBMODULES = ["libs/empty", "gone"] as const;
export const WORKTREE = "trees/feature";
export const HOOKS = [
  "pre-commit",
  "prepare-commit-msg",
  "commit-msg",
  "post-commit",
  "post-index-change",
  "reference-transaction",
  "post-rewrite",
] as const;

const PROJECTS = ["husky", "rebasing", "global", "named", "deep", "links"] as const;
const KINDS: readonly WorkspaceKind[] = [...PROJECTS, "linked", "none", "headless", "inner"];

const among = <Value>(...values: readonly Value[]) => fc.constantFrom(...values);
const topOf = (file: string) => file.split("/")[0] ?? "";
const parentOf = (file: string) =>
  file.includes("/") ? file.slice(0, file.lastIndexOf("/")) : ".";

// Ways to write a program or a setting.
const SCRIPT = `'#!/bin/sh\\n${RUN_LATER}\\n'`;
const MAKE_SCRIPT = `printf ${SCRIPT} >evil.sh; chmod +x evil.sh`;
const PLANTS: readonly ((file: string) => string)[] = [
  (file) => `printf ${SCRIPT} >${file}; chmod +x ${file}`,
  (file) => `cat >${file} <<'X'\n#!/bin/sh\n${RUN_LATER}\nX\nchmod 755 ${file}`,
  (file) => `${MAKE_SCRIPT}; ln -sf "$PWD/evil.sh" ${file}`,
  (file) => `${MAKE_SCRIPT}; ln -f evil.sh ${file}`,
  (file) => `${MAKE_SCRIPT}; cp -f evil.sh ${file}`,
  (file) => `${MAKE_SCRIPT}; mv -f evil.sh ${file}`,
  (file) => `${MAKE_SCRIPT}; install -m 755 evil.sh ${file}`,
  (file) => `rm -rf ${file}; printf ${SCRIPT} | tee ${file} >/dev/null; chmod a+x ${file}`,
];
const plant = (file: string) =>
  fc.constantFrom(...PLANTS).map((write) => `mkdir -p ${parentOf(file)}; ${write(file)}`);

interface Setting {
  readonly before: string;
  readonly key: string;
  readonly value: string;
}
const MONITOR = { before: "", key: "core.fsmonitor", value: `'${RUN_LATER}; false'` };
const SETTINGS: readonly Setting[] = [
  ...Array.from({ length: 5 }, () => MONITOR),
  { before: "", key: "diff.external", value: `'${RUN_LATER}; true'` },
  { before: `${MAKE_SCRIPT}; `, key: "core.fsmonitor", value: '"$PWD/evil.sh"' },
  {
    before: `mkdir -p evil; printf ${SCRIPT} >evil/post-index-change; chmod +x evil/*; cp evil/post-index-change evil/pre-commit; `,
    key: "core.hooksPath",
    value: '"$PWD/evil"',
  },
  {
    before: "echo '* filter=f' >.gitattributes; ",
    key: "filter.f.clean",
    value: `'${RUN_LATER}; cat'`,
  },
];
const anySetting = fc.constantFrom(...SETTINGS);

/** The last one only knows `core.fsmonitor`. */
const SETTERS: readonly ((file: string, setting: Setting) => string)[] = [
  (file, { before, key, value }) => `${before}git config -f ${file} ${key} ${value}`,
  (file, { before, key, value }) =>
    `${before}git config -f evil.cfg ${key} ${value}; cat evil.cfg >>${file}`,
  (file, { before, key, value }) =>
    `${before}git config -f evil.cfg ${key} ${value}; mv -f evil.cfg ${file}`,
  (file, { before, key, value }) =>
    `${before}git config -f evil.cfg ${key} ${value}; ln -sf "$PWD/evil.cfg" ${file}`,
  (file) => `printf '[core]\\n\\tfsmonitor = "${RUN_LATER}; false"\\n' >>${file}`,
];
const configure = (file: string) =>
  fc.tuple(fc.constantFrom(...SETTERS), anySetting).map(([set, setting]) => set(file, setting));

const joined = (...steps: readonly (fc.Arbitrary<string> | string)[]) =>
  fc
    .tuple(...steps.map((step) => (typeof step === "string" ? fc.constant(step) : step)))
    .map((parts) => parts.filter((part) => part !== "").join("\n"));

// 1. A program in a folder of PATH.
const PROGRAMS = "git git git sh bash env ps bwrap rg ssh grep tr rmdir".split(" ");
const path = among(...KINDS).chain((kind) =>
  fc
    .tuple(among(".venv/bin", "node_modules/.bin"), among(...PROGRAMS))
    .chain(([folder, name]) =>
      fc.oneof(
        plant(`${folder}/${name}`),
        joined(plant(`tools/${name}`), `rm -rf ${folder}`, `ln -s "$PWD/tools" ${folder}`),
        joined(`mv ${parentOf(folder)} old`, plant(`${folder}/${name}`)),
        joined(plant(`${folder}/git`), plant(`${folder}/${name}`)),
      ),
    )
    .map((line) => ({ kind, line })),
);

// 2. A repository without a work tree of its own.
const SPOILED = [
  "rm -f .git/HEAD",
  "mv .git/HEAD old",
  "echo x >.git/HEAD",
  "ln -sf nowhere .git/HEAD",
  "mv .git old",
  "rm -rf .git",
  "rm -rf .git/refs .git/packed-refs",
  "mv .git/objects .",
];
const HEADS = ["printf 'ref: refs/heads/main\\n' >HEAD", "ln -s refs/heads/main HEAD"];
const COPIED = "cp -r .git/. .";
const BARE: readonly (readonly string[])[] = [
  ["git init -q --bare bare", "mv bare/* ."],
  ["git init -q --bare bare", "cp -r bare/. ."],
  ["mkdir -p objects refs", ...HEADS.slice(0, 1)],
  ["mkdir -p objects refs", ...HEADS.slice(1)],
  ["mkdir -p o; ln -s o objects; ln -s o refs", ...HEADS.slice(0, 1)],
  [COPIED, "mkdir -p objects refs", ...HEADS.slice(0, 1)],
  ["mv refs objects old; mkdir -p refs objects", ...HEADS.slice(0, 1)],
];
const workTree = (file: string) =>
  ["repositoryFormatVersion 0", "bare false", 'worktree "$PWD"']
    .map((setting) => `git config -f ${file} core.${setting}`)
    .join("; ");
/** Only `HEAD` is in the workspace itself. Git takes the settings of the work tree from `config.worktree`. */
const SHARED = [
  "echo bare >commondir; mkdir -p bare/objects bare/refs",
  "git config -f bare/config extensions.worktreeConfig true",
];
const bareLine = (steps: readonly string[], before: string) => {
  const first = steps.includes(COPIED) ? [...steps, before] : [before, ...steps];
  return fc.oneof(
    { weight: 5, arbitrary: joined(...first, configure("config"), workTree("config")) },
    {
      weight: 2,
      arbitrary: joined(
        before,
        ...SHARED,
        among(...HEADS),
        configure("bare/config"),
        workTree("config.worktree"),
        workTree("bare/config"),
      ),
    },
    { weight: 1, arbitrary: joined(before, "git init -q", configure(".git/config")) },
    {
      weight: 1,
      arbitrary: joined(
        "git init -q other",
        configure("other/.git/config"),
        before,
        "echo gitdir: other/.git >.git",
      ),
    },
  );
};
const bare = among<WorkspaceKind>("none", "none", "headless", "inner", "husky", "linked").chain(
  (kind) =>
    fc
      .tuple(fc.constantFrom(...BARE), among(...SPOILED))
      .chain(([steps, spoiled]) =>
        bareLine(steps, kind === "none" || kind === "inner" ? "" : spoiled),
      )
      .map((line) => ({ kind, line })),
);

// 3. Hooks.
const anyHook = among(...HOOKS, "post-index-change", "pre-commit");
const huskyLine = anyHook.chain((hook) => {
  const planted = plant(`.husky/_/${hook}`);
  return fc.oneof(
    joined("mv .husky old", planted),
    joined("mv .husky/_ old", planted),
    joined("mv .husky old; cp -r old .husky", planted),
    joined("mv .husky old; mkdir .husky", plant(`old/_/${hook}`), "ln -s ../old/_ .husky/_"),
    joined("rm -rf .husky; mkdir -p old/_", plant(`old/_/${hook}`), "ln -s old .husky"),
    plant(`.husky/${hook}`),
    joined(plant(`.husky/${hook}`), planted),
    among(`echo '${RUN_LATER}' >>.husky/_/h`, `echo '${RUN_LATER}' >>.husky/pre-commit`),
    planted,
  );
});
const otherHookLine = (folder: string) =>
  anyHook.chain((hook) =>
    fc.oneof(
      plant(`${folder}/${hook}`),
      joined(
        plant(`other/${hook}`),
        `mkdir -p ${parentOf(folder)}`,
        `ln -s "$PWD/other" ${folder}`,
      ),
      joined(
        `mkdir -p ${parentOf(folder)}; mv ${topOf(folder)} old; cp -r old ${topOf(folder)}`,
        plant(`${folder}/${hook}`),
      ),
    ),
  );
const scriptLine = fc.oneof(
  plant("scripts/check.sh"),
  joined("mv scripts/check.sh old", plant("scripts/check.sh")),
  joined("mv scripts old; cp -r old scripts", plant("scripts/check.sh")),
  joined("mv scripts old", plant("other/check.sh"), "ln -s other scripts"),
);
const hooks = fc
  .oneof(
    fc.tuple(among<WorkspaceKind>("husky", "rebasing", "linked"), huskyLine),
    fc.tuple(among<WorkspaceKind>("husky", "rebasing"), otherHookLine(`${WORKTREE}/.husky/_`)),
    fc.tuple(among<WorkspaceKind>("global", "named"), otherHookLine(".githooks")),
    fc.tuple(
      among<WorkspaceKind>("global", "named"),
      among(...SUBMODULES, WORKTREE).chain((name) =>
        joined(otherHookLine(`${name}/.githooks`), `touch ${name}/*`),
      ),
    ),
    fc.tuple(fc.constant<WorkspaceKind>("deep"), otherHookLine("tools/git/hooks")),
    fc.tuple(fc.constant<WorkspaceKind>("inner"), otherHookLine(".githooks")),
    fc.tuple(fc.constant<WorkspaceKind>("links"), scriptLine),
    fc.tuple(
      among<WorkspaceKind>("husky", "linked", "none"),
      anyHook.chain((hook) =>
        joined(`git config core.hooksPath .git/hooks`, plant(`.git/hooks/${hook}`)),
      ),
    ),
  )
  .map(([kind, line]) => ({ kind, line }));

// 4. Files that the config includes.
const INCLUDED: readonly (readonly [kind: WorkspaceKind, file: string])[] = [
  ["husky", "common.gitconfig"],
  ["husky", "extra.gitconfig"],
  ["rebasing", "branch.gitconfig"],
  ["global", "team.gitconfig"],
  ["named", "team.gitconfig"],
  ["deep", "tools/git/config"],
  ["inner", "common.gitconfig"],
];
const includes = among(...INCLUDED).chain(([kind, file]) =>
  fc
    .oneof(
      joined(`mkdir -p ${parentOf(file)}`, configure(file)),
      joined(`mv ${file} old`, configure(file)),
      joined(`rm -rf ${topOf(file)}; mkdir -p ${parentOf(file)}`, configure(file)),
      joined(
        `mkdir -p ${parentOf(file)}; mv ${topOf(file)} old; mkdir -p ${parentOf(file)}`,
        configure(file),
      ),
      joined(
        configure("evil.inc"),
        `mkdir -p ${parentOf(file)}; printf "[include]\\n\\tpath = $PWD/evil.inc\\n" >>${file}`,
      ),
    )
    .map((line) => ({ kind, line })),
);

// 5. A rebase in progress.
const TODO = ".git/rebase-merge/git-rebase-todo";
const MAKE_REBASE = [
  "mkdir .git/rebase-merge",
  "git rev-parse HEAD | tee .git/rebase-merge/onto .git/rebase-merge/orig-head >/dev/null",
  "echo refs/heads/main >.git/rebase-merge/head-name; touch .git/rebase-merge/interactive",
  "echo 1 | tee .git/rebase-merge/msgnum .git/rebase-merge/end >/dev/null; touch .git/rebase-merge/done",
];
const todo = fc
  .oneof(
    fc.tuple(
      fc.constant<WorkspaceKind>("rebasing"),
      among(
        `echo 'exec ${RUN_LATER}' >${TODO}`,
        `echo 'x ${RUN_LATER}' >>${TODO}`,
        `sed -i '1iexec ${RUN_LATER}' ${TODO}`,
        `echo 'exec ${RUN_LATER}' >t; mv t ${TODO}`,
        `echo 'exec ${RUN_LATER}' >t; ln -sf "$PWD/t" ${TODO}`,
        `mv .git/rebase-merge old; cp -r old .git/rebase-merge; echo 'exec ${RUN_LATER}' >>${TODO}`,
        `mv .git/rebase-merge old; echo 'exec ${RUN_LATER}' >>old/git-rebase-todo; ln -s ../old .git/rebase-merge`,
        `GIT_SEQUENCE_EDITOR='sed -i "1iexec ${RUN_LATER}"' git rebase --edit-todo`,
      ),
    ),
    fc.tuple(
      among<WorkspaceKind>("husky", "global", "linked"),
      among(
        `git rebase -q -x false -x '${RUN_LATER}' HEAD~1`,
        `GIT_SEQUENCE_EDITOR='sed -i "1ibreak\\nexec ${RUN_LATER}"' git rebase -q -i HEAD~1`,
        [...MAKE_REBASE, `echo 'exec ${RUN_LATER}' >${TODO}`].join("\n"),
      ),
    ),
  )
  .map(([kind, line]) => ({ kind, line }));

// 6. Repositories inside the workspace.
const nestedLine = (name: string) => {
  const git = `${name}/.git`;
  const own = `.git/modules/${name}`;
  const set = configure(`${git}/config`);
  const free = `git config -f ${git}/config --unset core.worktree`;
  const parent = topOf(name);
  return fc.oneof(
    joined(`rm -f ${git}; cp -r ${own} ${git}`, free, set),
    joined(`mv ${name} old; cp -r old ${name}; rm -f ${git}; cp -r ${own} ${git}`, free, set),
    joined(`mv ${parent} old; mkdir -p ${name}; cp -r ${own} ${git}`, free, set),
    joined(`rm -rf ${name}; git init -q ${name}`, set),
    joined(`mv ${git} old; git init -q ${name}`, set),
    joined(
      `cp -r ${own} evil.git; git config -f evil.git/config core.worktree "$PWD/${name}"`,
      configure("evil.git/config"),
      `echo "gitdir: $PWD/evil.git" >${git}`,
    ),
    configure(`${own}/config`),
    joined(plant(`${own}/hooks/post-index-change`), `touch ${name}/*`),
  );
};
const missingLine = (name: string) => {
  const set = configure(`${name}/.git/config`);
  return fc.oneof(
    joined(`git init -q ${name}`, set),
    joined(
      `mkdir -p ${name}; cp -r .git/modules/sub ${name}/.git; git config -f ${name}/.git/config --unset core.worktree`,
      set,
    ),
    joined(`rm -rf ${parentOf(name) === "." ? name : parentOf(name)}; git init -q ${name}`, set),
    joined(`git init -q other; mv other/.git .; mkdir -p ${name}; mv .git ${name}/`, set),
    joined(
      `git init -q other`,
      configure("other/.git/config"),
      `mkdir -p ${name}; echo "gitdir: $PWD/other/.git" >${name}/.git`,
    ),
    joined(
      `git init -q other`,
      configure("other/.git/config"),
      `rm -rf ${name}; mkdir -p ${parentOf(name)}; ln -s "$PWD/other" ${name}`,
    ),
  );
};
const worktreeLine = fc.oneof(
  joined(`rm ${WORKTREE}/.git; git init -q ${WORKTREE}`, configure(`${WORKTREE}/.git/config`)),
  joined(`mv trees old; git init -q ${WORKTREE}`, configure(`${WORKTREE}/.git/config`)),
  joined(
    `cp -r .git evil.git`,
    configure("evil.git/config"),
    `echo "gitdir: $PWD/evil.git" >${WORKTREE}/.git`,
  ),
  joined(
    `git config extensions.worktreeConfig true`,
    configure(".git/worktrees/feature/config.worktree"),
  ),
  joined(
    `cp -r .git evil.git`,
    configure("evil.git/config"),
    `echo "$PWD/evil.git" >.git/worktrees/feature/commondir`,
  ),
  joined(
    `rm -rf ${WORKTREE}/sub; git init -q ${WORKTREE}/sub`,
    configure(`${WORKTREE}/sub/.git/config`),
  ),
);
const newLine = joined(
  "git init -q new; git -C new -c user.name=a -c user.email=b commit -q --allow-empty -m x; git add new",
  configure("new/.git/config"),
);
const nested = fc
  .tuple(
    among(...PROJECTS),
    fc.oneof(
      { weight: 4, arbitrary: among(...SUBMODULES).chain(nestedLine) },
      { weight: 3, arbitrary: among(...MISSING_SUBMODULES).chain(missingLine) },
      { weight: 2, arbitrary: worktreeLine },
      { weight: 1, arbitrary: newLine },
    ),
  )
  .map(([kind, line]) => ({ kind, line }));

// Around a whole line, which may end with a here-document.
const WRAPS: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line,
  (line) => `(\n${line}\n)`,
  (line) => `{\n${line}\n} &\nwait`,
  (line) => `sh <<'END'\n${line}\nEND`,
  (line) => `cd "$PWD/src/.." &&\n{\n${line}\n}`,
  (line) => `umask 0\n${line}`,
  (line) => `${line}\n${line}`,
  (line) => `git status >/dev/null 2>&1\n${line}\ngit status >/dev/null 2>&1`,
];

const asWay = (way: Way, lines: fc.Arbitrary<Omit<BreakOut, "way">>) =>
  fc
    .tuple(lines, fc.constantFrom(...WRAPS))
    .map(([{ kind, line }, wrap]): BreakOut => ({ way, kind, line: wrap(line) }));

/** One of the six ways or a neighbour of it. */
const anyAttack: fc.Arbitrary<BreakOut> = fc.oneof(
  asWay("path", path),
  asWay("bare", bare),
  asWay("hooks", hooks),
  asWay("includes", includes),
  asWay("todo", todo),
  asWay("nested", nested),
);

// Any steps.
const NAMES = [
  ".git .git/HEAD .git/config .git/config.worktree .git/commondir .git/hooks .git/hooks/pre-commit .git/index .git/info",
  ".git/info/attributes .git/modules .git/modules/sub .git/modules/sub/config .git/modules/libs .git/objects .git/refs",
  ".git/rebase-merge .git/rebase-merge/git-rebase-todo .git/worktrees .git/worktrees/feature .git/worktrees/feature/commondir",
  ".husky .husky/_ .husky/_/h .husky/_/pre-commit .husky/_/post-index-change .husky/pre-commit .husky/commit-msg .githooks",
  ".githooks/pre-commit .githooks/post-index-change .venv .venv/bin .venv/bin/git node_modules node_modules/.bin/git",
  ".gitattributes .gitignore .gitmodules HEAD config commondir objects refs hooks hooks/pre-commit packed-refs",
  "common.gitconfig extra.gitconfig branch.gitconfig team.gitconfig tools tools/git tools/git/config tools/git/hooks",
  "tools/git/hooks/pre-commit sub sub/.git sub/.git/config libs libs/inner libs/inner/.git libs/empty libs/empty/.git gone",
  "gone/.git trees trees/feature trees/feature/.git trees/feature/.husky/_/pre-commit new new/.git scripts scripts/check.sh src notes.txt a b . ..",
]
  .join(" ")
  .split(" ");
const name = fc.constantFrom(...NAMES);
const writable = name.filter((value) => !value.startsWith(".."));
const two = (form: (from: string, to: string) => string) =>
  fc.tuple(name, name).map(([from, to]) => form(from, to));
const one = (form: (file: string) => string) => writable.map(form);
const step: fc.Arbitrary<string> = fc.oneof(
  two((from, to) => `mv ${from} ${to}`),
  two((from, to) => `cp -r ${from} ${to}`),
  two((from, to) => `cp -r ${from}/. ${to}`),
  two((from, to) => `ln -sfn "$PWD/${from}" ${to}`),
  two((from, to) => `echo "gitdir: $PWD/${from}" >${to}`),
  two((from, to) => `echo "$PWD/${from}" >${to}`),
  one((file) => `rm -rf ${file}`),
  one((file) => `mkdir -p ${file}`),
  one((file) => `echo 'ref: refs/heads/main' >${file}`),
  one((file) => `echo 'exec ${RUN_LATER}' >>${file}`),
  one((file) => `git init -q ${file}`),
  one((file) => `git init -q --bare ${file}`),
  one((file) => `git config -f ${file} core.worktree "$PWD"`),
  one((file) => `git config -f ${file} include.path "$PWD/a"`),
  one((file) => `git -C ${file} config core.fsmonitor '${RUN_LATER}; false'`),
  one((file) => `git -C ${file} config core.hooksPath "$PWD/hooks"`),
  one((file) => `git add -f ${file}`),
  one((file) => `git worktree add -q -f ${file}`),
  one((file) => `chmod -R a+rwx ${file}`),
  { weight: 5, arbitrary: writable.chain(plant) },
  { weight: 5, arbitrary: writable.chain(configure) },
  among(
    "git commit -q --allow-empty -m x",
    "git stash -q",
    "git checkout -q -b other",
    "git checkout -q feature",
    "git rebase --abort",
    `git rebase -q -x false -x '${RUN_LATER}' HEAD~1`,
    `git config --global core.fsmonitor '${RUN_LATER}'`,
    "git submodule --quiet deinit -f --all",
    "git submodule absorbgitdirs",
    "git worktree prune",
    "git gc -q",
    "cd sub",
    "cd ..",
    "cd trees/feature",
    "cd libs",
  ),
);
const anySteps = fc
  .tuple(
    among(...KINDS),
    fc.array(step, { minLength: 1, maxLength: 8, size: "max" }),
    fc.constantFrom(...WRAPS),
  )
  .map(([kind, steps, wrap]): BreakOut => ({ way: "random", kind, line: wrap(steps.join("\n")) }));

/** Half from the six ways, half at random. */
export function breakOutLines(count: number, seed: number): readonly BreakOut[] {
  const half = Math.ceil(count / 2);
  const attacks = fc.sample(anyAttack, { numRuns: half, seed });
  const others = fc.sample(anySteps, { numRuns: count - half, seed });
  return attacks.flatMap((attack, index) => [attack, ...others.slice(index, index + 1)]);
}

/** One for each way, in its plainest form. */
export const PLAIN_ATTACKS: readonly BreakOut[] = [
  { way: "path", kind: "husky", line: PLANTS[0]?.(".venv/bin/git") ?? "" },
  {
    way: "bare",
    kind: "none",
    line: `mkdir objects refs\n${HEADS[0]}\n${workTree("config")}\ngit config -f config core.fsmonitor '${RUN_LATER}; false'`,
  },
  {
    way: "hooks",
    kind: "husky",
    line: `mv .husky old; mkdir -p .husky/_\n${PLANTS[0]?.(".husky/_/pre-commit")}`,
  },
  {
    way: "includes",
    kind: "husky",
    line: `git config -f common.gitconfig core.fsmonitor '${RUN_LATER}; false'`,
  },
  { way: "todo", kind: "rebasing", line: `echo 'exec ${RUN_LATER}' >${TODO}` },
  {
    way: "nested",
    kind: "husky",
    line: `rm sub/.git; cp -r .git/modules/sub sub/.git; git config -f sub/.git/config --unset core.worktree; git config -f sub/.git/config core.fsmonitor '${RUN_LATER}; false'`,
  },
];
