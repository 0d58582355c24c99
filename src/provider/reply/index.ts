export { Reply } from "./reply.ts";
export { INVALID_ARGUMENTS } from "./tool-arguments.ts";
