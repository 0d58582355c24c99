import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { settingsOf } from "./tool-turn.fixture.ts";
import { at } from "../../record/conversation/events.fixture.ts";
import type { Decider, InquiryEscalation, InquiryId } from "../../record/conversation/index.ts";
import {
  type AnswerType,
  booleanQuestion,
  type Question,
  selectQuestion,
  textQuestion,
} from "../../record/tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import {
  type CallRouteInput,
  decideRoute,
  type QuestionRouteInput,
  type Route,
  settleOverdue,
  withConfiguredExclusive,
} from "./route.ts";

/** One row of the table: everything that can decide who answers. */
interface Row {
  readonly type: AnswerType["type"];
  readonly exclusive: boolean;
  readonly persistence: "none" | "turn";
  readonly remembered: Given;
  readonly configured: Given;
  readonly target: "user" | "assistant" | "other model";
  readonly canAsk: boolean;
  readonly detached: "auto" | "defaults" | "deny";
  readonly default: Given;
}

type Given = "nothing" | "fits" | "misfits";

const VALUES = {
  fits: { boolean: false, text: "", select: "b", secret: "s3cret" },
  misfits: { boolean: "false", text: 1, select: "c", secret: true },
} as const;

const FROM = "call_0.q.1" as InquiryId;
const KEY = "conversation.tools.x.questions.q.answer";
const OTHER_MODEL = { model: { id: { provider: "test", name: "other" } } };

/** Literal texts, not imported from the source. */
const NEEDS_HUMAN: Route = {
  type: "refused",
  reason: "assistant_routing_denied",
  message:
    "x requires a human answer and cannot be routed to the assistant. Do not retry this tool call " +
    "in this turn.",
};
const NO_ONE_TO_ASK: Route = {
  type: "refused",
  reason: "no_prompt_backend",
  message:
    "x cannot run because no user is available to answer. Do not retry this tool call in " +
    "this turn; continue without user input or explain what information is missing.",
};
const MISFIT: Route = {
  type: "refused",
  reason: "invalid_static_answer",
  message:
    `x: the configured ${KEY} value does not match the question's answer_type. Update the ` +
    "configuration; do not retry.",
};

/** The contract, in order: the first line that applies decides. */
const CONTRACT: readonly (readonly [(row: Row) => boolean, (row: Row) => Route])[] = [
  [
    (row) => row.remembered === "fits" && row.type !== "secret" && row.persistence === "turn",
    ({ type }) => ({ type: "remembered", answer: VALUES.fits[type], from: FROM }),
  ],
  [
    ({ configured }) => configured === "fits",
    ({ type }) => ({ type: "configured", answer: VALUES.fits[type], key: KEY }),
  ],
  [({ configured }) => configured === "misfits", () => MISFIT],
  [(row) => row.target !== "user" && (row.type === "secret" || row.exclusive), () => NEEDS_HUMAN],
  [({ target }) => target === "assistant", () => modelRoute({})],
  [({ target }) => target === "other model", () => modelRoute(OTHER_MODEL)],
  [({ canAsk }) => canAsk, () => ({ type: "person" })],
  [({ type, exclusive }) => type === "secret" || exclusive, () => NO_ONE_TO_ASK],
  [({ detached }) => detached === "auto", () => modelRoute({})],
  [
    (row) => row.detached === "defaults" && row.default === "fits",
    ({ type }) => ({ type: "default", answer: VALUES.fits[type] }),
  ],
  [() => true, () => NO_ONE_TO_ASK],
];

