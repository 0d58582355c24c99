/** Schema of the people who make a decision: in the `target` of a question, of a tool, and of a rule. */
import * as v from "valibot";
import { type Addressee, isAddresseeName, MAX_ADDRESSEES } from "../../../record/tool/index.ts";
import type { Json, JsonObject } from "../../../util/index.ts";
import { findSeconds } from "../duration.ts";
import { behaviour, described } from "./node.ts";

/** The people who may decide. If neither `user` nor `any` is set, anyone who is asked may; at most one is set. */
export interface PeopleTarget {
  /** The name of the only person who may decide. */
  readonly user?: string;
  /** Any of these may decide: people by name, and holders of a role. */
  readonly any?: readonly Addressee[];
  readonly terms?: TargetTerms;
  /** Their deadline. None if absent. */
  readonly withinMs?: number;
  /** Who is asked next, in order, if no one decides in time. These have no `next` themselves. */
  readonly next?: readonly PeopleTarget[];
}

/** Requirements for a decision besides an eligible person. */
export interface TargetTerms {
  /** How many different people must cast the same vote. */
  readonly quorum?: number;
  /** `ends`: the first no decides; the default. `counts`: a no needs the same quorum as a yes. */
  readonly refusal?: "ends" | "counts";
  /** The person who started the turn may not decide. */
  readonly notBy?: "asker";
  /** The decision must be signed. */
  readonly proof?: "signed";
}

const personName = v.pipe(
  v.string(),
  v.trim(),
  v.check(isAddresseeName, "expected a name of at most 64 characters, on one line"),
);

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

const MAX_QUORUM = 16;

/** A longer list would be a queue. */
const MAX_RUNGS = 8;

/** Ten years in seconds: a time that every calendar supports. */
const MAX_DEADLINE = 10 * 365 * 24 * 3600;

/** The deadline for an answer. */
export const deadlineSchema = v.pipe(
  v.string(),
  v.check((text) => {
    const seconds = findSeconds(text.trim()) ?? 0;
    return seconds > 0 && seconds <= MAX_DEADLINE;
  }, "expected a duration like 30m or 2h, at most 3650d"),
);

/** The keys of a table that names people. It has at most one of the first three, and no assistant key. */
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
  quorum: v.optional(
    described(
      "how many different people have to say the same",
      v.pipe(
        v.number(),
        v.integer("expected a whole number"),
        v.minValue(1, "expected at least 1"),
        v.maxValue(MAX_QUORUM, `expected at most ${MAX_QUORUM}`),
      ),
    ),
  ),
  refusal: v.optional(
    described(
      "with a quorum: whether one no ends it, or it counts like a yes",
      v.picklist(["ends", "counts"]),
    ),
  ),
  not_by: v.optional(
    described("asker: whoever started the turn may not decide", v.picklist(["asker"])),
  ),
  proof: v.optional(described("signed: whoever decides has to sign it", v.picklist(["signed"]))),
  within: v.optional(
    described(
      "how long they have, such as 2h; then the next of the list is asked, or it ends without a decision",
      deadlineSchema,
    ),
  ),
};

/** A table with the keys above, or with others. */
type PeopleTable = Partial<{
  readonly user: string | undefined;
  readonly role: string | undefined;
  readonly any: readonly Addressee[] | undefined;
  readonly quorum: number | undefined;
  readonly refusal: "ends" | "counts" | undefined;
  readonly not_by: "asker" | undefined;
  readonly proof: "signed" | undefined;
  readonly within: string | undefined;
}>;

const NAMING = ["user", "role", "any"] as const;

/** Undefined if the table is not about people. */
export function findPeople(table: PeopleTable): PeopleTarget | undefined {
  const terms = termsIn(table);
  const named = findNamed(table);
  const seconds = findSeconds((table.within ?? "").trim());
  if (named === undefined && terms === undefined && seconds === undefined) return undefined;
  return {
    ...named,
    ...(terms !== undefined && { terms }),
    ...(seconds !== undefined && { withinMs: Math.round(seconds * 1000) }),
  };
}

/** Combines people who are asked one after the other into one target. */
export function ladderOf([first = {}, ...next]: readonly PeopleTarget[]): PeopleTarget {
  return next.length === 0 ? first : { ...first, next };
}

