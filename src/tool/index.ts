export { parseAnswerType } from "./answer-type-codec.ts";
export { type Outcome, outcomeToWire, parseOutcome } from "./outcome.ts";
export {
  type AnswerReusePolicy,
  type AnswerType,
  booleanQuestion,
  type InquiryQuestion,
  type Question,
  type QuestionOptions,
  secretQuestion,
  type SelectOption,
  selectQuestion,
  textQuestion,
} from "./question.ts";
export {
  parseInquiryQuestion,
  parseQuestion,
  questionToWire,
  reusePolicyToJson,
} from "./question-codec.ts";
