/** Compiles the condition of a rule. */
import type { RuleConfig } from "../config/index.ts";
import { isDeepEqual, type Json, loadModule } from "../util/index.ts";
import type { ArgumentValue } from "./argument-values.ts";
import { globToPattern, type TextTest } from "./glob.ts";
import { foldPath, isPathWithin, normalizePath } from "./path-forms.ts";

/** Whether a value meets a condition: for certain, or perhaps. */
export interface CompiledMatcher {
  /** For a rule that lets calls run. */
  readonly allows: (value: ArgumentValue) => boolean;
  /** For every other rule. */
  readonly catches: (value: ArgumentValue) => boolean;
}

/** Of one way to understand a value. `isCatching`: what may be the same counts as the same. */
type FormTest = (form: Json, kind: ArgumentValue["kind"], isCatching: boolean) => boolean;

/** Throws the reason why a pattern cannot be used. */
export async function compileMatcher(rule: RuleConfig, root: string): Promise<CompiledMatcher> {
  const test = await compileTest(rule, root);
  return {
    allows: ({ exact, kind }) => exact?.every((form) => test(form, kind, false)) ?? false,
    catches: ({ possible, kind }) => possible.some((form) => test(form, kind, true)),
  };
}

async function compileTest(rule: RuleConfig, root: string): Promise<FormTest> {
  const { prefix, minimum, maximum } = rule;
  const { exclusive_minimum: above, exclusive_maximum: below } = rule;
  if (rule.const !== undefined) return equals([rule.const], root);
  if (rule.enum !== undefined) return equals(rule.enum, root);
  if (prefix !== undefined) return startsWith(prefix, root);
  if (rule.pattern !== undefined) return ofText(await compilePattern(rule.pattern));
  if (rule.glob !== undefined) return matchesGlob(rule.glob);
  if (minimum !== undefined) return ofNumber((value) => value >= minimum);
  if (maximum !== undefined) return ofNumber((value) => value <= maximum);
  if (above !== undefined) return ofNumber((value) => value > above);
  if (below !== undefined) return ofNumber((value) => value < below);
  return () => true;
}

function equals(wanted: readonly Json[], root: string): FormTest {
  return (form, kind, isCatching) =>
    wanted.some((value) => {
      if (kind !== "path" || typeof value !== "string") return isDeepEqual(value, form);
      const file = normalizePath(root, value);
      return file === form || (isCatching && foldPath(file) === form);
    });
}

function startsWith(prefix: string, root: string): FormTest {
  return (form, kind, isCatching) => {
    if (typeof form !== "string") return false;
    if (kind === "path") {
      const folder = normalizePath(root, prefix);
      return isPathWithin(folder, form) || (isCatching && isPathWithin(foldPath(folder), form));
    }
    if (kind === "url") return isUrlWithin(prefix, form);
    return form.startsWith(prefix);
  };
}

/** The same server, and a path below: `https://a.example` is no prefix of `https://a.example.org`. */
function isUrlWithin(prefix: string, form: string): boolean {
  if (!URL.canParse(prefix) || !URL.canParse(form)) return false;
  const [wanted, url] = [new URL(prefix), new URL(form)];
  const folder = wanted.pathname.replace(/\/$/, "");
  const isBelow = url.pathname === folder || url.pathname.startsWith(`${folder}/`);
  return wanted.origin === url.origin && isBelow && url.username === "" && url.password === "";
}

async function matchesGlob(glob: string): Promise<FormTest> {
  const [plain, ofPath, ofHost] = await Promise.all(
    ([undefined, "/", "."] as const).map((separator) => compile(globToPattern(glob, separator))),
  );
  return (form, kind) => {
    const test = kind === "path" || kind === "url" ? ofPath : kind === "host" ? ofHost : plain;
    return typeof form === "string" && test?.(form) === true;
  };
}

/** Linear in the length of the text, whatever the pattern. Throws the reason why it cannot be used. */
export async function compilePattern(pattern: string): Promise<TextTest> {
  return compile(pattern, true);
}

async function compile(pattern: string, isOfUser = false): Promise<TextTest> {
  const { RE2JS } = await loadModule(() => import("re2js"));
  const compiled = RE2JS.compile(isOfUser ? RE2JS.translateRegExp(pattern) : pattern);
  return (text) => compiled.matcher(text).find();
}

function ofText(test: TextTest): FormTest {
  return (form) => typeof form === "string" && test(form);
}

function ofNumber(test: (value: number) => boolean): FormTest {
  return (form) => typeof form === "number" && test(form);
}
