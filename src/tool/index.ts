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
  type AskAll,
  type Tool,
  defineTool,
  type ToolCall,
  type ToolContext,
  type ToolDefinition,
} from "./define-tool.ts";
export {
  type AnswerReusePolicy,
  type AnswerTo,
  type AnswerType,
  booleanQuestion,
  type ChoiceAnswer,
  type InquiryQuestion,
  type InquirySource,
  type ModelPrompt,
  type PromptMessage,
  type Question,
  type QuestionOptions,
  secretQuestion,
  type SelectOption,
  selectQuestion,
  type SelectQuestionOptions,
  type SelectType,
  textQuestion,
  type TypedQuestion,
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
