export {
  type ArgumentsCheck,
  checkArguments,
  checkData,
  findViolations,
  matchesSchema,
} from "./check-arguments.ts";
export { toParametersSchema } from "./parameters-schema.ts";
export { constToEnum, isStrict, toStrictSchema } from "./provider-schema.ts";
