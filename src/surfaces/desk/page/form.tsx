/** Answers pending decisions: at once with two buttons, or with fields, and a review for several questions. */
import type { RefObject, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Reply } from "../../../record/conversation/index.ts";
import { neutralize } from "../../../util/index.ts";
import { describeVoidCause } from "../../render/index.ts";
import { DeskError } from "../client.ts";
import type { AnswerOutcome } from "../wire.ts";
import { describeDraft, type Draft, isAnswerable, newDraft, toReply } from "./draft.ts";
import { AnswerFields, Area, ExtraFields, type FieldProps } from "./fields.tsx";
import { describeConsequences, QUICK_WORDS } from "./consequences.ts";
import { contentKey, describeBy, type Item } from "./item.ts";
import { messageOf, Notice } from "./parts.tsx";
import { isSigned, signAnswer } from "./passkey.ts";
import { CallText, Details, isReadable, QuestionText } from "./question-text.tsx";
import { describeItem, type HeadingKind, questionId, Subject } from "./heading.tsx";
import { areCalls } from "./inbox-state.ts";
import { useReading } from "./reading.ts";
import { type DeskContext, useDesk } from "./session.ts";

type Problems = Readonly<Record<string, string>>;

interface AnswerFormProps {
  /** At least one, all of them pending. */
  readonly items: readonly Item[];
  /** The words that the page's heading already shows. */
  readonly heading: HeadingKind;
  /** Called when someone else answered first. */
  readonly onLate: (item: Item) => void;
}

export function AnswerForm({ items, heading, onLate }: AnswerFormProps): VNode {
  const answerable = items.filter(isAnswerable);
  const answers = useAnswers(answerable, onLate);
  const { draftOf, problems, step, setStep, send, submit } = answers;
  const [first] = items;
  const areSeveral = areCalls(items);
  const isQuick =
    areSeveral || (items.length === 1 && first?.question.answerType.type === "boolean");
  const form = useRef<HTMLFormElement>(null);
  useFocusOnProblem(form, problems);
  const acts = answerable.some((item) => item.acts);
  const { isLocked, hint, end } = useLock(items, acts, step !== "review");
  useStepBack(isLocked, answers);
  if (step === "review") {
    const onBack = () => {
      setStep("edit");
      requestAnimationFrame(() => focusFirstField(form.current));
    };
    return (
      <Review items={answerable} draftOf={draftOf} onBack={onBack} onSend={() => void send()} />
    );
  }
  return (
    <form
      class="answer-form"
      aria-busy={step === "sending"}
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        if (!acts && !isQuick) submit(); // Enter alone never approves an action.
      }}
    >
      {items.map((item, index) => (
        <OneQuestion
          key={item.key}
          item={item}
          name={`question-${index}`}
          heading={heading}
          answers={answers}
          isQuick={isQuick}
          {...(areSeveral && { isLocked })}
          isAlone={items.length === 1}
          isLast={index === items.length - 1}
        />
      ))}
      <Consequences items={answerable} />
      <span ref={end} aria-hidden="true" />
      <Buttons
        items={answerable}
        isQuick={isQuick}
        answers={answers}
        isLocked={isLocked}
        hint={hint}
      />
      {items.length === 1 && first?.kind === "question" && (
        <Cancel item={first} onProblem={(text) => answers.setProblem(first, text)} />
      )}
    </form>
  );
}

/** Once a question that is reviewed has changed, it is read again. */
function useStepBack(isLocked: boolean, { step, setStep }: Answers): void {
  useEffect(() => {
    if (isLocked && step === "review") setStep("edit");
  }, [isLocked, step]);
}

/** What follows from the answers: the same for each of a form, as a rule. Shown before someone approves. */
function Consequences({ items }: Pick<AnswerFormProps, "items">): VNode {
  const { runs } = useDesk().me;
  const all = new Set(items.map((item) => describeConsequences(item, runs)));
  return (
    <>
      <p class="hint">{[...all].join(" ")}</p>
      {items.some(isSigned) && <p class="hint">A yes is signed with your passkey.</p>}
    </>
  );
}

