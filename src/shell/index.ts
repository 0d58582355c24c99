export {
  type CommandHazard,
  type CommandLine,
  type CommandPart,
  isPrefixOf,
  parseCommandLine,
} from "./command-line.ts";
export { isFoundIn, partsForRefusal } from "./refusal-parts.ts";
