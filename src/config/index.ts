export {
  type AssistantSettings,
  resolveAssistant,
  resolveInquiryAssistant,
} from "./assistant-settings.ts";
export { type Assignment, parseAssignment, splitPath } from "./assignment.ts";
export { type CallLimits, DEFAULT_LIMITS, resolveLimits } from "./call-limits.ts";
export { type Claim, findClaims, isClaimWithin, withoutClaims } from "./claims.ts";
export { ConfigError, type ConfigErrorCode, type ConfigIssue, pathToText } from "./config-error.ts";
export { conversationConfig, withoutMachine } from "./conversation-layer.ts";
export { applyDirectives, type ToolDirective } from "./directives.ts";
export { configDelta, configToJson } from "./delta.ts";
export { setInText } from "./edit-file.ts";
export { configJsonSchema } from "./json-schema.ts";
export { type ExplainedValue, explainLayers, foldLayers, type Layer, valueAt } from "./layer.ts";
export { findConfigFile } from "./load/config-file.ts";
export { type ConfigPlaces, filesOf, loadLayers, type LoadOptions } from "./load/load-config.ts";
export { type McpServerSettings, resolveMcpServers, transportType } from "./mcp-settings.ts";
export { mergeConfig } from "./merge.ts";
export { nearest } from "../util/index.ts";
export { parseConfig, type ParsedConfig, parseConfigOrThrow } from "./parse-config.ts";
export { findProblems } from "./problems.ts";
export { type ConfigChange, recordConfig, type RecordedConfig } from "./recorded-config.ts";
export type { CommandConfig } from "./schema/command.ts";
export type { PartialConfig } from "./schema/config-schema.ts";
export { type ModelId, parseModelId } from "./schema/model-id.ts";
export type { ParameterConfig } from "./schema/parameter.ts";
export type { QuestionTarget } from "./schema/question.ts";
export type { PartialToolConfig } from "./schema/tool.ts";
export {
  type QuestionSettings,
  resolveTools,
  type ToolSettings,
  type ToolSource,
  type ToolStyle,
} from "./tool-settings.ts";