/** Whether an action cannot be approved yet, and why. `end` is the element after everything there is to read. */
function useLock(items: readonly Item[], acts: boolean, isShown: boolean) {
  const { progress, end } = useReading(items.map(contentKey), isShown);
  if (acts && !items.every(isReadable)) {
    const hint = "This is too long for the page. To approve it, use a terminal.";
    return { end, isLocked: true, hint };
  }
  const hint = acts && progress !== undefined ? READING_HINTS[progress] : undefined;
  return { end, isLocked: acts && progress !== "read", hint };
}

const READING_HINTS = {
  below: "To approve this, read it to the end: scroll down, or press End.",
  sideways: "To approve this, read long lines to their ends: scroll sideways, or wrap them.",
  read: undefined,
};

interface ButtonsProps {
  /** The items that can be answered here. */
  readonly items: readonly Item[];
  /** They are answered with one of two buttons. */
  readonly isQuick: boolean;
  readonly answers: Answers;
  /** Approval is locked. */
  readonly isLocked: boolean;
  /** Why it is locked. */
  readonly hint: string | undefined;
}

function Buttons({ items, isQuick, answers, isLocked, hint }: ButtonsProps): VNode | null {
  const { step, submit } = answers;
  const isBusy = step === "sending";
  if (items.length === 0) return null;
  if (isQuick) {
    return (
      <div class="actions bar" role="group" aria-label="Answer">
        <Hint text={hint} />
        <QuickButtons items={items} answers={answers} isLocked={isLocked} hasKeys />
      </div>
    );
  }
  const isPressed = items.some((item) => item.acts);
  return (
    <div class="actions bar">
      <Hint text={hint} />
      <button
        // Enter in a field must not press this button.
        type={isPressed ? "button" : "submit"}
        class="primary"
        disabled={isBusy || isLocked}
        aria-describedby={hint && HINT_ID}
        onClick={isPressed ? submit : undefined}
      >
        {items.length > 1 ? "Review answers" : "Send answer"}
      </button>
    </div>
  );
}

/** Moves the focus to the first field with a problem. */
function useFocusOnProblem(form: RefObject<HTMLFormElement | null>, problems: Problems): void {
  useEffect(() => {
    focusFirstField(form.current?.querySelector(".notice.problem")?.closest("article"));
  }, [problems]);
}

function focusFirstField(within: Element | null | undefined): void {
  within?.querySelector<HTMLElement>("input, textarea")?.focus();
}

type Answers = ReturnType<typeof useAnswers>;

/** Returns to the list, unless the person has opened something else since. */
function leaveFor(): () => void {
  const { hash } = location;
  return () => {
    if (location.hash === hash) location.hash = "#/";
  };
}

/** Drafts, their problems, and sending them. */
function useAnswers(items: readonly Item[], onLate: (item: Item) => void) {
  const desk = useDesk();
  const { draftOf, setDraft } = useDrafts(desk);
  const [problems, setProblems] = useState<Problems>({});
  const [step, setStep] = useState<"edit" | "review" | "sending">("edit");
  /** `truth` is the pressed button. Each answer is sent, judged and refused alone. */
  const send = async (chosen = items, truth?: boolean) => {
    const drafts = (item: Item) => ({ ...draftOf(item), ...(truth !== undefined && { truth }) });
    const found = missingIn(chosen, drafts);
    setProblems(found);
    if (Object.keys(found).length > 0) return setStep("edit");
    setStep("sending");
    const leave = leaveFor();
    const { failed, notices } = await sendAll(chosen, drafts, { desk, onLate });
    setProblems(failed);
    setStep("edit");
    const refused = chosen.filter(({ key }) => failed[key] !== undefined);
    const count = chosen.length - refused.length;
    const sent = count === 1 ? "Answer sent." : `${count} answers sent.`;
    const names = refused.map((item) => describeItem(item)).join("; ");
    if (chosen.length > 1 || count > 0) {
      desk.say(
        [sent, ...new Set(notices), ...(names === "" ? [] : [`Refused: ${names}`])].join(" "),
      );
    }
    if (refused.length === 0 && chosen.length === items.length) leave();
  };
  const review = () => {
    const found = missingIn(items, draftOf);
    setProblems(found);
    if (Object.keys(found).length === 0) setStep("review");
  };
  const submit = () => (items.length > 1 ? review() : void send());
  const setProblem = (item: Item, problem: string) => setProblems({ [item.key]: problem });
  return { draftOf, setDraft, problems, setProblem, step, setStep, send, submit };
}

