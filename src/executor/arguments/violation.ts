/**
 * What the validator found wrong, reduced to what a reader can act on: it reports every failure
 * together with all that fail because of it, and each alternative that was not meant.
 */

/** Locations are pointers from `#`. That of a keyword goes through `$ref` where a reference does. */
export interface Violation {
  readonly keyword: string;
  readonly keywordLocation: string;
  readonly instanceLocation: string;
  readonly error: string;
}

/** What is wrong inside of these says less than that they are not met. */
const OPAQUE = new Set(["contains", "propertyNames"]);

export function deepestViolations(reported: readonly Violation[]): readonly Violation[] {
  let violations = reported.map(withOwnLocation).filter(({ keyword }) => keyword !== "if");
  for (const outer of violations) {
    if (!violations.includes(outer)) continue;
    if (outer.keyword === "anyOf" || outer.keyword === "oneOf") {
      violations = withoutUnmeant(violations, outer);
    } else if (OPAQUE.has(outer.keyword)) {
      violations = violations.filter((inner) => !isInside(inner, outer));
    }
  }
  return violations.filter((outer) => !violations.some((inner) => isInside(inner, outer)));
}

/** The validator gives a schema that is `false` the location of the value. */
function withOwnLocation(
  violation: Violation,
  index: number,
  all: readonly Violation[],
): Violation {
  const parent = all[index - 1];
  if (violation.keyword !== "false" || parent === undefined) return violation;
  return { ...violation, keywordLocation: `${parent.keywordLocation}/false` };
}

/** Of alternatives only the one that was probably meant matters: its type is right, and most else. */
function withoutUnmeant(violations: readonly Violation[], outer: Violation): Violation[] {
  const inside = violations.filter((inner) => isInside(inner, outer));
  const branches = Map.groupBy(inside, ({ keywordLocation }) => branchOf(keywordLocation, outer));
  const [meant = []] = [...branches.values()]
    .filter((branch) => !isAmbiguous(outer) && !branch.some((inner) => isOtherKind(inner, outer)))
    .toSorted((left, right) => left.length - right.length);
  return violations.filter((each) => !inside.includes(each) || meant.includes(each));
}

/** More than one alternative fits, where only one may. */
function isAmbiguous({ error }: Violation): boolean {
  return /\([1-9]\d* matches\)/.test(error);
}

function isOtherKind(inner: Violation, outer: Violation): boolean {
  const isSamePlace = inner.instanceLocation === outer.instanceLocation;
  return isSamePlace && ["type", "enum", "const"].includes(inner.keyword);
}

function branchOf(keywordLocation: string, outer: Violation): string {
  return keywordLocation.slice(outer.keywordLocation.length + 1).split("/")[0] ?? "";
}

function isInside(inner: Violation, outer: Violation): boolean {
  return inner.keywordLocation.startsWith(`${outer.keywordLocation}/`);
}
