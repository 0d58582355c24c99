/** The built command on a terminal of its own. */
import { PseudoTerminal, type ScreenEnd } from "../support/pseudo-terminal.ts";
import { JP, type Project } from "./support.ts";

export interface ScreenOptions {
  readonly columns?: number;
  readonly variables?: Readonly<Record<string, string>>;
}

export class Screen extends PseudoTerminal {
  constructor(project: Project, words: readonly string[], options: ScreenOptions = {}) {
    super(process.execPath, [JP, ...words], {
      folder: project.root,
      variables: { ...project.variables, ...options.variables },
      columns: options.columns,
    });
  }
}

/** Runs a command to its end. */
export function show(
  project: Project,
  words: readonly string[],
  options?: ScreenOptions,
): Promise<ScreenEnd> {
  return new Screen(project, words, options).end();
}
