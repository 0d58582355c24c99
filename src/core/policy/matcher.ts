/** Compiles the condition of a rule. */
import path from "node:path";
import type { Matcher, RuleConfig } from "../../settings/config/index.ts";
import { isDeepEqual, isPathWithin, type Json, loadModule } from "../../util/index.ts";
import type { ArgumentValue } from "./argument-values.ts";
import { globToPattern, type TextTest } from "./glob.ts";
import { findPathForms, rootsOf } from "./path-forms.ts";
import { findTextHazards, type TextHazard } from "./text-hazards.ts";

/** Whether a value meets a condition, for certain or possibly. */
export interface CompiledMatcher {
  /** For a rule that lets calls run. */
  readonly allows: (value: ArgumentValue) => boolean;
  /** For every other rule. */
  readonly catches: (value: ArgumentValue) => boolean;
  /** Why a value that meets the condition is not allowed. */
  readonly hazardsOf: (value: ArgumentValue) => readonly TextHazard[];
}

/** Tests one way to read a value. `isCatching`: near matches count. */
type FormTest = (form: Json, kind: ArgumentValue["kind"], isCatching: boolean) => boolean;

/** The argument that a rule is about. */
interface RuleArgument {
  /** The workspace folder. */
  readonly root: string;
  readonly isPath: boolean;
}

/** Throws the reason why a pattern cannot be used. */
export async function compileMatcher(
  rule: RuleConfig,
  argument: RuleArgument,
): Promise<CompiledMatcher> {
  const test = await compileTest(rule, argument);
  const isMet = ({ exact, kind }: ArgumentValue) =>
    exact?.every((form) => test(form, kind, false)) ?? false;
  const hazardsIn = ({ exact = [], kind }: ArgumentValue) => {
    const [text] = exact;
    return kind === "text" && typeof text === "string" ? hazardsFor(rule, text) : [];
  };
  return {
    allows: (value) => isMet(value) && hazardsIn(value).length === 0,
    catches: ({ possible, kind }) => possible.some((form) => test(form, kind, true)),
    hazardsOf: (value) => (isMet(value) ? hazardsIn(value) : []),
  };
}

/**
 * Why a rule that lets calls run does not cover a text of unknown meaning. Only if it names the start of a path or a URL.
 * A regular expression can exclude such texts itself.
 */
export function hazardsFor({ prefix, glob }: Matcher, text: string): readonly TextHazard[] {
  return (prefix ?? glob ?? "").includes("/") ? findTextHazards(text) : [];
}

async function compileTest(rule: RuleConfig, { root, isPath }: RuleArgument): Promise<FormTest> {
  const { prefix, minimum, maximum } = rule;
  const { exclusive_minimum: above, exclusive_maximum: below } = rule;
  const values = rule.const === undefined ? rule.enum : [rule.const];
  if (values !== undefined) return isPath ? isOneOf(values, root) : equals(values);
  if (prefix !== undefined) return isPath ? isInFolder(prefix, root) : startsWith(prefix);
  if (rule.pattern !== undefined) return ofText(rule.pattern);
  if (rule.glob !== undefined) return matchesGlob(rule.glob, root);
  if (minimum !== undefined) return ofNumber((value) => value >= minimum);
  if (maximum !== undefined) return ofNumber((value) => value <= maximum);
  if (above !== undefined) return ofNumber((value) => value > above);
  if (below !== undefined) return ofNumber((value) => value < below);
  return () => true;
}

function equals(wanted: readonly Json[]): FormTest {
  // `===` so that 0 equals -0: rule authors do not distinguish them.
  return (form) => wanted.some((value) => value === form || isDeepEqual(value, form));
}

async function isOneOf(wanted: readonly Json[], root: string): Promise<FormTest> {
  const texts = wanted.filter((value) => typeof value === "string");
  const files = await Promise.all(texts.map((text) => findPathForms(root, text)));
  const isEqual = equals(wanted);
  return (form, kind, isCatching) => {
    if (typeof form !== "string") return isEqual(form, kind, isCatching);
    return files.some(({ written, possible }) =>
      isCatching ? possible.includes(form) : written === form,
    );
  };
}

function startsWith(prefix: string): FormTest {
  return (form, kind) => {
    if (typeof form !== "string") return false;
    return kind === "url" ? isUrlWithin(prefix, form) : form.startsWith(prefix);
  };
}