describe("every combination of question, config, memory and availability", () => {
  test("is routed as the contract says", () => {
    verifies(
      "082/record/remembered-before-configured",
      "082/record/otherwise-routed",
      "082/secret/remembered-answer-not-used",
      "082/secret/never-asked-of-the-model",
      "082/secret/guard-looks-at-the-type-only",
      "082/secret/guard-shared-with-exclusive",
      "083/remember/none-is-asked-every-time",
      "083/configured/validated-before-use",
      "083/configured/allowed-for-exclusive",
      "083/configured/error-names-the-setting",
      "083/exclusive/means-a-person-only",
      "083/exclusive/nobody-there-error-text",
      "083/exclusive/assistant-target-error-text",
      "083/exclusive/checks-are-generic",
      "083/exclusive/no-retry-flag",
      "083/routing/configured-answer-first",
      "083/routing/user-target-with-a-person",
      "083/routing/user-target-nobody-not-exclusive",
      "083/routing/assistant-target-not-exclusive",
      "083/scope/no-detached-policy",
    );
    const wrong = rows().flatMap((row) => {
      const expected = CONTRACT.find(([holds]) => holds(row))?.[1](row);
      const actual = decideRoute(inputOf(row));
      return isDeepStrictEqual(actual, expected) ? [] : [{ row, actual, expected }];
    });
    expect(wrong).toEqual([]);
  });

  test("is covered, and every line of the contract decides some of them", () => {
    const decided = rows().map((row) => CONTRACT.findIndex(([holds]) => holds(row)));
    expect(decided).toHaveLength(4 * 2 * 2 * 3 * 3 * 3 * 2 * 3 * 3);
    expect(new Set(decided)).toEqual(new Set(CONTRACT.keys()));
  });
});

describe("a question for a model and then a person", () => {
  const question = booleanQuestion("q", "?", { default: true });
  const escalation: InquiryEscalation = {
    type: "inquiry_escalation",
    timestamp: at(0),
    id: FROM,
    outcome: "answered",
    answer: false,
    answeredBy: { kind: "assistant", model: "test/judge" },
  };

  function routed(more: Partial<QuestionRouteInput>, detached = "auto"): Route {
    const questions = { q: { target: ["assistant", "user"] } };
    const settings = settingsOf("x", { source: "local", questions, detached });
    return decideRoute({ question, settings, remembered: undefined, canAsk: true, ...more });
  }

  test("goes to the model first, whether or not a person is there", () => {
    const first = {
      type: "model",
      target: { type: "assistant", assistant: {}, escalates: true },
      escalates: true,
    };
    expect([routed({}), routed({ canAsk: false }, "deny")]).toEqual([first, first]);
  });

  test("goes to the person at once if no model may answer it", () => {
    const exclusive = { question: { ...question, exclusive: true } };
    expect([
      routed(exclusive),
      routed({ ...exclusive, canAsk: false }),
      routed({ ...exclusive, canAsk: false }, "defer"),
    ]).toEqual([{ type: "person" }, NO_ONE_TO_ASK, { type: "deferred" }]);
  });

  test("goes to the person when the model has left it to one, and else as `detached` says", () => {
    const nobody = { escalation, canAsk: false };
    expect([
      routed({ escalation }),
      routed(nobody, "defer"),
      routed(nobody, "deny"),
      routed(nobody, "defaults"),
      routed(nobody, "auto"),
    ]).toEqual([
      { type: "person" },
      { type: "deferred" },
      NO_ONE_TO_ASK,
      { type: "default", answer: true },
      { type: "upheld", answeredBy: { kind: "assistant", model: "test/judge" } },
    ]);
  });

  test("is only the model's if it is a prompt for one", () => {
    expect(routed({ isModelPrompt: true })).not.toHaveProperty("escalates");
  });
});

