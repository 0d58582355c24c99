export type { InquiryBackendOptions } from "./backend.ts";
export { createInquiryBackend, preloadInquiries } from "./lazy-backend.ts";
export {
  type InquiryAnswer,
  type InquiryBackend,
  type InquiryCall,
  type InquiryFailure,
  type InquiryUpdate,
  noInquiryBackend,
} from "./port.ts";
