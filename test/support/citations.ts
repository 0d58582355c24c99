/** Which tests cite which requirement or threat, read from the test files. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseSync, Visitor } from "rolldown/utils";
import { ROOT } from "./documents.ts";

export interface Citation {
  readonly file: string;
  /** The title of the test, without the value that a `test.each` adds at its end. */
  readonly title: string;
  /** The title, after the titles of `describe` that it needs as its subject. */
  readonly sentence: string;
}

/** A title that starts with one of these has its own subject. Any other continues the title of its `describe`. */
const OWN_SUBJECT = /^(?:[A-Z]|(?:an?|any|both|each|every|jp|no|nothing|one|the|two)\b)/;

/** The value that a `test.each` adds to a sentence: after a colon, or in parentheses. */
const VALUE = /(?: \([^()]*[%$][^()]*\)|: [^:(]*[%$].*)$/;

const TITLED = /^(?:describe|test)(?:\.\w+)*(?:[(<`]|$)/;

interface Titled {
  readonly title: string;
  readonly isTest: boolean;
  readonly start: number;
  readonly end: number;
}

/** From the string literals in all calls of `verifies` or `counters`, by id. */
export function findCitations(
  by: "counters" | "verifies",
): ReadonlyMap<string, readonly Citation[]> {
  const citations = new Map<string, Citation[]>();
  const files = globSync(["src/**/*.test.ts", "test/**/*.test.ts"], { cwd: ROOT });
  for (const file of files.toSorted()) {
    const text = readFileSync(path.join(ROOT, file), "utf8");
    if (!text.includes(`${by}(`)) continue;
    for (const [id, citation] of citationsIn(file, text, by)) {
      const known = citations.get(id) ?? [];
      const isKnown = known.some(({ sentence }) => sentence === citation.sentence);
      citations.set(id, isKnown ? known : [...known, citation]);
    }
  }
  return citations;
}

function citationsIn(
  file: string,
  text: string,
  by: string,
): readonly (readonly [string, Citation])[] {
  const titled: Titled[] = [];
  const calls: { readonly id: string; readonly at: number }[] = [];
  new Visitor({
    CallExpression: ({ callee, arguments: [first, ...rest], start, end }) => {
      const called = text.slice(callee.start, callee.end);
      if (called === by) {
        const ids = text.slice(start, end).matchAll(/"(?<id>[^"]+)"/g);
        calls.push(...[...ids].map(({ groups = {} }) => ({ id: groups["id"] ?? "", at: start })));
      }
      if (first === undefined || rest.length === 0 || !TITLED.test(called)) return;
      const [, title] = /^["'`](.*)["'`]$/.exec(text.slice(first.start, first.end)) ?? [];
      if (title === undefined) return;
      titled.push({
        title: title.replace(VALUE, ""),
        isTest: called.startsWith("test"),
        start,
        end,
      });
    },
  }).visit(parseSync(file, text).program);
  return calls.map(({ id, at }) => {
    const around = titled
      .filter(({ start, end }) => start < at && at < end)
      .toSorted((one, other) => one.start - other.start);
    const title = around.findLast(({ isTest }) => isTest)?.title ?? "";
    const subjects = around.filter(({ isTest }) => !isTest).map((group) => group.title);
    const sentence = subjects.reduceRight(
      (words, subject) => (OWN_SUBJECT.test(words) ? words : `${subject} ${words}`),
      title,
    );
    return [id, { file, title, sentence }] as const;
  });
}

/** Markdown for a page in docs/project: the files, and how many of their tests it is, if more than one. */
export function citeTests(citations: readonly Citation[]): string {
  const files = Map.groupBy(citations, ({ file }) => file);
  return [...files]
    .map(([file, { length }]) => {
      const link = `[${path.basename(file, ".test.ts")}](../../${file})`;
      return length === 1 ? link : `${link} (${length})`;
    })
    .join(", ");
}

/** A cell of a table. */
export function cell(text: string): string {
  return text.replaceAll("|", String.raw`\|`);
}

const FRAGMENT_START =
  /^(?:about|after|and|as|at|because|before|beyond|but|by|during|for|from|if|in|into|it|its|of|on|or|over|since|so|than|that|then|through|to|under|unless|until|when|where|which|while|who|whose|with|within|without)\b/i;

/** Common verbs, and any word that ends in s, which may be one. */
const VERB =
  /\b(?:are|ask|be|can|cannot|continue|count|do|end|find|get|give|go|have|is|keep|look|make|may|must|need|never|reach|read|return|run|say|see|show|stay|take|wait|work|\w{2,}s)\b/;

/** What keeps a cited title from being a whole sentence, if anything does. */
export function fragmentIn({ file, title, sentence }: Citation): string | undefined {
  const problem = findProblem(title, sentence);
  return problem && `${file}: "${sentence}" ${problem}`;
}

function findProblem(title: string, sentence: string): string | undefined {
  if (title === "") return "is outside a test";
  if (/[%$]\w/.test(sentence)) return "has a placeholder before its end";
  if (title.split(" ").length < 4) return "has fewer than four words";
  if (FRAGMENT_START.test(title) || FRAGMENT_START.test(sentence)) return "starts as a fragment";
  return VERB.test(title) ? undefined : "has no verb";
}
