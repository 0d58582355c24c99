/** One question, or a call's open questions as a form: the text, the fields, and sending. */
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { describeVoidCause } from "../../render/index.ts";
import { type DeskClient, DeskError } from "../client.ts";
import type { InquiryAddress } from "../wire.ts";
import { whomText, whyNot } from "./draft.ts";
import { AnswerForm } from "./form.tsx";
import { areCalls, formOf } from "./inbox-state.ts";
import { Heading, type HeadingKind, headingKind, questionId, Wish } from "./heading.tsx";
import { describeBy, describeEnd, isOver, type Item, keyOf, readItem, timeOf } from "./item.ts";
import { Ago, Deadline, SoFar, Line, messageOf, Notice, Title, Waited } from "./parts.tsx";
import { CallText, Details, QuestionText } from "./question-text.tsx";
import { conversationLink, inquiryLink } from "./route.ts";
import { useDesk } from "./session.ts";

/** Shows the item at this address, pending or answered. */
export function InquiryView({ address }: { readonly address: InquiryAddress }): VNode {
  const { items, problem } = useItems(address);
  const { inbox } = useDesk();
  const [first, ...others] = items;
  const heading = first === undefined ? "wish" : headingKind([first, ...others]);
  const isTop = heading === "change" || heading === "question";
  const isWaiting = (item: Item) => !isOver(item) && !inbox.answered.has(item.key);
  return (
    <>
      <Title {...(isTop && { id: questionId("question-0") })}>
        {first === undefined ? "Question" : <Heading items={[first, ...others]} />}
      </Title>
      {problem !== undefined && <Notice>{problem}</Notice>}
      {problem === undefined && first === undefined && <p>Loading …</p>}
      {first !== undefined && (
        <>
          {isTop && (
            <p class="wish">
              <Wish items={[first]} />
            </p>
          )}
          <Facts item={first} isWaiting={items.some(isWaiting)} />
          <Answerable key={keyOf(address)} items={items} heading={heading} />
        </>
      )}
    </>
  );
}

/**
 * The form at this address. Once shown, an item stays, even if someone else answers it: the reader must learn of that.
 */
function useItems(address: InquiryAddress): {
  items: readonly Item[];
  problem?: string | undefined;
} {
  const { client, inbox } = useDesk();
  const [shown, setShown] = useState<{ key: string; items: readonly Item[] }>({
    key: "",
    items: [],
  });
  const [problem, setProblem] = useState<string>();
  const key = keyOf(address);
  const kept = shown.key === key ? shown.items : [];
  const waiting = inbox.items.find((item) => isAt(item, address));
  const known = inbox.items.filter((item) => kept.some((other) => other.key === item.key));
  const found = waiting === undefined ? [] : formOf(inbox.items, waiting);
  // A call that comes later has a card of its own: a yes must not cover what was not there.
  const isNew = (item: Item) => kept.every((other) => other.key !== item.key);
  const isLate = (item: Item) => kept.some((other) => areCalls([other, item]));
  const form = [...known, ...found.filter((item) => isNew(item) && !isLate(item))];
  const items = [...kept.filter((item) => !form.some((other) => other.key === item.key)), ...form];
  const list = inOrder(kept, items);
  const isMissing = inbox.isLoaded && list.length === 0;
  useEffect(() => {
    if (form.length > 0) setShown({ key, items: list });
  }, [key, JSON.stringify(list.map((item) => item.key))]);
  useEffect(() => {
    setProblem(undefined);
    if (!isMissing) return undefined;
    let isWanted = true; // Until the person opens another item.
    findItem(client, address).then(
      (item) => isWanted && setShown({ key, items: [item] }),
      (error: unknown) => isWanted && setProblem(messageOf(error)),
    );
    return () => {
      isWanted = false;
    };
  }, [key, isMissing]);
  return { items: list, problem };
}

/** Throws an error with a message for the person. */
async function findItem(client: DeskClient, address: InquiryAddress): Promise<Item> {
  const json = await client.inquiry(address).catch((error: unknown) => {
    const isUnknown = error instanceof DeskError && error.status === 404;
    throw isUnknown ? new Error("This question does not exist, or was removed.") : error;
  });
  const item = readItem(json);
  if (item !== undefined) return item;
  throw new Error(
    "This version of the page cannot show the question. Reload it, or answer in a terminal.",
  );
}

/** Keeps the order in which the items were first shown. */
function inOrder(kept: readonly Item[], items: readonly Item[]): readonly Item[] {
  const place = ({ key }: Item) => {
    const index = kept.findIndex((other) => other.key === key);
    return index === -1 ? kept.length : index;
  };
  return items.toSorted((left, right) => place(left) - place(right));
}

