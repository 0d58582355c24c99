export { findTracing } from "./find-tracing.ts";
export { isTracing, wantsContent } from "./is-tracing.ts";
