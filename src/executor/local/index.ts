export { createLocalExecutor, type LocalEnvironment } from "./local-executor.ts";
