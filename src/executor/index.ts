export {
  type ArgumentsCheck,
  checkArguments,
  checkData,
  explainSchema,
  toParametersSchema,
} from "../json-schema/index.ts";
export { createAskUser } from "./builtin/ask-user.ts";
export { createBuiltinExecutor, type ShippedTool } from "./builtin/builtin-executor.ts";
export { createDescribeTools, type FindDescription } from "./builtin/describe-tools.ts";
export { FileError } from "./builtin/fs/file-error.ts";
export { createFileTools } from "./builtin/fs/file-tools.ts";
export { decodeUtf8, openFile } from "./builtin/fs/files.ts";
export { openFolder } from "./builtin/fs/folder.ts";
export { compileGlob } from "./builtin/fs/ignore-rules.ts";
export {
  formatPath,
  isProtectedName,
  resolvePath,
  type ResolvedPath,
} from "./builtin/fs/resolve-path.ts";
export { type FoundFile, walkFiles } from "./builtin/fs/walk-files.ts";
export { createTellUser } from "./builtin/tell-user.ts";
export { createTool, type ToolParts } from "./create-tool.ts";
export { createLocalExecutor, type LocalEnvironment } from "./local/local-executor.ts";
export { toRefusedQuestions } from "./mcp/mcp-executor.ts";
export { describeAddress } from "./mcp/mcp-source.ts";
export type {
  AttemptRequest,
  AttemptResult,
  Executor,
  ModelReply,
  NeedsInput,
  QuestionRefusal,
  RefusedQuestions,
  ResultContent,
  RunnableTool,
  ToolDescription,
  UnansweredReason,
} from "./port.ts";