describe("a question whose deadline has passed", () => {
  const LATE: Route = {
    type: "refused",
    reason: "timed_out",
    message:
      "The tool 'x' needed an answer, and there was none before the deadline. The user did not reject " +
      "the call. Do not retry it in this turn; continue without it or explain what is missing.",
  };

  test.each<[JsonObject, Partial<QuestionRouteInput>, Route]>([
    [{}, {}, LATE],
    [{ on_timeout: "deny", answer: true }, {}, LATE],
    [{ on_timeout: "default" }, {}, { type: "default", answer: true }],
    [{ on_timeout: "default", target: "assistant" }, {}, { type: "default", answer: true }],
    [{ on_timeout: "escalate" }, {}, LATE],
    [{ on_timeout: "escalate", target: "assistant" }, {}, { type: "escalated" }],
    [{ on_timeout: "escalate", target: "assistant" }, { isModelPrompt: true }, LATE],
    [{ on_timeout: "deny", target: ["assistant", "user"] }, {}, LATE],
  ])("with %j is settled", (own, more, expected) => {
    const settings = settingsOf("x", { source: "local", questions: { q: own } });
    const question = booleanQuestion("q", "?", { default: true });
    const input = { question, settings, remembered: undefined, canAsk: true, isOverdue: true };
    expect(decideRoute({ ...input, ...more })).toEqual(expected);
  });

  test("is refused by a program that does not know its settings", () => {
    const question = booleanQuestion("q", "?", { default: true });
    expect(settleOverdue({ question })).toEqual({ outcome: "cancelled", reason: "timed_out" });
  });
});

test("only the question's own id counts, even if it is the name of a JavaScript built-in", () => {
  const settings = settingsOf("x", {
    source: "builtin",
    questions: { other: { answer: true }, hasOwnProperty: { answer: true } },
  });
  const routes = ["q", "constructor", "__proto__", "hasOwnProperty"].map((id) => {
    const question = booleanQuestion(id, "?");
    return decideRoute({ question, settings, remembered: undefined, canAsk: true }).type;
  });
  expect(routes).toEqual(["person", "person", "person", "configured"]);
});

test("exclusiveness is not a target", () => {
  verifies("083/exclusive/no-new-target");
  const config = { source: "builtin", questions: { q: { target: "user_only" } } };
  expect(() => settingsOf("x", config)).toThrow(/questions\.q\.target: /);
});

test("the author says whether a question is exclusive, unless the config overrides it", () => {
  verifies("083/scope/no-exclusive-in-config");
  const configs = [{}, { exclusive: false }, { exclusive: true }];
  for (const exclusive of [false, true]) {
    const question = booleanQuestion("q", "?", { exclusive });
    const inForce = configs.map((own) => {
      const settings = settingsOf("x", { source: "local", questions: { q: own, other: {} } });
      return withConfiguredExclusive(question, { source: "tool", name: "x" }, settings);
    });
    expect(inForce).toMatchObject([
      question,
      ...configs.slice(1).map((own) => ({ ...question, ...own })),
    ]);
  }
});

test("a question that the tool wants to act on still acts if the config lets others answer it", () => {
  const settings = settingsOf("x", { source: "local", questions: { q: { exclusive: false } } });
  const question = booleanQuestion("q", "?", { exclusive: true });
  const [byTool, byAssistant] = [{ source: "tool", name: "x" }, { source: "assistant" }] as const;
  expect([
    withConfiguredExclusive(question, byTool, settings),
    withConfiguredExclusive(question, byAssistant, settings),
    withConfiguredExclusive({ ...question, acts: true }, byAssistant, settings),
  ]).toEqual([
    { ...question, exclusive: false, acts: true },
    { ...question, exclusive: false },
    { ...question, exclusive: false, acts: true },
  ]);
});

test("a configured answer is compared by type, not by its text", () => {
  verifies("083/configured/validated-before-use");
  const select: AnswerType = { type: "select", options: [{ value: "1" }, { value: "yes" }] };
  expect([
    route({ type: "boolean" }, true),
    route({ type: "boolean" }, "yes"),
    route({ type: "boolean" }, 1),
    route({ type: "text" }, ""),
    route({ type: "text" }, false),
    route(select, "1"),
    route(select, 1),
    route(select, true),
    route({ type: "secret" }, "key"),
    route({ type: "secret" }, ["key"]),
  ]).toEqual([
    "configured",
    "refused",
    "refused",
    "configured",
    "refused",
    "configured",
    "refused",
    "refused",
    "configured",
    "refused",
  ]);
});

