/** Which tests counter which threat. */
import { globSync, readFileSync } from "node:fs";

export interface Citation {
  readonly file: string;
  readonly title: string;
}

const TITLE = /(?:\btest(?:\.\w+)*\(|\)\()\s*(["`'])(?<title>.+?)\1,/g;
const CALL = /\bcounters\((?<ids>[^)]*)\)/g;

/** From the string literals in all `counters(…)` calls of the test files. */
export function findCitations(root: string): ReadonlyMap<string, readonly Citation[]> {
  const citations = new Map<string, Citation[]>();
  const files = globSync(["src/**/*.test.ts", "test/**/*.test.ts"], { cwd: root });
  for (const file of files.toSorted()) {
    const text = readFileSync(`${root}/${file}`, "utf8");
    const titles = [...text.matchAll(TITLE)];
    for (const call of text.matchAll(CALL)) {
      const title = titles.findLast(({ index }) => index < call.index)?.groups?.["title"] ?? "";
      const ids = call.groups?.["ids"]?.match(/[^\s",]+/g) ?? [];
      for (const id of ids) add(citations, id, { file, title });
    }
  }
  return citations;
}

function add(citations: Map<string, Citation[]>, id: string, citation: Citation): void {
  const known = citations.get(id);
  if (known === undefined) citations.set(id, [citation]);
  else known.push(citation);
}
