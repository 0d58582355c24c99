/** All requirements, and the one way in which a test says that it shows some of them. */
import type { Requirement } from "./requirement.ts";
import { rfd005 } from "./rfd-005.ts";
import { rfd023 } from "./rfd-023.ts";
import { rfd028 } from "./rfd-028.ts";
import { rfd058 } from "./rfd-058.ts";
import { rfd082 } from "./rfd-082.ts";
import { rfd083 } from "./rfd-083.ts";
import { rfdD29 } from "./rfd-d29.ts";

export const requirements: readonly Requirement[] = [
  ...rfd005,
  ...rfd023,
  ...rfd028,
  ...rfd058,
  ...rfd082,
  ...rfd083,
  ...rfdD29,
];

const ids = new Set(requirements.map(({ id }) => id));

/** Called inside a test with string literals; the manifest's own test looks for these calls. */
export function verifies(...cited: readonly string[]): void {
  for (const id of cited) {
    if (!ids.has(id)) throw new Error(`There is no requirement "${id}".`);
  }
}
