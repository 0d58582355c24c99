/** Arbitrary stories: what tools ask, how people and models react, and what interrupts them. */
import * as fc from "fast-check";
import {
  booleanQuestion,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";

export interface Story {
  readonly turns: readonly (readonly Cycle[])[];
  /** Reactions of each kind are used in order, then from the start again. */
  readonly answers: readonly PersonReaction[];
  readonly inquiries: readonly ModelReaction[];
  readonly permissions: readonly PermissionReaction[];
  readonly deliveries: readonly DeliveryReaction[];
  /** Whether the prompter supports forms. */
  readonly hasForms: boolean;
}

export interface Cycle {
  readonly calls: readonly Call[];
  readonly disturbances: readonly Disturbance[];
  /** Another process takes over before this cycle. */
  readonly isResumed: boolean;
}

interface Call {
  readonly id: string;
  readonly tool: string;
  readonly plan: Plan;
}

/** What a call asks in each attempt, whatever the answers. Then it ends. */
export type Plan = readonly (readonly Question[])[];

export interface Disturbance {
  /** The number of event loop iterations before it happens. */
  readonly after: number;
  readonly what: "stop" | "stop with a word" | "restart" | "close the prompt" | "leave" | "come";
}

export type PersonReaction =
  | "answer"
  | "remember"
  | "cancel"
  | "fail"
  | "misfit"
  | "another question"
  | "never";
export type ModelReaction = "answer" | "misfit" | "fail" | "cancel" | "never";
export type PermissionReaction = "run" | "remember" | "skip" | "cancel" | "never";
export type DeliveryReaction = "deliver" | "edit" | "withhold" | "cancel" | "never";

/** Questions of every type and persistence. Some share an id, as in a careless tool. */
const QUESTIONS: readonly Question[] = [
  booleanQuestion("sure", "Sure?"),
  booleanQuestion("sure", "Really sure?", { persistence: "none" }),
  booleanQuestion("danger", "Delete?", { exclusive: true, default: true }),
  selectQuestion("which", "Which?", { options: ["a", "b"] }),
  selectQuestion("which", "Or what?", { options: ["a"], allowsOther: true, allowsNote: true }),
  textQuestion("name", "Name?", { default: "by default" }),
  textQuestion("name", "Name of whom?", { exclusive: true, persistence: "none" }),
  secretQuestion("key", "Key?"),
  secretQuestion("name", "Secret name?"),
];

const anyCall: fc.Arbitrary<Call> = fc.record({
  id: fc.constantFrom("call_1", "call_2", "call_3", "call_4"),
  tool: fc.constantFrom("plain", "careful", "modest", "configured"),
  plan: fc.array(
    fc.uniqueArray(fc.constantFrom(...QUESTIONS), {
      selector: ({ id }) => id,
      minLength: 1,
      maxLength: 3,
    }),
    { maxLength: 5 },
  ),
});

const anyCycle: fc.Arbitrary<Cycle> = fc.record({
  calls: fc.uniqueArray(anyCall, { selector: ({ id }) => id, minLength: 1, maxLength: 4 }),
  disturbances: fc.array(
    fc.record({
      after: fc.nat(12),
      what: fc.constantFrom<Disturbance["what"]>(
        "stop",
        "stop with a word",
        "restart",
        "restart",
        "close the prompt",
        "close the prompt",
        "leave",
        "come",
      ),
    }),
    { maxLength: 4 },
  ),
  isResumed: fc.boolean(),
});

export const anyStory: fc.Arbitrary<Story> = fc.record({
  turns: fc.array(fc.array(anyCycle, { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 2,
  }),
  answers: some<PersonReaction>(
    "answer",
    "answer",
    "remember",
    "remember",
    "cancel",
    "fail",
    "misfit",
    "another question",
    "never",
  ),
  inquiries: some<ModelReaction>("answer", "answer", "misfit", "fail", "cancel", "never"),
  permissions: some<PermissionReaction>("run", "remember", "skip", "cancel", "never"),
  deliveries: some<DeliveryReaction>("deliver", "edit", "withhold", "cancel", "never"),
  hasForms: fc.boolean(),
});

function some<Reaction>(...reactions: readonly Reaction[]): fc.Arbitrary<readonly Reaction[]> {
  return fc.array(fc.constantFrom(...reactions), { minLength: 1, maxLength: 6 });
}