/** Notification links may omit the workspace. */
function isAt(item: Item, { conversation, id, workspace }: InquiryAddress): boolean {
  const isHere = workspace === undefined || workspace === item.workspace;
  return isHere && item.conversation === conversation && item.id === id;
}

interface FactsProps {
  readonly item: Item;
  /** Whether any item of the form is still pending. */
  readonly isWaiting: boolean;
}

function Facts({ item, isWaiting }: FactsProps): VNode {
  const { title, conversation } = item;
  const askedAt = timeOf(item.asked_at) ?? 0;
  const deadline = timeOf(item.deadline);
  const whom = whomText(item);
  return (
    <p class="facts">
      <a href={conversationLink(item)}>
        <Line text={title ?? conversation} />
      </a>
      {whom !== undefined && (
        <span>
          for <Line text={whom} />
        </span>
      )}
      <SoFar item={item} />
      <span>
        {isWaiting ? (
          <>
            waiting for <Waited since={askedAt} />
          </>
        ) : (
          <>
            asked <Ago at={askedAt} />
          </>
        )}
      </span>
      {deadline !== undefined && isWaiting && <Deadline at={deadline} />}
    </p>
  );
}

/** The fields of pending items, and the outcomes of the others. */
function Answerable({
  items,
  heading,
}: {
  readonly items: readonly Item[];
  readonly heading: HeadingKind;
}): VNode {
  const { inbox, me } = useDesk();
  const [late, setLate] = useState<ReadonlySet<string>>(new Set());
  const onLate = ({ key }: Item) => setLate((before) => new Set(before).add(key));
  const hasEnded = (item: Item) => isOver(item) || inbox.answered.has(item.key);
  const open = items.filter((item) => !hasEnded(item));
  const isAllowed = open.every((item) => whyNot(item, me) === undefined);
  useFocusAfterEnd(open.length);
  return (
    <>
      {items.filter(hasEnded).map((item) => (
        <article key={item.key} class="question">
          <QuestionText item={item} name={item.key} heading={heading} />
          <CallText item={item} heading={heading} />
          <Ended item={item} isLate={late.has(item.key)} />
          <Details item={item} />
        </article>
      ))}
      {isAllowed && open.length > 0 && (
        <AnswerForm items={open} heading={heading} onLate={onLate} />
      )}
      {!isAllowed &&
        open.map((item) => (
          <article key={item.key} class="question">
            <QuestionText item={item} name={item.key} heading={heading} />
            <CallText item={item} heading={heading} />
            <Details item={item} />
          </article>
        ))}
      {!isAllowed && (
        <Notice kind="hint">{[...new Set(open.map((item) => whyNot(item, me)))].join(" ")}</Notice>
      )}
    </>
  );
}

/** If someone else answers, the focused field is gone. */
function useFocusAfterEnd(openCount: number): void {
  useEffect(() => {
    if (document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
  }, [openCount]);
}

interface EndedProps {
  readonly item: Item;
  /** The person sent an answer, but someone else was first. */
  readonly isLate: boolean;
}

function Ended({ item, isLate }: EndedProps): VNode {
  const { inbox } = useDesk();
  const known = useEnd(item);
  const told = inbox.answered.get(item.key);
  const by = known?.answered_by ?? told?.answered_by;
  const changed = known?.void ?? told?.void;
  const note = known?.note;
  const isKnown = known !== undefined && isOver(known) && known.outcome !== "unanswered";
  return (
    <p class="notice hint prose" role="status">
      {isKnown && (
        <>
          <strong>{describeEnd(known)}</strong>{" "}
        </>
      )}
      {by === undefined ? "No longer pending." : `Answered by ${describeBy(by)}.`}
      {isLate && " Your answer came later, and was not used."}
      {changed !== undefined && (
        <>
          {` It does not count: ${describeVoidCause(changed)}. `}
          <AskedAgain item={item} />
        </>
      )}
      {note !== undefined && (
        <>
          {" "}
          Note: <Line text={note} />
        </>
      )}
    </p>
  );
}

/** A link to the question that replaces this one. */
function AskedAgain({ item }: { readonly item: Item }): VNode | null {
  const { inbox } = useDesk();
  const again = inbox.items.find(
    ({ workspace, conversation, replaces }) =>
      keyOf({ workspace, conversation, id: replaces ?? "" }) === item.key,
  );
  return again === undefined ? null : <a href={inquiryLink(again)}>It is asked again.</a>;
}

/** The full outcome. Events say only who answered. */
function useEnd(item: Item): Item | undefined {
  const { client } = useDesk();
  const [end, setEnd] = useState<Item>();
  useEffect(() => {
    if (isOver(item)) return;
    findItem(client, item).then(setEnd, () => undefined); // The decider is shown anyway.
  }, [item.key]);
  return isOver(item) ? item : end;
}