/** Why these cannot be asked one after the other. `isLast`: no model is asked after them. */
export function explainLadder(rungs: readonly PeopleTarget[], isLast = true): string | undefined {
  if (rungs.length > MAX_RUNGS) return `expected at most ${MAX_RUNGS} to be asked in order`;
  const before = isLast ? rungs.slice(0, -1) : rungs;
  return before.every(({ withinMs }) => withinMs !== undefined)
    ? undefined
    : 'all but the last need a time: { user = "NAME", within = "2h" }';
}

/** The people of a target, in the order they are asked. */
export function rungsOf({ next = [], ...first }: PeopleTarget): readonly PeopleTarget[] {
  return [first, ...next];
}

/** Why a table about people cannot be used. */
export function explainPeople(table: PeopleTable): string | undefined {
  const keys = Object.keys(table);
  const count = NAMING.filter((key) => keys.includes(key)).length;
  if (count > 1) return "expected one of user, role and any";
  if (keys.some((key) => !(key in peopleEntries))) return "a table of people has no other keys";
  const { user, quorum = 1, refusal } = table;
  if (user !== undefined && quorum > 1) return "one person cannot be a quorum";
  return refusal === "counts" && quorum === 1 ? 'refusal = "counts" needs a quorum' : undefined;
}

function findNamed({ user, role, any }: PeopleTable): PeopleTarget | undefined {
  if (role !== undefined) return { any: [{ role }] };
  if (user !== undefined) return { user };
  if (any === undefined) return undefined;
  const [first, ...others] = any;
  // Equivalent to a single name, which earlier versions support.
  return first !== undefined && others.length === 0 && "user" in first ? first : { any };
}

function termsIn({ quorum, refusal, not_by: notBy, proof }: PeopleTable): TargetTerms | undefined {
  const terms = {
    ...(quorum !== undefined && quorum > 1 && { quorum }),
    ...(refusal === "counts" && { refusal }),
    ...(notBy !== undefined && { notBy }),
    ...(proof !== undefined && { proof }),
  };
  return Object.keys(terms).length === 0 ? undefined : terms;
}

/** Converts to the notation in config. */
export function peopleToJson(target: PeopleTarget): Json {
  const rungs = rungsOf(target).map(rungToJson);
  const [first = {}] = rungs;
  if (rungs.length > 1) return rungs;
  return Object.keys(first).length === 0 ? "user" : first;
}

function rungToJson({ user, any, terms = {}, withinMs }: PeopleTarget): JsonObject {
  const named = namedToJson({
    ...(user !== undefined && { user }),
    ...(any !== undefined && { any }),
  });
  const { notBy, ...others } = terms;
  return {
    ...named,
    ...others,
    ...(notBy !== undefined && { not_by: notBy }),
    ...(withinMs !== undefined && { within: `${withinMs}ms` }),
  };
}

function namedToJson({ user, any }: PeopleTarget): JsonObject {
  if (user !== undefined) return { user };
  const [first, ...others] = any ?? [];
  if (first === undefined) return {};
  if (others.length === 0) return { ...first };
  return { any: [first, ...others].map((each) => ("user" in each ? each.user : { ...each })) };
}

const peopleTable = v.pipe(
  v.strictObject(peopleEntries),
  v.check((value) => Object.keys(value).length > 0, "expected a key such as role"),
  v.check(
    (value) => explainPeople(value) === undefined,
    ({ input }) => explainPeople(input) ?? "",
  ),
);

type PeopleRung = v.InferOutput<typeof peopleTable>;

const toTargets = (rungs: readonly PeopleRung[]) => rungs.map((rung) => findPeople(rung) ?? {});

/**
 * The people who decide about a call. No model may, so there is no `assistant`. Replaced as a whole. Nothing inside the
 * union is transformed, because that would lose the messages of its checks.
 */
export const peopleTargetSchema: v.GenericSchema<unknown, PeopleTarget> = v.pipe(
  v.union([
    v.literal("user"),
    v.pipe(
      v.array(peopleTable),
      v.minLength(2, "expected a list of at least two"),
      v.check(
        (rungs) => explainLadder(toTargets(rungs)) === undefined,
        ({ input }) => explainLadder(toTargets(input)) ?? "",
      ),
    ),
    peopleTable,
  ]),
  v.transform((value): PeopleTarget => {
    if (value === "user") return {};
    return ladderOf(toTargets(Array.isArray(value) ? value : [value]));
  }),
  behaviour({ toJson: peopleToJson }),
);
