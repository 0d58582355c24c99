export { MemoryConversationStore } from "../stores/index.ts";
export { FakeClock } from "./fake-clock.ts";
export { ScriptedInquiryBackend, type ScriptedAnswers } from "./scripted-inquiry-backend.ts";
export {
  ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedReply,
  type ScriptedStep,
} from "./scripted-model.ts";
export {
  type HeldPrompt,
  holdPrompt,
  type PrompterScript,
  type Script,
  type ScriptedAnswer,
  type ScriptedDelivery,
  type ScriptedForm,
  type ScriptedPermission,
  ScriptedPrompter,
} from "./scripted-prompter.ts";
export { type StoreTest, storeTests, type StoreToTest } from "./store-tests.ts";
