export {
  type ArgumentsCheck,
  checkArguments,
  checkData,
  explainSchema,
  preloadValidator,
} from "../json-schema/index.ts";
export { createAskUser } from "./builtin/ask-user.ts";
export {
  createBuiltinExecutor,
  declaredIds,
  type ShippedTool,
} from "./builtin/builtin-executor.ts";
export { createDescribeTools, type FindDescription } from "./builtin/describe-tools.ts";
export { changeBinding } from "./builtin/fs/consent.ts";
export { diffLines, preloadDiff, unifiedDiff } from "./builtin/fs/unified-diff.ts";
export { createFileTools } from "./builtin/fs/file-tools.ts";
export type { ShellPlace } from "./builtin/shell/shell-place.ts";
export { createShellRunTool, loadShellRun } from "./builtin/shell/shell-run-tool.ts";
export { toParametersSchema } from "./parameters-schema.ts";
export { createTellUser } from "./builtin/tell-user.ts";
export { createWebFetchTool, preloadWeb } from "./builtin/web/web-fetch-tool.ts";
export { createTool, loadMcpTools, type ToolParts } from "./create-tool.ts";
export { createLocalExecutor, type LocalEnvironment } from "./local/local-executor.ts";
export { hasTemplate, preloadTemplates } from "./local/template.ts";
export { toRefusedQuestions } from "./mcp/mcp-executor.ts";
export { toServerQuestions } from "./mcp/server-questions.ts";
export { describeAddress } from "./mcp/mcp-source.ts";
export type {
  ArgumentKind,
  ArgumentKinds,
  AttemptRequest,
  AttemptResult,
  CheckResult,
  DescribeOptions,
  Executor,
  ModelReply,
  NeedsInput,
  QuestionRefusal,
  RefusedQuestions,
  ServerQuestions,
  ResultContent,
  RunnableTool,
  ToolDescription,
} from "./port.ts";