test("free text comes from a person: it is remembered, but never configured or a default", () => {
  const question = selectQuestion("q", "?", { options: ["a"], allowsOther: true, default: "mine" });
  const decide = (more: Partial<QuestionRouteInput>, config: JsonObject = {}) =>
    decideRoute({
      question,
      settings: settingsOf("x", { source: "local", ...config }),
      remembered: undefined,
      canAsk: false,
      ...more,
    });
  expect([
    decide({ remembered: { answer: "mine", from: FROM } }),
    decide({}, { questions: { q: { answer: "mine" } } }),
    decide({}, { detached: "defaults" }),
  ]).toEqual([{ type: "remembered", answer: "mine", from: FROM }, MISFIT, NO_ONE_TO_ASK]);
});

function routeGiven(
  question: Question,
  more: Partial<QuestionRouteInput>,
  config: JsonObject = {},
): Route {
  return decideRoute({
    question,
    settings: settingsOf("x", { source: "local", ...config }),
    remembered: undefined,
    canAsk: true,
    ...more,
  });
}

function nothingGiven(): undefined {}

const SURE = booleanQuestion("q", "?", { default: true, persistence: "turn" });
const FOR_ADA = { questions: { q: { target: { user: "ada" } } } };

/** For a person who cannot be asked here. */
function routeFor(name: string, more: Partial<QuestionRouteInput>, config: JsonObject = FOR_ADA) {
  return routeGiven(SURE, { whom: { for: name }, canAsk: false, ...more }, config).type;
}

function givenBy(decidedBy: Decider): Pick<QuestionRouteInput, "takeGiven"> {
  return { takeGiven: () => ({ answer: true, decidedBy }) };
}

describe("a question for one person", () => {
  const both = { questions: { q: { target: ["assistant", { user: "ada" }] } } };

  test("waits for that person, whatever else could answer, unless the config denies it", () => {
    const modes = ["auto", "defaults", "defer", "deny"] as const;
    expect(modes.map((mode) => routeFor("ada", {}, { ...FOR_ADA, detached: mode }))).toEqual([
      "deferred",
      "deferred",
      "deferred",
      "refused",
    ]);
    expect(routeFor("ada", { canAsk: true })).toBe("person");
  });

  test("goes to a model first only if the config says so for this person", () => {
    expect({
      both: routeFor("Ada", {}, both),
      alone: routeFor("ada", {}),
      other: routeFor("eve", {}, both),
      changed: routeFor("ada", {}, { questions: { q: { target: "assistant" } } }),
      prompt: routeFor("ada", { isModelPrompt: true }),
    }).toEqual({
      both: "model",
      alone: "deferred",
      other: "deferred",
      changed: "deferred",
      prompt: "refused",
    });
  });

  test("waits for that person after a model has said no", () => {
    const escalation = {
      type: "inquiry_escalation",
      timestamp: at(0),
      id: FROM,
      outcome: "answered",
      answer: false,
      answeredBy: { kind: "assistant", model: "a/b" },
    } as const;
    expect(routeFor("ada", { escalation }, both)).toBe("deferred");
  });

  test("is answered by the config for it, an answers file, or what that person has said before", () => {
    const remembered = { answer: true, from: FROM };
    const chat = { kind: "user", channel: "chat" } as const;
    expect([
      routeFor("ada", {}, { questions: { q: { target: { user: "ada" }, answer: true } } }),
      routeFor("ada", givenBy({ kind: "answers_file", entry: "answers[0]" })),
      routeFor("ada", givenBy({ kind: "user", channel: "chat", name: "Ada" })),
      routeFor("ada", givenBy({ kind: "user", channel: "chat", name: "sam" })),
      routeFor("ada", givenBy({ kind: "user", channel: "chat" })),
      routeFor("ada", { remembered: { ...remembered, by: { ...chat, name: "Ada" } } }),
      routeFor("ada", { remembered: { ...remembered, by: { ...chat, name: "sam" } } }),
      routeFor("ada", { remembered }),
    ]).toEqual([
      "configured",
      "given",
      "given",
      "deferred",
      "deferred",
      "remembered",
      "deferred",
      "deferred",
    ]);
  });
});

