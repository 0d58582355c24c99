/**
 * Rounds in which people, roles, keys, config and the directory change at random between asking, voting, answering and running. What
 * has run is held against a second, simple reading of the record and the world, which shares no code with the judge.
 */
import * as fc from "fast-check";
import type { JsonObject } from "../../src/util/index.ts";
import {
  ASKER,
  type Said,
  type TermsKind,
  type TermsPerson,
  type TermsReport,
  type TermsSteps,
  type TermsWorld,
} from "./terms-process.ts";

const NAMES = ["ada", "bo", "cy", "sam"] as const;

const person = (name: string): fc.Arbitrary<TermsPerson> =>
  fc.record({
    name: fc.constant(name),
    // Someone who is removed and added again is someone else.
    id: fc.constantFrom(`${name}-1`, `${name}-1`, `${name}-1`, `${name}-2`),
    roles: fc.subarray(["finance", "operations"]),
    hasKey: fc.boolean(),
  });

const people = fc
  .tuple(fc.subarray([...NAMES]), ...NAMES.map(person))
  .map(([present, ...all]) => all.filter(({ name }) => present.includes(name as "ada")));

const who = fc.oneof(
  fc.constant({}),
  fc.constantFrom(...NAMES).map((user) => ({ user })),
  fc.constantFrom("finance", "operations").map((role) => ({ role })),
  fc.constant({ any: ["sam", { role: "finance" }] }),
);
const terms = fc.record(
  {
    quorum: fc.integer({ min: 2, max: 3 }),
    not_by: fc.constant("asker"),
    proof: fc.constant("signed"),
  },
  { requiredKeys: [] },
);
const target = fc.oneof(
  { weight: 1, arbitrary: fc.constant(undefined) },
  { weight: 3, arbitrary: who },
  { weight: 3, arbitrary: fc.tuple(who, terms).map(([named, more]) => ({ ...named, ...more })) },
);

type Step =
  | { readonly type: "people"; readonly people: readonly TermsPerson[] }
  | { readonly type: "target"; readonly target: JsonObject | undefined }
  | { readonly type: "directory"; readonly hasDirectory: boolean }
  | ({ readonly type: "say" } & Said)
  | { readonly type: "resume" };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: people.map((each) => ({ type: "people" as const, people: each })) },
  {
    weight: 1,
    arbitrary: target.map((each) => ({ type: "target" as const, target: clean(each) })),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("directory" as const), hasDirectory: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("say" as const),
      name: fc.constantFrom(...NAMES, "eve"),
      answer: fc.constantFrom(true, true, true, true, true, false),
      signs: fc.constantFrom(true, true, false),
    }),
  },
  { weight: 3, arbitrary: fc.constant({ type: "resume" as const }) },
);

/** An empty target is none. */
function clean(written: object | undefined): JsonObject | undefined {
  return written === undefined || Object.keys(written).length === 0
    ? undefined
    : (written as JsonObject); // Made up here.
}

export interface Round {
  readonly kind: TermsKind;
  readonly people: readonly TermsPerson[];
  readonly target: JsonObject | undefined;
  readonly steps: readonly Step[];
}

export const round: fc.Arbitrary<Round> = fc.record({
  kind: fc.constantFrom("permission", "question", "delivery"),
  people,
  target: target.map(clean),
  steps: fc.array(step, { minLength: 1, maxLength: 12 }),
});

/** What the rounds have come to, so that a test can tell that they were about something. */
export interface Tally {
  paid: number;
  void: number;
  unchanged: number;
}

/** Throws if something ran that must not have, or did not although nothing had changed. */
export async function playRound(
  { kind, people: first, target: asked, steps }: Round,
  processes: readonly TermsSteps[],
  tally: Tally,
): Promise<void> {
  let world: TermsWorld = { people: first, target: asked, hasDirectory: true };
  const next = turns(processes);
  let before = await next().start(world);
  if (isPaid(before)) throw new Error("it was not asked about");
  let isChanged = false;
  let isAnswered = false;
  for (const each of [...steps, { type: "resume" } as const]) {
    if (each.type === "people" || each.type === "target" || each.type === "directory") {
      const { type: _, ...change } = each;
      world = { ...world, ...change };
      isChanged ||= each.type !== "directory";
      continue;
    }
    // Without a directory a name is all that is recorded, and it need not be someone's whom the directory knows later.
    if (each.type === "say") isChanged ||= !world.hasDirectory;
    const report = await (each.type === "say" ? next().say(world, each) : next().resume(world));
    if (each.type === "say" && report.type === "recorded") {
      isAnswered = each.answer;
      if (!each.answer) return;
    }
    if (each.type === "resume") {
      const [wasPaid, paid] = [isPaid(before), isPaid(report)];
      if (paid && !wasPaid) {
        assertAllowed(report, world, kind);
        tally.paid += 1;
      }
      const mustPay = isAnswered && !isChanged && world.hasDirectory;
      if (mustPay) tally.unchanged += 1;
      if (mustPay && !paid)
        throw new Error(`nothing had changed, and it did not run: ${report.type}`);
      if (paid) return;
    }
    // Asked again, under the terms of now.
    if (report.pending !== undefined && report.pending !== before.pending) {
      tally.void += 1;
      isChanged = false;
      isAnswered = false;
    }
    before = report;
  }
}

