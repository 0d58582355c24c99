export { anthropicDialect } from "./anthropic.ts";
export type { CachePlace, Dialect } from "./dialect.ts";
export { findDialect } from "./find-dialect.ts";
export { googleDialect } from "./google.ts";
export { llamacppDialect, ollamaDialect } from "./local.ts";
export { openaiDialect } from "./openai.ts";
export { openrouterDialect } from "./openrouter.ts";