describe("a question that a person has answered, and that is asked again", () => {
  const isForPerson = true;
  const forModel = { questions: { q: { target: "assistant" } } };
  const both = { questions: { q: { target: ["assistant", "user"] } } };

  test("goes to a person, whomever the config would ask", () => {
    const routes = [{}, forModel, both].map((config) => routeGiven(SURE, { isForPerson }, config));
    expect(routes).toEqual([{ type: "person" }, { type: "person" }, { type: "person" }]);
  });

  test("waits or is refused if no person can be asked, and never gets a default", () => {
    const modes = ["auto", "defaults", "deny", "defer"];
    const routes = [{}, forModel, both].map((config) =>
      modes.map(
        (detached) =>
          routeGiven(SURE, { isForPerson, canAsk: false }, { ...config, detached }).type,
      ),
    );
    const expected = ["refused", "refused", "refused", "deferred"];
    expect(routes).toEqual([expected, expected, expected]);
  });

  test("is refused after its deadline, whatever the config says", () => {
    const routes = ["deny", "default", "escalate"].map((on_timeout) =>
      routeGiven(
        SURE,
        { isForPerson, isOverdue: true },
        { questions: { q: { on_timeout, target: "assistant" } } },
      ),
    );
    const late = { type: "refused", reason: "timed_out" };
    expect(routes).toMatchObject([late, late, late]);
  });

  test("may still be answered by the config for it, and by what the person has said for the turn", () => {
    const configured = { questions: { q: { answer: true } } };
    const remembered = { answer: true, from: FROM };
    expect([
      routeGiven(SURE, { isForPerson }, configured).type,
      routeGiven(SURE, { isForPerson, remembered }).type,
      routeGiven(SURE, { isForPerson, takeGiven: nothingGiven, isGivenOnly: true }).type,
    ]).toEqual(["configured", "remembered", "deferred"]);
  });
});

describe("an answer that was given before the turn", () => {
  const decidedBy = { kind: "answers_file", entry: "answers[0]" } as const;
  const sure = booleanQuestion("q", "?");
  const configured = { questions: { q: { answer: false } } };

  test("comes after a remembered one and before a configured one, also for a secret", () => {
    const takeGiven = () => ({ answer: true, decidedBy });
    const takeSecret = () => ({ answer: "s3cret", decidedBy });
    const secret: Question = { ...sure, answerType: { type: "secret" }, exclusive: true };
    expect([
      routeGiven(sure, {
        remembered: { answer: false, from: FROM },
        takeGiven: () => expect.unreachable("it would be used up"),
      }),
      routeGiven(sure, { takeGiven }, configured),
      routeGiven(secret, { takeGiven: takeSecret }, { questions: { q: { target: "assistant" } } }),
    ]).toEqual([
      { type: "remembered", answer: false, from: FROM },
      { type: "given", answer: true, decidedBy },
      { type: "given", answer: "s3cret", decidedBy },
    ]);
  });

  test("is refused if it does not fit, and left open if it is for later", () => {
    const misfit = routeGiven(
      sure,
      { takeGiven: () => ({ answer: "yes", decidedBy }) },
      configured,
    );
    const later = routeGiven(sure, { takeGiven: () => "later" }, configured);
    expect([misfit, later]).toEqual([
      expect.objectContaining({ type: "refused", reason: "invalid_static_answer" }),
      { type: "deferred" },
    ]);
  });

  test("that is missing leaves open what a person would be asked, and nothing else", () => {
    const isGivenOnly = true;
    const takeGiven = nothingGiven;
    const exclusive = { ...sure, exclusive: true };
    const forModel = { questions: { q: { target: "assistant" } } };
    expect([
      routeGiven(sure, { takeGiven }).type,
      routeGiven(sure, { takeGiven, isGivenOnly }).type,
      routeGiven(sure, { takeGiven, isGivenOnly, canAsk: false }, { detached: "auto" }).type,
      routeGiven(exclusive, { takeGiven, isGivenOnly }, forModel).type,
      routeGiven(sure, { takeGiven, isGivenOnly }, configured).type,
      routeGiven(sure, { takeGiven, isGivenOnly }, forModel).type,
      routeGiven(sure, { takeGiven, isGivenOnly, isModelPrompt: true }).type,
    ]).toEqual(["person", "deferred", "deferred", "deferred", "configured", "model", "model"]);
  });

  test("that is missing leaves open what a model has left to a person", () => {
    const given = { takeGiven: nothingGiven, isGivenOnly: true, canAsk: false };
    const both = { questions: { q: { target: ["assistant", "user"] } } };
    const escalation = {
      type: "inquiry_escalation",
      timestamp: at(0),
      id: FROM,
      outcome: "cancelled",
      reason: "backend_error",
    } as const;
    expect([
      routeGiven(sure, given, both).type,
      routeGiven(sure, { ...given, escalation }, both).type,
    ]).toEqual(["model", "deferred"]);
  });
});

