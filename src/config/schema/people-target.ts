/** Schema of the people whom a decision is for: in the `target` of a question, of a tool, and of a rule. */
import * as v from "valibot";
import type { Addressee } from "../../tool/index.ts";
import type { Json } from "../../util/index.ts";
import { behaviour, described } from "./node.ts";

/** The people whom a decision is for. Anyone who is asked may decide if both are absent; at most one is set. */
export interface PeopleTarget {
  /** The name of the only person who may decide. */
  readonly user?: string;
  /** Any of these may: people, and those who have a role. */
  readonly any?: readonly Addressee[];
}

/** Recorded with every request, and shown on one line. */
const personName = v.pipe(
  v.string(),
  v.trim(),
  v.check(
    (name) => /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u.test(name),
    "expected a name of at most 64 characters, on one line",
  ),
);

/** More would not fit on a line, and nobody could say who is meant. */
const MAX_ADDRESSEES = 16;

const addressee = v.pipe(
  v.union([
    personName,
    v.strictObject({ user: v.optional(personName), role: v.optional(personName) }),
  ]),
  v.check(
    (value) => typeof value === "string" || Object.keys(value).length === 1,
    'expected a name, { user = "NAME" } or { role = "NAME" }',
  ),
  v.transform((value): Addressee => {
    if (typeof value === "string") return { user: value };
    const { user = "", role } = value;
    return role === undefined ? { user } : { role };
  }),
);

/** The keys of a table that names people. It has one of them, and no other key. */
export const peopleEntries = {
  user: v.optional(described("the name of the only person who may decide", personName)),
  role: v.optional(described("a role: whoever has it may decide", personName)),
  any: v.optional(
    described(
      'several, of whom any may decide: names, and { role = "NAME" }',
      v.pipe(
        v.array(addressee),
        v.minLength(1, "expected at least one name"),
        v.check(({ length }) => length <= MAX_ADDRESSEES, `expected at most ${MAX_ADDRESSEES}`),
      ),
    ),
  ),
};

/** A table with the keys above, or with others. */
type PeopleTable = Partial<{
  readonly user: string | undefined;
  readonly role: string | undefined;
  readonly any: readonly Addressee[] | undefined;
}>;

/** Undefined if the table names no one. */
export function findPeople({ user, role, any }: PeopleTable): PeopleTarget | undefined {
  if (role !== undefined) return { any: [{ role }] };
  if (user !== undefined) return { user };
  if (any === undefined) return undefined;
  const [first, ...others] = any;
  // The same as a single name, which earlier versions know.
  return first !== undefined && others.length === 0 && "user" in first ? first : { any };
}

/** As config has it. */
export function peopleToJson({ user, any }: PeopleTarget): Json {
  if (user !== undefined) return { user };
  const [first, ...others] = any ?? [];
  if (first === undefined) return "user";
  if (others.length === 0) return { ...first };
  return { any: [first, ...others].map((each) => ("user" in each ? each.user : { ...each })) };
}

const ONE_KEY = "expected one of user, role and any";

/** Whom a call is for. No model may decide about one, so there is no `assistant`. Replaced as a whole. */
export const peopleTargetSchema: v.GenericSchema<unknown, PeopleTarget> = v.pipe(
  v.union([v.literal("user"), v.strictObject(peopleEntries)]),
  v.check((value) => value === "user" || Object.keys(value).length === 1, ONE_KEY),
  v.transform((value): PeopleTarget => (value === "user" ? {} : (findPeople(value) ?? {}))),
  behaviour({ toJson: peopleToJson }),
);
