/** Which test files cite which requirement. */
import { globSync, readFileSync } from "node:fs";

/** From the string literals in all `verifies(…)` calls of the test files. */
export function findCitations(root: string): ReadonlyMap<string, readonly string[]> {
  const citations = new Map<string, string[]>();
  const files = globSync(["src/**/*.test.ts", "test/**/*.test.ts"], { cwd: root });
  for (const file of files.toSorted()) {
    const text = readFileSync(`${root}/${file}`, "utf8");
    const calls = text.match(/verifies\([^)]*\)/g) ?? [];
    const ids = calls.flatMap((call) => [...call.matchAll(/"([^"]+)"/g)].map(([, id]) => id ?? ""));
    for (const id of new Set(ids)) {
      const known = citations.get(id);
      if (known === undefined) citations.set(id, [file]);
      else known.push(file);
    }
  }
  return citations;
}
