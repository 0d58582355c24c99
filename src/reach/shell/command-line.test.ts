import { describe, expect, test } from "vitest";
import { type CommandHazard, isPrefixOf, optionsFrom, parseCommandLine } from "./command-line.ts";
import { isFoundIn, partsForRefusal } from "./refusal-parts.ts";

describe("a plain command line", () => {
  test.each<[string, readonly (readonly string[])[]]>([
    ["git status", [["git", "status"]]],
    ["  git\tstatus ; ", [["git", "status"]]],
    [
      "git status; npm test && ls || pwd | wc",
      [["git", "status"], ["npm", "test"], ["ls"], ["pwd"], ["wc"]],
    ],
    [
      "git status\nnpm test\n",
      [
        ["git", "status"],
        ["npm", "test"],
      ],
    ],
    ["npm test -- \\\n  --watch", [["npm", "test", "--", "--watch"]]],
    ["ls # rm -rf /\npwd", [["ls"], ["pwd"]]],
    [`echo 'a b' "c d" e\\ f g"h"'i'`, [["echo", "a b", "c d", "e f", "ghi"]]],
    [`echo "a\\d\\"\\$" '\\n'`, [["echo", `a\\d"$`, "\\n"]]],
    ["git diff HEAD~1 HEAD@{1} a^b x=y", [["git", "diff", "HEAD~1", "HEAD@{1}", "a^b", "x=y"]]],
    ["git commit -m 'one\ntwo' é", [["git", "commit", "-m", "one\ntwo", "é"]]],
    ["ls a 2>/dev/null >/dev/null 2>&1 </dev/null", [["ls", "a"]]],
    ["echo a2>/dev/null", [["echo", "a2"]]],
    [
      "[ -f x ] && echo !! a!b",
      [
        ["[", "-f", "x", "]"],
        ["echo", "!!", "a!b"],
      ],
    ],
  ])("has its words and no hazards: %j", (line, words) => {
    const { parts, hazards } = parseCommandLine(line);
    expect(parts).toEqual(words.map((of) => ({ words: of, hazards: [] })));
    expect(hazards).toEqual([]);
  });
});

describe("a hazard of a command line", () => {
  test.each<[CommandHazard, readonly string[]]>([
    ["substitution", ["ls $(id)", 'ls "$(id)"', "ls `id`", "ls <(id)", "ls >(id)", 'ls "`id`"']],
    [
      "expansion",
      [
        "ls $x",
        'ls "${x}"',
        "ls $((1))",
        "ls ~",
        "ls a=~",
        "ls {a,b}",
        "ls x{1..2}",
        "ls $'a'",
        '$"ls"',
        "ls $",
        "((x))",
      ],
    ],
    ["glob", ["ls *", "ls a?", "ls [ab]", "/bin/l?"]],
    [
      "redirection",
      [
        "ls >x",
        "ls >>x",
        "ls <x",
        "ls <>x",
        "ls >|/dev/null",
        "ls &>/dev/null",
        "ls >&x",
        "ls 10>/dev/null",
        "ls >/dev/null/../x",
        "ls >&-",
        "a |& b",
        "(ls) >x",
        "ls {x}>/dev/null",
      ],
    ],
    ["here_document", ["cat <<E\nx\nE", "cat <<'E'\nx\nE", "cat <<<x", "cat <<-E\n\tx\n\tE"]],
    ["assignment", ["X=1 ls", "PATH=. git status", "X=1", "X+=1 ls", "a[0]=1 ls", "'X'=1 ls"]],
    ["function", ["ls() { id; }; ls", "function ls { id; }", "ls() (id)"]],
    ["background", ["ls &", "ls & id", "coproc ls"]],
    [
      "control_flow",
      [
        "(ls)",
        "{ ls; }",
        "if ls; then id; fi",
        "for i in a; do ls; done",
        "while ls; do id; done",
        "case a in a) ls;; esac",
        "! ls",
        "time ls",
        "[[ a ]]",
        "until ls; do id; done",
        "select a in b; do ls; done",
      ],
    ],
    [
      "shell_state",
      [
        "cd x",
        ". x",
        "source x",
        "eval ls",
        "exec ls",
        "alias ls=id",
        "export X=1",
        "set -x",
        "trap id EXIT",
        "command ls",
        "hash -p x ls",
        "printf -v PATH x",
        "test -v 'a[$(id)]'",
        "'c'd x",
        "\\cd x",
      ],
    ],
    ["line_continuation", ["l\\\ns", 'ls "a\\\nb"']],
    [
      "control_character",
      [
        "ls\r",
        "ls \0",
        "ls \u001b[0m",
        "ls\u00a0x",
        "ls \u200b",
        "ls \u202e",
        "ls \u2028",
        "ls \ud800",
        "ls \ufe0f",
        "ls \u3164",
        "ls \x7f",
        "ls \u{e0041}",
      ],
    ],
    ["empty", ["", " ", "# ls", ";"]],
    ["too_long", [`ls ${"x".repeat(40_000)}`]],
    [
      "unknown_syntax",
      [
        "ls '",
        'ls "',
        "ls )",
        "ls ;; id",
        "ls &&",
        "| ls",
        "if",
        "ls (",
        "ls \\",
        "ls !(x)",
        "ls; fi",
      ],
    ],
  ])("%s is found, and keeps every rule from allowing the line", (hazard, lines) => {
    for (const line of lines) {
      const { parts, hazards } = parseCommandLine(line);
      const found = new Set([...hazards, ...parts.flatMap((part) => part.hazards)]);
      expect([line, found.has(hazard)]).toEqual([line, true]);
      const isAllowed =
        parts.length > 0 && parts.every((part) => isPrefixOf([part.words[0] ?? ""], part));
      expect([line, isAllowed]).toEqual([line, false]);
    }
  });

  test("of the whole line is one of each part", () => {
    const { parts, hazards } = parseCommandLine("git() { id; }; git status");
    expect(hazards).toEqual(["function", "control_flow"]);
    expect(parts.map((part) => part.hazards)).toEqual([hazards, hazards]);
  });

  test("of one part is not one of the others", () => {
    const { parts } = parseCommandLine("git status; ls $x");
    expect(parts.map((part) => part.hazards)).toEqual([[], ["expansion"]]);
  });
});

