/** `detached`: what happens to each kind of prompt when nobody is there. */
import * as v from "valibot";
import { behaviour, definedOnly } from "./behaviour.ts";
import { table } from "./node.ts";

/** `auto`: the routing table decides. `defaults`: the question's default, or refused. `deny`: refused. */
const DETACHED_MODES = ["auto", "defaults", "deny"] as const;

export type DetachedMode = (typeof DETACHED_MODES)[number];

export interface Detached {
  /** May a tool run that would ask first. */
  readonly run?: DetachedMode;
  /** Is a result delivered that would be shown first. */
  readonly deliver?: DetachedMode;
  /** The questions of tools. */
  readonly tool?: DetachedMode;
}

const mode = v.picklist(DETACHED_MODES);

/** One word stands for all three. */
export const detachedSchema = v.pipe(
  v.union([
    mode,
    table(
      v.strictObject({ run: v.optional(mode), deliver: v.optional(mode), tool: v.optional(mode) }),
    ),
  ]),
  v.transform((value): Detached => {
    if (typeof value === "string") return { run: value, deliver: value, tool: value };
    return definedOnly(value);
  }),
  behaviour({ merge: "fields" }),
);
