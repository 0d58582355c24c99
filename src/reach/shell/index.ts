export {
  type CommandHazard,
  type CommandLine,
  type CommandPart,
  isPrefixOf,
  optionsFrom,
  parseCommandLine,
} from "./command-line.ts";
export { commandsOn, isFoundIn, partsForRefusal } from "./refusal-parts.ts";
export { CommandOutput } from "./command-output.ts";
export { type ShellEnvironment, shellEnvironment } from "./environment.ts";
export { findOwnPackage } from "./own-package.ts";
export { type CommandEnd, findCommandShell, runCommand } from "./run-command.ts";
export { findProblemIn, findSandboxProblem } from "./sandbox.ts";
export { realPath, type SandboxPlace, type SandboxProblem } from "./sandbox-place.ts";
