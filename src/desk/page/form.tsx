/** Answers what waits: at once with two buttons, or with fields, and a review where several are asked together. */
import type { RefObject, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { neutralize } from "../../render/index.ts";
import { isJsonObject, type JsonObject } from "../../util/index.ts";
import { ApiError } from "./api.ts";
import { type DeskContext, useDesk } from "./session.ts";
import { describeDraft, type Draft, isAnswerable, newDraft, toBody } from "./draft.ts";
import { AnswerFields, Area, ExtraFields, type FieldProps } from "./fields.tsx";
import { describeBy, type Item } from "./item.ts";
import { summaryOf } from "./markdown.tsx";
import { messageOf, Notice } from "./parts.tsx";
import { QuestionText } from "./question-text.tsx";

type Problems = Readonly<Record<string, string>>;

interface AnswerFormProps {
  /** At least one, and only such that wait. */
  readonly items: readonly Item[];
  /** Someone else was first. */
  readonly onLate: (item: Item) => void;
}

export function AnswerForm({ items, onLate }: AnswerFormProps): VNode {
  const answerable = items.filter(isAnswerable);
  const answers = useAnswers(answerable, onLate);
  const { draftOf, problems, step, setStep, send, review } = answers;
  const [first] = items;
  const quick =
    items.length === 1 && first?.question.answerType.type === "boolean" ? first : undefined;
  const isBusy = step === "sending";
  const form = useRef<HTMLFormElement>(null);
  useFocusOnProblem(form, problems);
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
      aria-busy={isBusy}
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        if (answerable.length > 1) review();
        else if (quick === undefined) void send();
      }}
    >
      {items.map((item, index) => (
        <OneQuestion
          key={item.key}
          item={item}
          name={`question-${index}`}
          answers={answers}
          isQuick={quick !== undefined}
          isAlone={items.length === 1}
        />
      ))}
      {quick === undefined ? (
        <SubmitButton count={answerable.length} isBusy={isBusy} />
      ) : (
        <QuickButtons
          item={quick}
          isBusy={isBusy}
          onChoose={(truth) => void send({ key: quick.key, draft: { ...draftOf(quick), truth } })}
        />
      )}
      {items.length === 1 && first?.kind === "question" && (
        <Cancel item={first} onProblem={(text) => answers.setProblem(first, text)} />
      )}
    </form>
  );
}

/** The keyboard continues where something has to be put right. */
function useFocusOnProblem(form: RefObject<HTMLFormElement | null>, problems: Problems): void {
  useEffect(() => {
    focusFirstField(form.current?.querySelector(".notice.problem")?.closest("article"));
  }, [problems]);
}

function focusFirstField(within: Element | null | undefined): void {
  within?.querySelector<HTMLElement>("input, textarea")?.focus();
}

type Answers = ReturnType<typeof useAnswers>;

/** What is typed and chosen, what is wrong with it, and sending it. */
function useAnswers(items: readonly Item[], onLate: (item: Item) => void) {
  const desk = useDesk();
  const { draftOf, setDraft } = useDrafts(desk);
  const [problems, setProblems] = useState<Problems>({});
  const [step, setStep] = useState<"edit" | "review" | "sending">("edit");
  /** `changed` is a draft that is not in the state yet. */
  const send = async (changed?: { readonly key: string; readonly draft: Draft }) => {
    const drafts = (item: Item) => (changed?.key === item.key ? changed.draft : draftOf(item));
    const found = missingIn(items, drafts);
    setProblems(found);
    if (Object.keys(found).length > 0) return setStep("edit");
    setStep("sending");
    const failed = await sendAll(items, drafts, { desk, onLate });
    setProblems(failed);
    setStep("edit");
    if (Object.keys(failed).length > 0) return;
    desk.say(items.length === 1 ? "Answer sent." : `${items.length} answers sent.`);
    location.hash = "#/";
  };
  const review = () => {
    const found = missingIn(items, draftOf);
    setProblems(found);
    if (Object.keys(found).length === 0) setStep("review");
  };
  const setProblem = (item: Item, problem: string) => setProblems({ [item.key]: problem });
  return { draftOf, setDraft, problems, setProblem, step, setStep, send, review };
}

interface OneQuestionProps {
  readonly item: Item;
  readonly name: string;
  readonly answers: Answers;
  /** The answer is one of two buttons below. */
  readonly isQuick: boolean;
  /** What can be done about it is below the form. */
  readonly isAlone: boolean;
}

