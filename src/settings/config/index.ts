export { parseAssignment, splitPath } from "./assignment.ts";
export {
  type AssistantSettings,
  resolveAssistant,
  resolveInquiryAssistant,
} from "./assistant-settings.ts";
export {
  type AttachmentSource,
  attachmentUri,
  conversationHint,
  fileUri,
  findAttachment,
  isHarmlessAttachment,
  namesSecretFile,
  parseAttachment,
  resolveAttachments,
  schemeOf,
  withAttachments,
  withoutAttachments,
} from "./attachments.ts";
export { type CompactionSettings, resolveCompaction, toRule } from "./compaction-settings.ts";
export { parseTurnBound, TOOL_CALL_MODES } from "./compaction-notation.ts";
export {
  ConfigError,
  configError,
  type ConfigErrorCode,
  type ConfigIssue,
  invalidConfigError,
} from "./config-error.ts";
export { type ConfigFile, findConfigFile, parseToml, readConfigFile } from "./config-file.ts";
export { type ClassifiedValue, classifiedValues } from "./classified-values.ts";
export { conversationConfig } from "./conversation-config.ts";
export { loadConfigParser } from "./load-config-parser.ts";
export { findSeconds } from "./duration.ts";
export { applyDirectives, type ToolDirective } from "./directives.ts";
export { type Edit, setInText } from "./edit-file.ts";
export {
  configToJson,
  effectiveLayers,
  type ExplainedValue,
  explainLayers,
  foldLayers,
  type Layer,
  mergeConfig,
  omitPaths,
  valueAt,
  withValue,
} from "./layers.ts";
export {
  configFiles,
  type ConfigPlaces,
  existingConfigFiles,
  loadLayers,
  type LoadOptions,
  ungroup,
} from "./load-config.ts";
export {
  type McpServerSettings,
  type OauthSettings,
  offeringServers,
  resolveMcpServers,
  transportType,
} from "./mcp-settings.ts";
export { parseModelId, resolveModelId } from "./model-id.ts";
export { findModelParameters } from "./model-parameters.ts";
export {
  type ChannelSettings,
  type CommandChannel,
  type NotifySettings,
  resolveNotify,
  type WebhookChannel,
} from "./notify-settings.ts";
export { findModelIds, findUnusable, parseConfig, parseConfigOrThrow } from "./parse-config.ts";
export { type AnchorSettings, resolveAnchor } from "./anchor-settings.ts";
export { recordConfig, type RecordedConfig } from "./recorded-config.ts";
export type { CommandConfig } from "./schema/command.ts";
export { EDITOR_VARIABLES } from "./defaults.ts";
export { splitWords } from "./split-words.ts";
export { type PartialConfig } from "./schema/config-schema.ts";
export { configJsonSchema } from "./config-json-schema.ts";
export type {
  ParameterConfig,
  PartialToolConfig,
  QuestionTarget,
  ToolEffect,
} from "./schema/tool.ts";
export {
  type PeopleTarget,
  peopleToJson,
  rungsOf,
  type TargetTerms,
} from "./schema/people-target.ts";
export { explainRule, findRule } from "./schema/policy.ts";
export {
  MATCHERS,
  type Matcher,
  type Mode,
  MODE_NAMES,
  type Rule,
  type RuleConfig,
  type RulePlace,
  type RunMode,
} from "./policy-list.ts";
export type {
  EscalatingTargetConfig,
  ParameterKeywords,
  PeopleConfig,
  PolicyRuleConfig,
  QuestionConfig,
  SharedToolConfig,
  ShownLinesConfig,
  TargetConfig,
  ToolConfig,
} from "./tool-config.ts";
export type { TrustClass } from "./schema/trust-class.ts";
export { findUnknownQuestions, listDeclared } from "./question-ids.ts";
export {
  type CallLimits,
  DEFAULT_LIMITS,
  missingKeyOf,
  parseToolSource,
  type QuestionSettings,
  resolveLimits,
  resolveTools,
  type ToolSettings,
  type ToolSource,
  type ToolStyle,
} from "./tool-settings.ts";
export type { PricedRequest, TokenPrice } from "./token-price.ts";
export { type KnownPrices, loadPrices, type Prices, type PriceSource } from "./usage-settings.ts";
export { resolveShell, type ShellSettings } from "./shell-settings.ts";
