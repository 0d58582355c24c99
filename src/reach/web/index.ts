export { type FetchedPage, fetchPage, type FetchPageOptions } from "./fetch-page.ts";
export { type Lookup, loadPage, type PageAccess, WebError } from "./load-page.ts";
export { pageText } from "./page-text.ts";
export { isPrivateAddress } from "./private-address.ts";
