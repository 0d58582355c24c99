/** The parts of config that need its schema, which is slow to load: see `loadConfigParser`. */
export { mergeConfig } from "./layers.ts";
export { findUnusable, parseConfigOrThrow } from "./parse-config.ts";