interface OneQuestionProps {
  readonly item: Item;
  readonly name: string;
  readonly heading: HeadingKind;
  readonly answers: Answers;
  /** Answered with one of two buttons below. */
  readonly isQuick: boolean;
  /** One of several calls, with buttons of its own, and whether its approval is locked. */
  readonly isLocked?: boolean;
  /** Its actions are below the form. */
  readonly isAlone: boolean;
  /** The call that asks all questions of a form is shown after the last one. */
  readonly isLast: boolean;
}

function OneQuestion({ item, name, heading, answers, ...how }: OneQuestionProps): VNode {
  const { isQuick, isLocked, isAlone, isLast } = how;
  const { draftOf, setDraft, problems, setProblem } = answers;
  const onDraft = (draft: Draft) => setDraft(item, draft);
  const fields = { item, name, draft: draftOf(item), onDraft };
  const problem = problems[item.key];
  const call = <CallText item={item} heading={heading} />;
  // What a yes does is read before it. Any other question is answered without reading more than itself.
  const isFirst = item.acts || item.kind !== "question";
  return (
    <article class="question">
      <QuestionText item={item} name={name} heading={heading} />
      {isFirst && call}
      {!isQuick && <AnswerFields {...fields} />}
      {isLocked === undefined ? (
        <ExtraFields {...fields} />
      ) : (
        <>
          <details>
            <summary>Note</summary>
            <ExtraFields {...fields} />
          </details>
          <div class="actions" role="group" aria-labelledby={questionId(name)}>
            <QuickButtons items={[item]} answers={answers} isLocked={isLocked} />
          </div>
        </>
      )}
      {item.kind === "delivery" && <EditResult {...fields} />}
      {problem !== undefined && <Notice>{neutralize(problem)}</Notice>}
      {item.kind === "question" && !isAlone && (
        <Cancel item={item} onProblem={(text) => setProblem(item, text)} />
      )}
      {!isFirst && isLast && call}
      <Details item={item} />
    </article>
  );
}

/** Drafts outlive the view and the page, except those of secrets. */
function useDrafts({ drafts }: DeskContext) {
  const [own, setOwn] = useState<ReadonlyMap<string, Draft>>(new Map());
  const draftOf = (item: Item) => own.get(item.key) ?? drafts.find(item) ?? newDraft(item);
  const setDraft = (item: Item, draft: Draft) => {
    setOwn((before) => new Map(before).set(item.key, draft));
    drafts.keep(item, draft);
  };
  return { draftOf, setDraft };
}

type DraftOf = (item: Item) => Draft;

function missingIn(items: readonly Item[], draftOf: DraftOf): Problems {
  const missing = items.flatMap((item) => {
    const result = toReply(item, draftOf(item));
    return result.type === "incomplete" ? [[item.key, result.problem] as const] : [];
  });
  return Object.fromEntries(missing);
}

interface Sending extends Pick<AnswerFormProps, "onLate"> {
  readonly desk: DeskContext;
}

/** The answers that were not sent or not accepted, and why; and what to say about the others. */
interface Sent {
  readonly failed: Problems;
  readonly notices: readonly string[];
}

