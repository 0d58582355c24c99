/** What bubblewrap gets and reports beside the command's own streams. A command sees none of it. */
import { type ExtraPipe, FIRST_PIPE, type Program } from "../process/index.ts";

export interface BubblewrapPipes {
  /** Options for bubblewrap. */
  readonly words: readonly string[];
  readonly pipes: readonly ExtraPipe[];
  /** Whether the program was started. Known once bubblewrap has exited, unless a signal ended that. */
  readonly hasStarted: () => boolean;
}

/** The command gets the variables, and runs under the filter of system calls. */
export function openBubblewrapPipes(
  variables: Program["variables"],
  filter: Uint8Array,
): BubblewrapPipes {
  let report = "";
  const onOutput = (chunk: Buffer) => void (report += chunk.toString());
  const uses = [
    ["--args", { input: settingArguments(variables) }],
    ["--seccomp", { input: filter }],
    ["--json-status-fd", { onOutput }],
  ] as const;
  return {
    words: uses.flatMap(([option], index) => [option, String(FIRST_PIPE + index)]),
    pipes: uses.map(([, pipe]) => pipe),
    // Bubblewrap leaves it out if it could not set up the sandbox, or not start the program.
    hasStarted: () => report.includes('"exit-code"'),
  };
}

/**
 * Bubblewrap itself, which runs with the user's rights, gets none of these: some make the loader run code of the workspace.
 */
function settingArguments(variables: Program["variables"]): string {
  return Object.entries(variables)
    .flatMap(([name, value]) => (value === undefined ? [] : ["--setenv", name, value]))
    .map((word) => `${word}\0`)
    .join("");
}
