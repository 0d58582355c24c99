/** Local tools, loaded with the first of them. */
export { createLocalExecutor } from "./local-executor.ts";
export { describeLocalSource } from "./local-source.ts";
