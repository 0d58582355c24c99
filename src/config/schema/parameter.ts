/** `parameters.<name>`: a parameter of a tool, in a form of JSON Schema. */
import * as v from "valibot";
import { namedBy, openGroup } from "./node.ts";

/** One parameter of a tool, in the words of a JSON Schema. */
export interface ParameterConfig {
  readonly type?: string | readonly string[] | undefined;
  readonly default?: unknown;
  readonly required?: boolean | undefined;
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
  readonly examples?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly items?: ParameterConfig | undefined;
  readonly properties?: Readonly<Record<string, ParameterConfig>> | undefined;
}

/** Keywords of JSON Schema that are not named here are passed on as they are. */
export const parameterSchema: v.GenericSchema<ParameterConfig> = openGroup({
  type: v.union([v.string(), v.array(v.string())]),
  default: v.unknown(),
  required: v.boolean(),
  summary: v.string(),
  description: v.string(),
  examples: v.unknown(),
  enum: v.array(v.unknown()),
  items: v.lazy(() => parameterSchema),
  properties: namedBy(v.lazy(() => parameterSchema)),
});
