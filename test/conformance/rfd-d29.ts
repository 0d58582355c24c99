// Requirements from RFD D29 (inquiry rejection reasoning and escalation), a draft.
import type { Requirement } from "./requirement.ts";

export const rfdD29: readonly Requirement[] = [
  {
    id: "D29/reason/before-the-answer",
    source: "RFD D29, Schema change",
    text: "An inquiry model is asked for its reason, before its answer.",
    state: "met",
    deviation: "An answer without a reason is accepted.",
  },
  {
    id: "D29/reason/recorded",
    source: "RFD D29, `InquiryResponse` extension",
    text: "The reason is recorded with the answer.",
    state: "met",
    deviation:
      "The field is `answer_reason`, because `reason` says why a question was cancelled (RFD 082).",
  },
  {
    id: "D29/reason/for-the-main-model",
    source: "RFD D29, Threading reason into tool error messages",
    text: "If a model says no, the main model learns which model it was, that it was not the user, and why.",
    state: "met",
    deviation: "jp adds this to the tool's own result, and does not replace it.",
  },
  {
    id: "D29/escalation/to-the-user",
    source: "RFD D29, Escalation flow",
    text:
      "With `assistant_with_escalation` or `escalation = true`, the model is asked first. If it says " +
      "no, the user is asked and sees its reason.",
    state: "met",
    deviation: '`["assistant", "user"]` means the same. The user is also asked if the model fails.',
  },
  {
    id: "D29/escalation/only-booleans",
    source: "RFD D29, When does escalation trigger?",
    text: "Only the answer `false` to a boolean question escalates.",
    state: "met",
  },
  {
    id: "D29/escalation/detached",
    source: "RFD D29, Escalation flow",
    text:
      "Without a user, `detached` decides: `deny` and `auto` fail with the model's no, and `defaults` " +
      "takes the question's default.",
    state: "met",
    deviation: "Under `auto` the no is the answer, and the tool gets it.",
  },
];
