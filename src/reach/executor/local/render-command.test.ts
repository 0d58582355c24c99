import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findSystemProgram, type Program } from "../../process/index.ts";
import { type Json } from "../../../util/index.ts";
import { renderCommand } from "./render-command.ts";
import { TemplateError } from "./template.ts";

const HOSTILE = [
  "; touch pwned",
  "$(touch pwned)",
  "`touch pwned`",
  "'; touch pwned; '",
  '"; touch pwned; "',
  "\\'; touch pwned; \\'",
  "a  b\t*",
  "x\ny",
  "\\",
  "-n",
  "#",
  "~",
  "a[$(touch pwned)]",
  "${HOME}",
  "EOF",
  "\nEOF\ntouch pwned\n",
  "",
];

const SHELLS = ["sh", "bash"].filter((shell) => spawnSync(shell, ["-c", ":"]).status === 0);

function renderShell(program: string, values: Record<string, Json>, args: string[] = []) {
  return renderCommand({ program, args, shell: true }, () => ({
    document: { ...values, all: values },
    secretAnswers: [],
  }));
}

function run({ args }: Pick<Program, "program" | "args">, shell = "sh"): string {
  const { stdout, stderr } = spawnSync(shell, args, { encoding: "utf8", cwd: tmpdir() });
  return stdout + stderr;
}

test("each part is rendered by itself, so a value is never two arguments", async () => {
  const command = { program: "{{p}}", args: ["{{a}}", "--b={{b}}", "plain"], shell: false };
  const document = { p: "my program", a: "x y; z", b: [1] };
  expect(await renderCommand(command, () => ({ document, secretAnswers: [] }))).toEqual({
    program: "my program",
    args: ["x y; z", "--b=[1]", "plain"],
  });
});

test("a program without templates runs as written, and its values are not even made", async () => {
  const command = { program: "make", args: ["-k", "{ all }"], shell: false };
  let isAskedFor = false;
  const find = () => {
    isAskedFor = true;
    return { document: {}, secretAnswers: [] };
  };
  expect(await renderCommand(command, find)).toEqual({ program: "make", args: ["-k", "{ all }"] });
  expect(isAskedFor).toBe(false);
});

test("the text of a shell program without values is passed on unchanged", async () => {
  const program = "echo \"a\" 'b' | tr a-z A-Z && echo $((1 + 1)) # done\n";
  expect(await renderShell(program, {})).toEqual({
    program: findSystemProgram("sh"),
    args: ["-c", program],
  });
});

test("the arguments of a shell program are quoted, whatever is in them", async () => {
  const args = HOSTILE.map((_, index) => `{{all.v${index}}}`);
  const values = Object.fromEntries(HOSTILE.map((value, index) => [`v${index}`, value]));
  const rendered = await renderShell(String.raw`printf '<%s>'`, values, args);
  expect(run(rendered)).toBe(HOSTILE.map((value) => `<${value}>`).join(""));
});