test("a decision does not change its input", () => {
  const input = inputOf({
    type: "select",
    exclusive: false,
    persistence: "turn",
    remembered: "misfits",
    configured: "nothing",
    target: "other model",
    canAsk: false,
    detached: "auto",
    default: "fits",
  });
  const before = structuredClone(input);
  decideRoute(input);
  expect(input).toEqual(before);
});

function rows(): readonly Row[] {
  const given = ["nothing", "fits", "misfits"] as const;
  return combine<Row>({
    type: ["boolean", "text", "select", "secret"],
    exclusive: [false, true],
    persistence: ["none", "turn"],
    remembered: given,
    configured: given,
    target: ["user", "assistant", "other model"],
    canAsk: [false, true],
    detached: ["auto", "defaults", "deny"],
    default: given,
  });
}

/** Every row that has one of the values of each column. */
function combine<Of>(columns: { readonly [Column in keyof Of]: readonly Of[Column][] }) {
  let combined: readonly object[] = [{}];
  for (const [column, values] of Object.entries(columns)) {
    combined = combined.flatMap((row) =>
      (values as readonly unknown[]).map((value) => ({ ...row, [column]: value })),
    );
  }
  return combined as readonly Of[]; // Every column was added.
}

function inputOf(row: Row): QuestionRouteInput {
  const answerType: AnswerType =
    row.type === "select"
      ? { type: "select", options: [{ value: "a" }, { value: "b", description: "the other" }] }
      : { type: row.type };
  const question: Question = {
    id: "q",
    text: "?",
    answerType,
    exclusive: row.exclusive,
    persistence: row.persistence,
    ...(row.default !== "nothing" && { default: VALUES[row.default][row.type] }),
  };
  const remembered =
    row.remembered === "nothing"
      ? undefined
      : { answer: VALUES[row.remembered][row.type], from: FROM };
  return { question, settings: settingsFor(row), remembered, canAsk: row.canAsk };
}

const knownSettings = new Map<string, QuestionRouteInput["settings"]>();

/** Rows with the same config share its parsed form. */
function settingsFor({ type, configured, target, detached }: Row): QuestionRouteInput["settings"] {
  const key = [type, configured, target, detached].join();
  const known = knownSettings.get(key);
  if (known !== undefined) return known;
  const questions: JsonObject = {
    target: target === "other model" ? OTHER_MODEL : target,
    ...(configured !== "nothing" && { answer: VALUES[configured][type] }),
  };
  const settings = settingsOf("x", {
    source: "builtin",
    questions: { q: questions },
    detached: { tool: detached },
  });
  knownSettings.set(key, settings);
  return settings;
}