function OneQuestion({ item, name, answers, isQuick, isAlone }: OneQuestionProps): VNode {
  const { draftOf, setDraft, problems, setProblem } = answers;
  const onDraft = (draft: Draft) => setDraft(item, draft);
  const fields = { item, name, draft: draftOf(item), onDraft };
  const problem = problems[item.key];
  return (
    <article class="question">
      <QuestionText item={item} name={name} />
      {!isQuick && <AnswerFields {...fields} />}
      <ExtraFields {...fields} />
      {item.kind === "delivery" && <EditResult {...fields} />}
      {problem !== undefined && <Notice>{neutralize(problem)}</Notice>}
      {item.kind === "question" && !isAlone && (
        <Cancel item={item} onProblem={(text) => setProblem(item, text)} />
      )}
    </article>
  );
}

/** Drafts outlive the view and the page, but those of secrets do not. */
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
    const result = toBody(item, draftOf(item));
    return result.type === "incomplete" ? [[item.key, result.problem] as const] : [];
  });
  return Object.fromEntries(missing);
}

interface Sending extends Pick<AnswerFormProps, "onLate"> {
  readonly desk: DeskContext;
}

/** Returns what was not sent or not used, and why. */
async function sendAll(
  items: readonly Item[],
  draftOf: DraftOf,
  { desk: { api, me, drafts, markAnswered }, onLate }: Sending,
): Promise<Problems> {
  const failed: Record<string, string> = {};
  for (const item of items) {
    const result = toBody(item, draftOf(item));
    if (result.type === "incomplete") continue;
    try {
      await api.answer(item, result.body);
      drafts.remove(item);
      markAnswered(item.key, { kind: "user", channel: "desk", name: me.name });
    } catch (error) {
      failed[item.key] = describeFailure(error);
      if (!(error instanceof ApiError) || error.status !== 409) continue;
      onLate(item);
      markAnswered(item.key, whoAnswered(error));
    }
  }
  return failed;
}

function whoAnswered({ body }: ApiError): JsonObject | undefined {
  return isJsonObject(body["answered_by"]) ? body["answered_by"] : undefined;
}

function describeFailure(error: unknown): string {
  if (!(error instanceof ApiError)) return messageOf(error);
  if (error.status === 409)
    return `${describeBy(whoAnswered(error))} was first. Your answer was not used.`;
  if (error.status === 422) return `The answer does not fit: ${error.message}`;
  if (error.status === 404) return "This is no longer pending. Your answer was not used.";
  return messageOf(error);
}

const QUICK_WORDS: Readonly<Record<Item["kind"], readonly [yes: string, no: string]>> = {
  question: ["Yes", "No"],
  permission: ["Run", "Skip"],
  delivery: ["Show", "Withhold"],
  in_doubt: ["Run", "Skip"],
};

interface QuickProps {
  readonly item: Item;
  readonly isBusy: boolean;
  readonly onChoose: (truth: boolean) => void;
}

function QuickButtons({ item, isBusy, onChoose }: QuickProps): VNode {
  const { kind, question } = item;
  const [yes, no] = QUICK_WORDS[kind];
  const suggested = (truth: boolean) => (question.default === truth ? " (suggested)" : "");
  return (
    <div class="actions bar" role="group" aria-label="Answer">
      <button
        type="button"
        class="primary"
        data-key="y"
        disabled={isBusy}
        onClick={() => onChoose(true)}
      >
        {yes}
        {suggested(true)}
      </button>
      <button type="button" data-key="n" disabled={isBusy} onClick={() => onChoose(false)}>
        {no}
        {suggested(false)}
      </button>
    </div>
  );
}

interface SubmitProps {
  /** How many can be answered here. */
  readonly count: number;
  readonly isBusy: boolean;
}

function SubmitButton({ count, isBusy }: SubmitProps): VNode | null {
  if (count === 0) return null;
  return (
    <div class="actions bar">
      <button class="primary" disabled={isBusy}>
        {count > 1 ? "Review answers" : "Send answer"}
      </button>
    </div>
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
            <dt dir="auto">{summaryOf(item.question.text)}</dt>
            <dd dir="auto">{neutralize(describeDraft(item, draftOf(item)))}</dd>
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

/** What the model sees instead of the result. */
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
  const { api, me, say, markAnswered } = useDesk();
  const [isSure, setIsSure] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const choose = (isNowSure: boolean) => {
    setIsSure(isNowSure);
    requestAnimationFrame(() => button.current?.focus()); // The button that was pressed is gone.
  };
  const cancel = async () => {
    try {
      await api.cancel(item);
      markAnswered(item.key, { kind: "user", channel: "desk", name: me.name });
      say("Question cancelled.");
      location.hash = "#/";
    } catch (error) {
      if (error instanceof ApiError && error.status === 409)
        markAnswered(item.key, whoAnswered(error));
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