describe.each(SHELLS)("in a program that %s runs", (shell) => {
  test.each([
    ["alone", "printf '<%s>' {{v}}", (v: string) => `<${v}>`],
    ["in a word", "printf '<%s>' a{{v}}b", (v: string) => `<a${v}b>`],
    ["in double quotes", `printf '<%s>' "a {{v}} b"`, (v: string) => `<a ${v} b>`],
    ["in single quotes", "printf '<%s>' 'a {{v}} b'", (v: string) => `<a ${v} b>`],
    ["between quotes", `printf '<%s>' "'"{{v}}'"'`, (v: string) => `<'${v}">`],
    ["behind a backslash", String.raw`printf '<%s>' \{{v}}`, (v: string) => `<${v}>`],
    ["behind two backslashes", String.raw`printf '<%s>' \\{{v}}`, (v: string) => `<\\${v}>`],
    ["in a substitution", `printf '<%s>' "$(printf '%s.' {{v}})"`, (v: string) => `<${v}.>`],
    ["in a quoted one", `printf '<%s>' "$(printf '%s.' "{{v}}")"`, (v: string) => `<${v}.>`],
    ["in backquotes", "printf '<%s>' \"`printf '%s.' {{v}}`\"", (v: string) => `<${v}.>`],
    ["in a subshell", "(printf '<%s>' {{v}})", (v: string) => `<${v}>`],
    ["in an assignment", `a={{v}}; printf '<%s>' "$a"`, (v: string) => `<${v}>`],
    ["in a function", `f() { printf '<%s>' {{v}} "$1"; }; f a`, (v: string) => `<${v}><a>`],
    ["behind a comment", "# it's\nprintf '<%s>' {{v}}", (v: string) => `<${v}>`],
    ["in a comment", "printf a # {{v}}\nprintf b", () => "ab"],
    ["in a here-document", "cat <<EOF\n<{{v}}>\nEOF\n", (v: string) => `<${v}>\n`],
    ["in an indented one", "cat <<-EOF\n\t<{{v}}>\n\tEOF\n", (v: string) => `<${v}>\n`],
    ["behind one", `cat <<'EOF'\nit's\nEOF\nprintf '<%s>' {{v}}`, (v: string) => `it's\n<${v}>`],
    ["behind a shift", `: $((1 << 2)); printf '<%s>' {{v}}`, (v: string) => `<${v}>`],
    [
      "in a captured block",
      `{% set a %}[{{v}}]{% endset %}printf '<%s>' {{a}}`,
      (v: string) => `<[${v}]>`,
    ],
  ])("a value %s is text", async (_, program, expected) => {
    // One after the other in one program: each has to be left as it was found.
    const programs = HOSTILE.map((__, index) => program.replaceAll("{{v}}", `{{all.v${index}}}`));
    const values = Object.fromEntries(HOSTILE.map((value, index) => [`v${index}`, value]));
    const rendered = await renderShell(programs.join("\n"), values);
    expect(run(rendered, shell)).toBe(HOSTILE.map((value) => expected(value)).join(""));
  });

  test("any value arrives unchanged", async () => {
    const character = fc.constantFrom(...Array.from("ab '\"\\$`;&|<>(){}[]*?#~!=\n\té{%"));
    const value = fc.string({ unit: character, maxLength: 12 });
    const pairs = fc.array(fc.record({ a: value, b: value }), { minLength: 10, maxLength: 10 });
    const program = `printf '<%s>' {{a}} "{{b}} {{a}}" '{{b}}'x{{a}} "$(printf %s. {{b}})"`;
    // Several in one program: each starts a shell.
    await fc.assert(
      fc.asyncProperty(pairs, async (all) => {
        const programs = all.map((__, index) =>
          program.replace(/\{\{(\w)\}\}/g, `{{p${index}.$1}}`),
        );
        const values = Object.fromEntries(all.map((pair, index) => [`p${index}`, pair]));
        expect(run(await renderShell(programs.join("\n"), values), shell)).toBe(
          all.map(({ a, b }) => `<${a}><${b} ${a}><${b}x${a}><${b}.>`).join(""),
        );
      }),
      { numRuns: 5 },
    );
  });
});

test("text that a condition chooses is code, as its author wrote it", async () => {
  const program = "printf '<%s>' {% if v %}-a -b{% endif %}{% for w in l %} {{w}}{% endfor %}";
  expect(run(await renderShell(program, { v: true, l: ["c d", "e"] }))).toBe("<-a><-b><c d><e>");
});

test("a value that contains the name of our variable changes nothing", async () => {
  const values = { a: "${jp_value_1}", b: "${jp_value_2}" };
  expect(run(await renderShell("printf '<%s>' {{a}} {{b}}", values))).toBe(
    "<${jp_value_1}><${jp_value_2}>",
  );
});

test("arithmetic accepts only whole numbers", async () => {
  expect(run(await renderShell("echo $(( ({{n}} + 1) * 2 ))", { n: -3 }))).toBe("-4\n");
  for (const n of ["a[$(touch pwned)]", "", "1.5", "x"]) {
    await expect(renderShell("echo $(( {{n}} ))", { n })).rejects.toThrow(TemplateError);
    await expect(renderShell("(( {{n}} > 1 ))", { n })).rejects.toThrow(TemplateError);
  }
});

test("a value in a here-document with a quoted delimiter is refused", async () => {
  await expect(renderShell("cat <<'EOF'\n{{v}}\nEOF", { v: "a" })).rejects.toThrow(
    "the program has a value in a here-document whose delimiter is quoted.",
  );
});
