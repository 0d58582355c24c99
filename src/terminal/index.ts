export { createOutput, type Output, type OutputStreams } from "./output.ts";
