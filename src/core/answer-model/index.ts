export { createInquiryBackend, type InquiryBackendOptions } from "./backend.ts";
export type {
  InquiryAnswer,
  InquiryBackend,
  InquiryCall,
  InquiryFailure,
  InquiryUpdate,
} from "./port.ts";