async function sendAll(
  items: readonly Item[],
  draftOf: DraftOf,
  { desk: { client, me, drafts, markAnswered }, onLate }: Sending,
): Promise<Sent> {
  const failed: Record<string, string> = {};
  const notices: string[] = [];
  const given = items.flatMap((item) => {
    const result = toReply(item, draftOf(item));
    return result.type === "incomplete" ? [] : [{ item, ...result.reply }];
  });
  for await (const { item, outcome } of outcomesOf(given, client)) {
    if (!("type" in outcome)) {
      failed[item.key] = describeFailure(outcome.error);
      if (!isLate(outcome.error)) continue;
      onLate(item);
      markAnswered(item, whoAnswered(outcome.error));
      continue;
    }
    drafts.remove(item);
    if (outcome.type === "recorded") {
      markAnswered(item, byPerson(me));
      if (outcome.notice !== undefined) notices.push(outcome.notice);
    } else {
      notices.push(`Counted: ${outcome.count} of ${outcome.quorum} people have said the same.`);
    }
  }
  return { failed, notices };
}

interface Given extends Reply {
  readonly item: Item;
}

interface Outcome {
  readonly item: Item;
  readonly outcome: AnswerOutcome | { readonly error: unknown };
}

/** Several calls are answered in one request, and anything else one by one. */
async function* outcomesOf(
  given: readonly Given[],
  client: DeskContext["client"],
): AsyncGenerator<Outcome> {
  if (areCalls(given.map(({ item }) => item))) {
    try {
      const outcomes = await client.answerSeveral(given);
      for (const [index, { item }] of given.entries()) {
        const outcome = outcomes[index];
        const isOutcome = outcome !== undefined && !(outcome instanceof DeskError);
        yield { item, outcome: isOutcome ? outcome : { error: outcome } };
      }
    } catch (error) {
      for (const { item } of given) yield { item, outcome: { error } };
    }
    return;
  }
  for (const { item, answer, ...extras } of given) {
    try {
      const signature = isSigned(item)
        ? await signAnswer(client, { item, answer, ...extras })
        : undefined;
      const signed = { ...extras, ...(signature && { signature }) };
      yield { item, outcome: await client.answer(item, answer, signed) };
    } catch (error) {
      yield { item, outcome: { error } };
    }
  }
}

function byPerson({ name }: DeskContext["me"]) {
  return { answered_by: { kind: "user", channel: "desk", name } };
}

function isLate(error: unknown): error is DeskError {
  return error instanceof DeskError && error.code === "already_answered";
}

function whoAnswered({ answeredBy }: DeskError) {
  return answeredBy === undefined ? {} : { answered_by: answeredBy };
}

function describeFailure(error: unknown): string {
  if (!(error instanceof DeskError)) return messageOf(error);
  const { code, answeredBy, changed } = error;
  if (code === "already_answered") {
    return `${describeBy(answeredBy)} was first. Your answer was not used.`;
  }
  if (code === "changed") {
    const what = changed.length === 0 ? "" : `: ${describeVoidCause(changed)}`;
    return `This is no longer what you have read${what}. Your answer was not used.`;
  }
  if (error.status === 422) return `The answer does not fit: ${error.message}`;
  if (error.status === 404) return "This is no longer pending. Your answer was not used.";
  return messageOf(error);
}

const HINT_ID = "read-first";

function Hint({ text }: { readonly text: string | undefined }): VNode | null {
  if (text === undefined) return null;
  return (
    <p id={HINT_ID} class="hint">
      {text}
    </p>
  );
}

interface QuickProps {
  /** At least one. */
  readonly items: readonly Item[];
  readonly answers: Answers;
  readonly isLocked: boolean;
  /** The keys for yes and no move to these. */
  readonly hasKeys?: boolean;
}

