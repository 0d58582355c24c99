export { type HttpService, serveHttp } from "./http.ts";
export { serveStdio } from "./stdio.ts";
export type { InquiryFilter, ServeSetup } from "./setup.ts";
