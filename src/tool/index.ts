export { answerFits, explainMisfit, isOther, withoutOther } from "./answer.ts";
export {
  optionToJson,
  parseAnswerType,
  parseInquiryQuestion,
  parseQuestion,
  questionToWire,
  reusePolicyToJson,
  selectToJson,
} from "./question-codec.ts";
export {
  type Ask,
  type Tool,
  defineTool,
  type ToolCall,
  type ToolContext,
  type ToolDefinition,
} from "./define-tool.ts";
export {
  type AnswerReusePolicy,
  type AnswerType,
  booleanQuestion,
  type InquiryQuestion,
  type InquirySource,
  type ModelPrompt,
  type MultipleChoice,
  type PromptMessage,
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
export { type Outcome, outcomeToWire, parseOutcome } from "./outcome.ts";
export {
  isStandardSchema,
  type StandardIssue,
  type StandardResult,
  type StandardSchema,
  toJsonSchema,
  type Validation,
  validateWith,
} from "./standard-schema.ts";