function QuickButtons({ items, answers, isLocked, hasKeys = false }: QuickProps): VNode | null {
  const [first, ...others] = items;
  if (first === undefined) return null;
  const { kind, question, acts } = first;
  const isBusy = answers.step === "sending";
  const all = others.length > 0 ? `${kind === "question" ? " to" : ""} all ${items.length}` : "";
  return (
    <>
      {[true, false].map((truth) => (
        <button
          key={String(truth)}
          type="button"
          class={truth ? "primary" : undefined}
          data-key={hasKeys ? (truth ? "y" : "n") : undefined}
          disabled={isBusy || (truth && isLocked)}
          aria-describedby={truth && isLocked ? HINT_ID : undefined}
          onClick={() => void answers.send(items, truth)}
        >
          {QUICK_WORDS[kind][truth ? 0 : 1]}
          {all}
          {!acts && question.default === truth && " (suggested)"}
        </button>
      ))}
    </>
  );
}

interface ReviewProps {
  readonly items: readonly Item[];
  readonly draftOf: DraftOf;
  readonly onBack: () => void;
  readonly onSend: () => void;
}

function Review({ items, draftOf, onBack, onSend }: ReviewProps): VNode {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section aria-labelledby="review">
      <h2 id="review" tabIndex={-1} ref={heading}>
        Review your answers
      </h2>
      <dl class="review">
        {items.map((item) => (
          <div key={item.key}>
            <dt>
              <Subject item={item} />
            </dt>
            <dd class={item.acts ? "verbatim" : "prose"}>{describeDraft(item, draftOf(item))}</dd>
          </div>
        ))}
      </dl>
      <div class="actions bar">
        <button type="button" class="primary" onClick={onSend}>
          Send {items.length} answers
        </button>
        <button type="button" onClick={onBack}>
          Back
        </button>
      </div>
    </section>
  );
}

/** Edits what the model sees instead of the result. */
function EditResult({ item, name, draft, onDraft }: FieldProps): VNode {
  const isEditing = draft.content !== undefined;
  return (
    <>
      <button
        type="button"
        class="quiet"
        aria-expanded={isEditing}
        onClick={() =>
          onDraft({ ...draft, content: isEditing ? undefined : (item.result?.content ?? "") })
        }
      >
        {isEditing ? "Show the result unchanged" : "Edit what the model sees"}
      </button>
      {isEditing && (
        <Area
          id={`${name}-content`}
          label="The model sees"
          rows={10}
          value={draft.content ?? ""}
          onValue={(content) => onDraft({ ...draft, content })}
        />
      )}
    </>
  );
}

interface CancelProps {
  readonly item: Item;
  readonly onProblem: (problem: string) => void;
}

/** Asks for confirmation: a cancelled question can no longer be answered. */
function Cancel({ item, onProblem }: CancelProps): VNode {
  const { client, me, say, markAnswered } = useDesk();
  const [isSure, setIsSure] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const choose = (isNowSure: boolean) => {
    setIsSure(isNowSure);
    requestAnimationFrame(() => button.current?.focus()); // The pressed button is gone.
  };
  const cancel = async () => {
    const leave = leaveFor();
    try {
      await client.cancel(item);
      markAnswered(item, byPerson(me));
      say("Question cancelled.");
      leave();
    } catch (error) {
      if (isLate(error)) markAnswered(item, whoAnswered(error));
      onProblem(describeFailure(error));
    }
  };
  if (!isSure) {
    return (
      <button type="button" class="quiet" ref={button} onClick={() => choose(true)}>
        Cancel this question
      </button>
    );
  }
  return (
    <div class="actions" role="group" aria-label="Cancel this question?">
      <span>The tool will not get an answer.</span>
      <button type="button" class="danger" onClick={() => void cancel()}>
        Cancel the question
      </button>
      <button type="button" ref={button} onClick={() => choose(false)}>
        Keep it
      </button>
    </div>
  );
}
