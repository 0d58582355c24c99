export { type HttpOptions, type HttpService, serveHttp } from "./serve-http.ts";
export { type ClientStreams, serveStdio } from "./serve-stdio.ts";
export type { InquiryFilter, ReadInquiries, ServeSetup } from "./setup.ts";
