/** The repository's Markdown documents: their code blocks, links and inline code. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

export const ROOT = path.join(import.meta.dirname, "..", "..");

export interface Document {
  /** Relative to the root. */
  readonly name: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The text without code blocks. */
  readonly prose: string;
}

export interface Block {
  /** The document and line number. */
  readonly place: string;
  readonly language: string;
  readonly code: string;
}

const BLOCK = /^```(?<language>\S*)\n(?<code>[\s\S]*?)^```$/gm;

/** All documents but the generated conformance.md. */
export function readDocuments(): readonly Document[] {
  return globSync(["*.md", "docs/**/*.md"], { cwd: ROOT })
    .filter((name) => name !== path.join("docs", "project", "conformance.md"))
    .toSorted()
    .map(readDocument);
}

export function readDocument(name: string): Document {
  const text = readFileSync(path.join(ROOT, name), "utf8");
  const blocks = [...text.matchAll(BLOCK)].map(({ index, groups = {} }) => ({
    place: `${name}:${text.slice(0, index).split("\n").length}`,
    language: groups["language"] ?? "",
    code: groups["code"] ?? "",
  }));
  return { name, text, blocks, prose: text.replaceAll(BLOCK, "") };
}

export function blocksOf(
  documents: readonly Document[],
  ...languages: readonly string[]
): readonly Block[] {
  return documents
    .flatMap(({ blocks }) => blocks)
    .filter(({ language }) => languages.includes(language));
}

/** Relative to the root, each with the heading it leads to, if it names one. */
export function linksOf({ name, prose }: Document): readonly (readonly [string, string])[] {
  return [...prose.matchAll(/\]\((?<target>[^)\s]+)\)/g)]
    .map(({ groups = {} }) => groups["target"] ?? "")
    .filter((target) => !/^https?:/.test(target))
    .map((target) => {
      const [file = "", heading = ""] = target.split("#");
      return [
        path.join(file === "" ? name : path.join(path.dirname(name), file)),
        heading,
      ] as const;
    });
}

/** The inline code. */
export function codeWordsOf({ prose }: Document): readonly string[] {
  return [...prose.matchAll(/`(?<words>[^`\n]+)`/g)].map(
    ({ groups = {} }) => groups["words"] ?? "",
  );
}

/** The anchors of the headings, as GitHub generates them. */
export function headingsOf({ prose }: Document): readonly string[] {
  return [...prose.matchAll(/^#+ (?<title>.+)$/gm)].map(({ groups = {} }) =>
    (groups["title"] ?? "")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
