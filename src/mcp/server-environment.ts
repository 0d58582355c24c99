/** What a server's program gets to see of the environment: little, and what the config names. */

export type Variables = Readonly<Record<string, string | undefined>>;

const SAFE = new Set(["PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "SHELL"]);

/** Names that are not set are left out. */
export function serverEnvironment(
  variables: Variables,
  named: readonly string[],
): Readonly<Record<string, string>> {
  const entries = Object.entries(variables).flatMap(([name, value]) => {
    const isSeen = SAFE.has(name) || name.startsWith("LC_") || named.includes(name);
    return isSeen && value !== undefined ? [[name, value] as const] : [];
  });
  return Object.fromEntries(entries);
}
