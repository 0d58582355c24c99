/** `enable`: whether a tool is on, and who may change that. Every shorthand sets both halves. */
import * as v from "valibot";
import { behaviour, definedOnly } from "./behaviour.ts";
import { table } from "./node.ts";

/**
 * `any`: every directive. `if_named`: only one that names the tool. `if_named_or_group`: or its
 * group. `never`: none.
 */
const TOGGLE_POLICIES = ["any", "if_named", "if_named_or_group", "never"] as const;

export type TogglePolicy = (typeof TOGGLE_POLICIES)[number];

export interface Enable {
  readonly state?: boolean;
  readonly allow_toggle?: TogglePolicy;
}

const SHORTHANDS = {
  on: { state: true, allow_toggle: "any" },
  off: { state: false, allow_toggle: "any" },
  always: { state: true, allow_toggle: "never" },
  explicit: { state: false, allow_toggle: "if_named" },
} as const satisfies Record<string, Enable>;

const names = Object.keys(SHORTHANDS) as (keyof typeof SHORTHANDS)[]; // Its own keys.

export const enableSchema = v.pipe(
  v.union([
    v.boolean(),
    v.picklist(names),
    table(
      v.strictObject({
        state: v.optional(v.boolean()),
        allow_toggle: v.optional(v.picklist(TOGGLE_POLICIES)),
      }),
    ),
  ]),
  v.transform((value): Enable => {
    if (typeof value === "boolean") return SHORTHANDS[value ? "on" : "off"];
    return typeof value === "string" ? SHORTHANDS[value] : definedOnly(value);
  }),
  behaviour({ merge: "fields" }),
);
