export {
  type ArgumentsCheck,
  checkArguments,
  checkData,
  explainSchema,
  findViolations,
  preloadValidator,
  matchesSchema,
} from "./check-arguments.ts";
export { constToEnum, isStrict, toStrictSchema } from "./provider-schema.ts";
