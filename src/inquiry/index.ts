export { createInquiryBackend, type InquiryBackendOptions } from "./inquiry-backend.ts";
export type { InquiryAnswer, InquiryBackend, InquiryCall, InquiryFailure } from "./port.ts";
export { NO_MODEL } from "./no-model.ts";
