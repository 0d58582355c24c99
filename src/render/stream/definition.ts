/** `[label]: address "title"`: where links of that label lead. */

export interface Definition {
  readonly label: string;
  readonly address: string;
}

/** Footnotes look like it and are text. A label with a backslash is not looked at more closely. */
const DEFINITION =
  /^\[(?!\^)([^\]\\]+)\]:[ \t]*(?:<([^<>]*)>|([^\s<]\S*))(?:[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*$/;

export function findDefinition(line: string): Definition | undefined {
  const [, label, enclosed, bare] = DEFINITION.exec(line) ?? [];
  const address = enclosed ?? bare;
  if (label === undefined || address === undefined || label.trim() === "") return undefined;
  return { label: label.trim().replaceAll(/\s+/g, " ").toLowerCase(), address };
}