function turns(processes: readonly TermsSteps[]): () => TermsSteps {
  let count = 0;
  return () => {
    count += 1;
    const process = processes[count % processes.length];
    if (process === undefined) throw new Error("there is no process");
    return process;
  };
}

function isPaid({ events }: TermsReport): boolean {
  return events.some(({ type, content }) => type === "tool_call_response" && content === "paid");
}

/** What someone who does not know the judge reads of an event. */
interface Recorded {
  readonly type: string;
  readonly id?: string;
  readonly for?: string;
  readonly forAny?: readonly (string | Named)[];
  readonly personIds?: Readonly<Record<string, string>>;
  readonly terms?: { readonly quorum?: number; readonly notBy?: string; readonly isSigned?: true };
  readonly answer?: unknown;
  readonly decision?: string;
  readonly by?: Voter;
  readonly decidedBy?: Voter;
  readonly answeredBy?: Voter;
  readonly signature?: unknown;
}

interface Named {
  readonly user?: string;
  readonly role?: string;
}

interface Voter {
  readonly name?: string;
  readonly personId?: string;
}

/** Whether the record shows that who said yes was enough, by the terms on record and by those of now. */
function assertAllowed({ events }: TermsReport, world: TermsWorld, kind: TermsKind): void {
  const all = events as readonly unknown[] as readonly Recorded[];
  const voided = new Set(all.filter(({ type }) => type === "decision_void").map(({ id }) => id));
  const requestType = kind === "question" ? "inquiry_request" : "permission_request";
  const request = all.findLast(({ type, id }) => type === requestType && !voided.has(id));
  if (request === undefined) return; // Config asks no one by now.
  const said = all.filter(
    ({ type, id }) =>
      id === request.id &&
      (type === "decision_vote" || type === "permission_decision" || type === "inquiry_response"),
  );
  const yes = said.filter((each) => each.answer === true || each.decision === "approved");
  const voices = yes.map((each) => ({
    by: each.by ?? each.decidedBy ?? each.answeredBy ?? {},
    isSigned: each.signature !== undefined,
  }));
  if (voices.length === 0) throw new Error("no one has said yes");
  const { terms: recorded = {} } = request;
  const onRecord: Demand = {
    user: request.for,
    any: request.forAny,
    quorum: recorded.quorum,
    notBy: recorded.notBy !== undefined,
    isSigned: recorded.isSigned === true,
    isUnder: request.terms !== undefined,
    ids: request.personIds ?? {},
  };
  const now = world.target ?? {};
  const inForce: Demand = {
    user: now["user"] as string | undefined,
    any: (now["any"] ??
      (now["role"] === undefined ? undefined : [{ role: now["role"] }])) as Demand["any"],
    quorum: now["quorum"] as number | undefined,
    notBy: now["not_by"] !== undefined,
    isSigned: now["proof"] !== undefined,
    // A quorum of one takes no one in particular.
    isUnder: Number(now["quorum"] ?? 1) > 1 || "not_by" in now || "proof" in now,
    ids: {},
  };
  const isAsked = Object.keys(now).length > 0;
  for (const demand of isAsked ? [onRecord, inForce] : [onRecord]) {
    if (!isMet(demand, voices, world)) {
      throw new Error(
        `it ran, although this was not met: ${JSON.stringify({ demand, voices, world })}`,
      );
    }
  }
}

interface Demand {
  readonly user: string | undefined;
  readonly any: readonly (string | Named)[] | undefined;
  readonly quorum: number | undefined;
  readonly notBy: boolean;
  readonly isSigned: boolean;
  readonly isUnder: boolean;
  readonly ids: Readonly<Record<string, string>>;
}

function isMet(
  { user, any, quorum = 1, notBy, isSigned, isUnder, ids }: Demand,
  voices: readonly { readonly by: Voter; readonly isSigned: boolean }[],
  { people: known, hasDirectory }: TermsWorld,
): boolean {
  const hasRoles = any?.some((each) => typeof each === "object" && "role" in each) === true;
  if (user === undefined && any === undefined && !isUnder) return true;
  const isBare = !hasRoles && !isUnder && Object.keys(ids).length === 0;
  if (isBare && (known.length === 0 || !hasDirectory)) {
    const names = user === undefined ? (any ?? []) : [user];
    return voices.some(({ by }) => names.some((each) => nameOf(each) === by.name));
  }
  if (!hasDirectory || known.length === 0) return false;
  const good = voices.filter((voice) => {
    const someone = known.find(({ id }) => id === voice.by.personId);
    if (someone === undefined) return false;
    if (notBy && someone.name === ASKER) return false;
    if (isSigned && !(voice.isSigned && someone.hasKey)) return false;
    if (user === undefined && any === undefined) return true;
    const named = user === undefined ? (any ?? []) : [user];
    return named.some((each) => {
      const name = nameOf(each);
      if (typeof each === "object" && each.role !== undefined) {
        return someone.roles.includes(each.role);
      }
      if (name === undefined) return false;
      return name === someone.name && (ids[name] ?? someone.id) === someone.id;
    });
  });
  return new Set(good.map(({ by }) => by.personId)).size >= quorum;
}

function nameOf(each: string | Named): string | undefined {
  return typeof each === "string" ? each : each.user;
}