function route(answerType: AnswerType, answer: Json): Route["type"] {
  const settings = settingsOf("x", { source: "builtin", questions: { q: { answer } } });
  const question = { ...booleanQuestion("q", "?"), answerType };
  return decideRoute({ question, settings, remembered: undefined, canAsk: true }).type;
}

function modelRoute(assistant: JsonObject): Route {
  return { type: "model", target: { type: "assistant", assistant } };
}

describe("a prompt for a model", () => {
  const question = textQuestion("q", "Go on?", { persistence: "none" });
  const model: Route = { type: "model", target: { type: "assistant", assistant: {} } };

  test.each([true, false])(
    "goes to a model, whether a person is available or not (%s)",
    (canAsk) => {
      const routes = ["auto", "defaults", "deny"].map((detached) =>
        decideRoute({
          question,
          isModelPrompt: true,
          settings: settingsOf("x", { source: "local", detached }),
          remembered: { answer: "mine", from: FROM },
          canAsk,
        }),
      );
      expect(routes).toEqual([model, model, model]);
    },
  );

  test.each<[string, JsonObject, Route]>([
    ["by the config", { answer: "yes" }, { type: "configured", answer: "yes", key: KEY }],
    ["by no answer of another type", { answer: true }, MISFIT],
    [
      "by another model",
      { target: OTHER_MODEL },
      { type: "model", target: { type: "assistant", assistant: OTHER_MODEL } },
    ],
    ["by no person", { target: "user" }, model],
  ])("is answered %s, as configured", (_, own, expected) => {
    const settings = settingsOf("x", { source: "local", questions: { q: own } });
    const input = { question, isModelPrompt: true, settings, remembered: undefined, canAsk: true };
    expect(decideRoute(input)).toEqual(expected);
  });

  test("is refused if the config reserves it for a person", () => {
    const settings = settingsOf("x", { source: "local", questions: { q: { exclusive: true } } });
    const routes = [true, false].map((canAsk) =>
      decideRoute({
        question: withConfiguredExclusive(question, { source: "tool", name: "x" }, settings),
        isModelPrompt: true,
        settings,
        remembered: undefined,
        canAsk,
      }),
    );
    expect(routes).toEqual([NEEDS_HUMAN, NEEDS_HUMAN]);
  });
});

/** One row of the table for decisions about a call. */
interface CallRow {
  readonly kind: CallRouteInput["kind"];
  /** `run` or `result`. */
  readonly mode: "ask" | "edit" | "unattended" | "skip";
  readonly isRemembered: boolean;
  readonly given: "nothing" | "later" | "yes" | "no";
  readonly isGivenOnly: boolean;
  readonly isOverdue: boolean;
  readonly canAsk: boolean;
  readonly detached: "auto" | "defaults" | "deny" | "defer";
}

const BY_FILE = { kind: "answers_file", entry: "answers[0]" } as const;

const GIVEN = {
  nothing: undefined,
  later: "later",
  yes: { answer: true, decidedBy: BY_FILE },
  no: { answer: false, decidedBy: BY_FILE },
} as const;

const keyOf = ({ kind }: CallRow) => (kind === "delivery" ? "result" : "run");
const detachedKeyOf = ({ kind }: CallRow) =>
  kind === "delivery" ? "detached.deliver" : "detached.run";

