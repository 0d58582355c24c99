export { toCallOptions } from "./call-options.ts";
