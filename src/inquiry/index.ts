export { createInquiryBackend, type InquiryBackendOptions } from "./backend.ts";
export {
  type InquiryAnswer,
  type InquiryBackend,
  type InquiryCall,
  type InquiryFailure,
  noInquiryBackend,
} from "./port.ts";
