export { accepted } from "./http-failure.ts";
export { type Served, toProviderError } from "./to-provider-error.ts";