/** The contract, in order: the first line that applies decides. */
const CALL_CONTRACT: readonly (readonly [(row: CallRow) => boolean, (row: CallRow) => Route])[] = [
  [
    ({ mode }) => mode === "skip",
    (row) => ({ type: "policy", isApproved: false, key: keyOf(row), cause: "skipped" }),
  ],
  [
    ({ mode, kind }) => mode === "unattended" && kind !== "in_doubt",
    (row) => ({ type: "policy", isApproved: true, key: keyOf(row) }),
  ],
  [
    ({ isRemembered, kind }) => isRemembered && kind === "permission",
    () => ({ type: "remembered", answer: false, from: FROM }),
  ],
  [
    ({ isOverdue }) => isOverdue,
    (row) => ({ type: "policy", isApproved: false, key: keyOf(row), cause: "timed_out" }),
  ],
  [({ given }) => given === "later", () => ({ type: "deferred" })],
  [
    ({ given }) => given !== "nothing",
    ({ given }) => ({ type: "given", answer: given === "yes", decidedBy: BY_FILE }),
  ],
  [({ isGivenOnly }) => isGivenOnly, () => ({ type: "deferred" })],
  [({ canAsk }) => canAsk, () => ({ type: "person" })],
  [({ detached }) => detached === "defer", () => ({ type: "deferred" })],
  [
    ({ kind, detached }) => kind === "permission" && detached === "auto",
    (row) => ({ type: "policy", isApproved: true, key: detachedKeyOf(row) }),
  ],
  [
    ({ kind, detached }) => kind === "delivery" && detached !== "deny",
    (row) => ({ type: "policy", isApproved: true, key: detachedKeyOf(row) }),
  ],
  [
    () => true,
    (row) => ({
      type: "policy",
      isApproved: false,
      key: detachedKeyOf(row),
      cause: "unavailable",
    }),
  ],
];

describe("every combination of a decision about a call, config, memory and availability", () => {
  const callRows = combine<CallRow>({
    kind: ["permission", "delivery", "in_doubt"],
    mode: ["ask", "edit", "unattended", "skip"],
    isRemembered: [false, true],
    given: ["nothing", "later", "yes", "no"],
    isGivenOnly: [false, true],
    isOverdue: [false, true],
    canAsk: [false, true],
    detached: ["auto", "defaults", "deny", "defer"],
  });

  test("is routed as the contract says", () => {
    const wrong = callRows.flatMap((row) => {
      const expected = CALL_CONTRACT.find(([holds]) => holds(row))?.[1](row);
      const actual = decideRoute(callInputOf(row));
      return isDeepStrictEqual(actual, expected) ? [] : [{ row, actual, expected }];
    });
    expect(wrong).toEqual([]);
  });

  test("is covered, and every line of the contract decides some of them", () => {
    const decided = callRows.map((row) => CALL_CONTRACT.findIndex(([holds]) => holds(row)));
    expect(decided).toHaveLength(3 * 4 * 2 * 4 * 2 * 2 * 2 * 4);
    expect(new Set(decided)).toEqual(new Set(CALL_CONTRACT.keys()));
  });
});

test("an answer that was given for a call is taken only if nothing before it decides", () => {
  const remembered = { answer: true, from: FROM };
  const taken = (["skip", "unattended", "ask"] as const).map((mode) =>
    decideRoute({
      kind: "permission",
      canAsk: true,
      takeGiven: () => expect.unreachable("it would be used up"),
      settings: settingsOf("x", { source: "local" }),
      verdict: { mode, key: "run" },
      ...(mode === "ask" && { remembered }),
    }),
  );
  expect(taken.map(({ type }) => type)).toEqual(["policy", "policy", "remembered"]);
});

function callInputOf(row: CallRow): CallRouteInput {
  const { kind, mode, given, isRemembered, detached: everywhere, ...rest } = row;
  const detached = { run: everywhere, deliver: everywhere, tool: everywhere };
  const verdict = { mode, key: "run" };
  const input = { ...rest, takeGiven: () => GIVEN[given], verdict };
  if (kind === "delivery") return { ...input, kind, settings: { name: "x", detached } };
  const remembered = isRemembered ? { answer: false, from: FROM } : undefined;
  return { ...input, kind, settings: { name: "x", detached }, remembered };
}
