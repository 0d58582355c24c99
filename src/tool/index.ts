export { answerFits, explainMisfit, isOther, withoutOther } from "./answer.ts";
export { optionToJson, parseAnswerType, selectToJson } from "./answer-type-codec.ts";
export {
  type Ask,
  type BuiltinTool,
  defineTool,
  type JsonSchemaSource,
  type ToolCall,
  type ToolContext,
  type ToolDefinition,
} from "./define-tool.ts";
export type { InquirySource } from "./inquiry-source.ts";
export type { ModelPrompt, PromptMessage } from "./model-prompt.ts";
export { type Outcome, outcomeToWire, parseOutcome } from "./outcome.ts";
export {
  type AnswerReusePolicy,
  type AnswerType,
  booleanQuestion,
  type InquiryQuestion,
  type MultipleChoice,
  type Question,
  type QuestionOf,
  type QuestionOptions,
  secretQuestion,
  type SelectOption,
  selectQuestion,
  type SelectQuestionOptions,
  type SelectType,
  textQuestion,
} from "./question.ts";
export {
  parseInquiryQuestion,
  parseQuestion,
  questionToWire,
  reusePolicyToJson,
} from "./question-codec.ts";
