export { guardStandIn } from "./exit-guard.ts";
export {
  findProgram,
  findSystemProgram,
  isInWorkspace,
  resolveProgram,
  resolveProgramOnce,
  SYSTEM_PATH,
  withoutRelativeFolders,
} from "./find-program.ts";
export {
  findGit,
  findGitFolder,
  findRemoteGit,
  type FoundGit,
  type Git,
  type GitPlaces,
  readGitFile,
  runGit,
  runGitForBytes,
  SAFE_GIT_WORDS,
} from "./git.ts";
export {
  type ExtraPipe,
  FIRST_PIPE,
  type ProcessExit,
  ProcessGroup,
  type Program,
} from "./process-group.ts";
export {
  type ProcessEnd,
  type ProcessLimits,
  type ProcessOutput,
  type ProcessRequest,
  runProcess,
} from "./run-process.ts";
export { quoteCommand, quoteWord } from "./shell-quote.ts";
