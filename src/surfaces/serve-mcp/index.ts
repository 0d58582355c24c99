export { type HttpOptions, type HttpService, serveHttp } from "./http.ts";
export { type ClientStreams, serveStdio } from "./stdio.ts";
export type { InquiryFilter, ReadInquiries, ServeSetup } from "./setup.ts";