test("a prefix matches whole words, in their order, and at least one", () => {
  const part = { words: ["git", "status", "-s"], hazards: [] };
  const rules = [
    ["git"],
    ["git", "status"],
    ["git", "stat"],
    ["status"],
    ["git", "-s"],
    [],
    [...part.words, "x"],
  ];
  expect(rules.map((rule) => isPrefixOf(rule, part))).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

function isRefused(line: string): boolean {
  return partsForRefusal(line).some((part) => isFoundIn(["rm", "-rf"], part));
}

describe("a refusing rule", () => {
  test.each([
    "rm -rf x",
    "ls; rm -rf x",
    "r\\m '-r'f x",
    "r\\\nm -rf x",
    "$'rm' -rf x",
    "/bin/rm -rf x",
    "rm -v -rf x",
    "rm --interactive never -rf x",
    "X=1 rm -rf x",
    "rm -rf x >y &",
    "(rm -rf x)",
    "if ls; then rm -rf x; fi",
    "f() { rm -rf x; }",
    "case a in a) rm -rf x;; esac",
    "ls $(rm -rf x)",
    'ls "`rm -rf x`"',
    "ls `echo \\`rm -rf x\\``",
    'ls "${x:-$(rm -rf x)}"',
    "ls $((`rm -rf x`))",
    "x=$(rm -rf x)",
    "cat <(rm -rf x)",
    "cat <<E\n$(rm -rf x)\nE",
    "sh <<E\nrm -rf x\nE",
    "sh <<'E'\nrm -rf x\nE",
    "{rm,-rf,x}",
    "env X=1 rm -rf x",
    "env -S 'rm -rf x'",
    "sudo -u me /bin/rm -rf x",
    "timeout 5 nice -n 3 rm -rf x",
    "xargs -0 rm -rf",
    "exec rm -rf x",
    "command -p rm -rf x",
    "eval rm -rf x",
    "eval 'rm' '-rf' x",
    "sh -c 'rm -rf x'",
    "bash -ec 'ls; sudo sh -c \"rm -rf x\"'",
    "find . -exec rm -rf {} +",
    "find . -exec sh -c 'rm -rf $1' _ {} \\;",
    "trap 'rm -rf x' EXIT",
    "/usr/bin/env -i sh -c 'rm -rf x'",
    "rm -rf '",
  ])("finds its words: %j", (line) => {
    expect(isRefused(line)).toBe(true);
  });

  test.each(["rm x", "echo rm -rf x", "git rm -rf x", "ls 'rm -rf x'", "rm x -rf", "rmx -rf"])(
    "leaves other commands alone: %j",
    (line) => {
      expect(isRefused(line)).toBe(false);
    },
  );

  test("comes to an end on lines that name many shells in shells", () => {
    const nested = `${"sh -c 'sh sh sh sh' ".repeat(50)}\n`.repeat(20);
    const parts = partsForRefusal(`eval eval eval eval ${nested}`);
    expect(parts.some((part) => part.hazards.includes("too_long"))).toBe(true);
  });
});

test.each<[string, readonly string[]]>([
  ["git diff", []],
  ["git diff a - b", []],
  ["git diff -- a", []],
  ["git diff --stat a -M", ["--stat", "-M"]],
  ["git diff '--output=a b' -\\M", ["--output=a b", "-M"]],
  ["git diff --stat -- --stat -x", ["--stat", "-- --stat", "-- -x"]],
])("the options after the first words are told apart from other words: %s", (line, options) => {
  const [part] = parseCommandLine(line).parts;
  expect(part && optionsFrom(2, part)).toEqual(options);
});
