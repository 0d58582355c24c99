/** Where no model answers: whoever is asked then fails, and the call is told so. */
import type { InquiryBackend } from "./port.ts";

/** For programs without a model: every inquiry fails. */
export const NO_MODEL: InquiryBackend = {
  inquire: async () => ({ type: "failed", kind: "other", message: "there is no model" }),
};