/** A rule that stops a call also covers the target of a linked folder. */
async function isInFolder(prefix: string, root: string): Promise<FormTest> {
  const { written: folder, possible } = await findPathForms(root, prefix);
  const roots = await rootsOf(root);
  return (form, _, isCatching) => {
    if (typeof form !== "string") return false;
    if (isCatching) return possible.some((each) => isPathWithin(each, form));
    if (isPathWithin(folder, form)) return true;
    // A folder that contains the workspace.
    const places = path.isAbsolute(form) ? [] : roots.map((each) => path.join(each, form));
    return places.length > 0 && places.every((file) => isPathWithin(folder, file));
  };
}

/** The same server and a path below: `https://a.example` is not a prefix of `https://a.example.org`. */
function isUrlWithin(prefix: string, form: string): boolean {
  if (!URL.canParse(prefix) || !URL.canParse(form)) return false;
  const [wanted, url] = [new URL(prefix), new URL(form)];
  const folder = wanted.pathname.replace(/\/$/, "");
  const isBelow = url.pathname === folder || url.pathname.startsWith(`${folder}/`);
  return wanted.origin === url.origin && isBelow && url.username === "" && url.password === "";
}

async function matchesGlob(glob: string, root: string): Promise<FormTest> {
  const [plain, ofHost] = await Promise.all(
    ([undefined, "."] as const).map((separator) => compile(globToPattern(glob, separator))),
  );
  const file = globToPattern(shortenGlob(glob, await rootsOf(root)), "/");
  const [ofPath, ofSimilar] = await Promise.all([compile(file), compile(foldedPattern(file))]);
  return (form, kind, isCatching) => {
    if (typeof form !== "string") return false;
    if (kind === "path") {
      return isCatching ? ofPath(form) || ofSimilar(form) : reaches(glob, form) && ofPath(form);
    }
    const test = kind === "url" ? ofPath : kind === "host" ? ofHost : plain;
    return test?.(form) === true;
  };
}

/** A rule that lets calls run applies within the workspace, unless it begins at the root of the system. */
function reaches(start: string, form: string): boolean {
  return start.startsWith("/") || !path.isAbsolute(form);
}

/** Relative to the workspace, like the file names it is compared with. */
function shortenGlob(glob: string, roots: readonly string[]): string {
  const short = glob.replaceAll(/(?<!:)\/{2,}/g, "/").replace(/^(?:\.\/)+/, "");
  const root = roots.find((each) => short.startsWith(`${each}/`));
  return (root === undefined ? short : short.slice(root.length + 1)).replace(/(?<=.)\/$/, "");
}

/** Matches every name that some file system would treat as the same file. */
function foldedPattern(pattern: string): string {
  return `(?i)${pattern.normalize("NFC")}`;
}

/** Linear in the length of the text, for any pattern. Throws the reason why it cannot be used. */
export async function compilePattern(pattern: string): Promise<TextTest> {
  return compile(await translate(pattern));
}

async function compile(pattern: string): Promise<TextTest> {
  const { RE2JS } = await loadModule(() => import("re2js"));
  const compiled = RE2JS.compile(pattern);
  return (text) => compiled.matcher(text).find();
}

/** ECMAScript's `\s` matches more than RE2's, and RE2 reads a named reference as plain letters. */
async function translate(pattern: string): Promise<string> {
  const { RE2JS } = await loadModule(() => import("re2js"));
  let isInSet = false;
  const spaced = pattern.replaceAll(/\\.|[[\]]/gsu, (token) => {
    if (token === "[") isInSet = true;
    else if (token === "]") isInSet = false;
    else if (token === "\\k") throw new Error("invalid escape sequence: `\\k`");
    else if (token === "\\s") return isInSet ? SPACES : `[${SPACES}]`;
    else if (token === "\\S" && !isInSet) return `[^${SPACES}]`;
    return token;
  });
  return RE2JS.translateRegExp(spaced);
}

const SPACES = String.raw`\t\n\x0B\f\r \xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`;

async function ofText(pattern: string): Promise<FormTest> {
  const translated = await translate(pattern);
  const [test, ofSimilar] = await Promise.all([
    compile(translated),
    compile(foldedPattern(translated)),
  ]);
  const start = pattern.replace(/^\^\\?/, "");
  return (form, kind, isCatching) => {
    if (typeof form !== "string") return false;
    if (kind !== "path") return test(form);
    return isCatching ? test(form) || ofSimilar(form) : reaches(start, form) && test(form);
  };
}

function ofNumber(test: (value: number) => boolean): FormTest {
  return (form) => typeof form === "number" && test(form);
}
