export { findTracing, type TracingOptions } from "./find-tracing.ts";
export { isTracing, wantsContent } from "./is-tracing.ts";
