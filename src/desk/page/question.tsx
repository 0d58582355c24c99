/** One question, or the open questions of one call as a form: all there is to read, the fields, and sending. */
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Api, ApiError, type InquiryAddress } from "./api.ts";
import { useDesk } from "./session.ts";
import { whyNot } from "./draft.ts";
import { AnswerForm } from "./form.tsx";
import { formOf } from "./inbox-state.ts";
import {
  describeBy,
  describeEnd,
  type End,
  type Item,
  keyOf,
  readItem,
  toolBehind,
} from "./item.ts";
import { QuestionText } from "./question-text.tsx";
import { Deadline, Line, messageOf, Notice, Time, Title, Waited } from "./parts.tsx";
import { conversationLink } from "./route.ts";

/** Shows what the address names, whether it waits or was answered. */
export function InquiryView({ address }: { readonly address: InquiryAddress }): VNode {
  const { items, problem } = useItems(address);
  const [first] = items;
  return (
    <>
      <p class="back">
        <a href="#/">← Inbox</a>
      </p>
      <Title>{first === undefined ? "Question" : headingOf(first, items.length)}</Title>
      {problem !== undefined && <Notice>{problem}</Notice>}
      {problem === undefined && first === undefined && <p>Loading …</p>}
      {first !== undefined && <Facts item={first} />}
      {first !== undefined && <Answerable key={keyOf(address)} items={items} />}
    </>
  );
}

/** Who wants what. */
function headingOf({ kind, asker, tool }: Item, count: number): VNode {
  const name = <Line text={kind === "question" ? asker : tool} />;
  switch (kind) {
    case "question":
      return count > 1 ? (
        <>
          {name} asks {count} questions
        </>
      ) : (
        <>{name} asks</>
      );
    case "permission":
      return <>Permission to run {name}</>;
    case "delivery":
      return <>Result of {name}</>;
    case "in_doubt":
      return <>Interrupted call: {name}</>;
    default:
      return kind satisfies never;
  }
}

/**
 * The form that the address belongs to. What is shown once stays, also if someone else answers it: the person who
 * reads it must learn that.
 */
function useItems(address: InquiryAddress): {
  items: readonly Item[];
  problem?: string | undefined;
} {
  const { api, inbox } = useDesk();
  const [shown, setShown] = useState<{ key: string; items: readonly Item[] }>({
    key: "",
    items: [],
  });
  const [problem, setProblem] = useState<string>();
  const key = keyOf(address);
  const kept = shown.key === key ? shown.items : [];
  const waiting = inbox.items.find((item) => isAt(item, address));
  const form = waiting === undefined ? [] : formOf(inbox.items, waiting);
  const items = [...kept.filter((item) => !form.some((other) => other.key === item.key)), ...form];
  const list = inOrder(kept, items);
  const isMissing = inbox.isLoaded && list.length === 0;
  useEffect(() => {
    if (form.length > 0) setShown({ key, items: list });
  }, [key, JSON.stringify(list.map((item) => item.key))]);
  useEffect(() => {
    setProblem(undefined);
    if (!isMissing) return;
    findItem(api, address).then(
      (item) => setShown({ key, items: [item] }),
      (error: unknown) => setProblem(messageOf(error)),
    );
  }, [key, isMissing]);
  return { items: list, problem };
}

/** Throws what to tell the person. */
async function findItem(api: Api, address: InquiryAddress): Promise<Item> {
  const { conversation, id, workspace = "" } = address;
  const json = await api.inquiry(address).catch((error: unknown) => {
    const isUnknown = error instanceof ApiError && error.status === 404;
    throw isUnknown ? new Error("This question does not exist, or was removed.") : error;
  });
  const item = readItem({ conversation, id, workspace, ...json });
  if (item !== undefined) return item;
  throw new Error(
    "This version of the page cannot show the question. Reload it, or answer in a terminal.",
  );
}

/** Keeps the order in which they were first shown. */
function inOrder(kept: readonly Item[], items: readonly Item[]): readonly Item[] {
  const place = ({ key }: Item) => {
    const index = kept.findIndex((other) => other.key === key);
    return index === -1 ? kept.length : index;
  };
  return items.toSorted((left, right) => place(left) - place(right));
}

/** Links in notifications may leave out the workspace. */
function isAt(item: Item, { conversation, id, workspace }: InquiryAddress): boolean {
  const isHere = workspace === undefined || workspace === item.workspace;
  return isHere && item.conversation === conversation && item.id === id;
}

function Facts({ item }: { readonly item: Item }): VNode {
  const { kind, title, conversation, workspace, askedAt, deadline, end } = item;
  const tool = toolBehind(item);
  return (
    <p class="facts">
      {kind === "question" && tool !== undefined && (
        <span>
          in <Line text={tool} />
        </span>
      )}
      <a href={conversationLink(item)}>
        <Line text={title ?? conversation} />
      </a>
      {workspace !== "" && <Line text={workspace} />}
      {item.for !== undefined && (
        <span>
          for <Line text={item.for} />
        </span>
      )}
      <span>
        {end === undefined ? (
          <>
            waiting for <Waited since={askedAt} />
          </>
        ) : (
          <>
            asked <Time at={askedAt} />
          </>
        )}
      </span>
      {deadline !== undefined && end === undefined && <Deadline at={deadline} />}
    </p>
  );
}

/** The fields of those that wait, and how the others ended. */
function Answerable({ items }: { readonly items: readonly Item[] }): VNode {
  const { inbox, me } = useDesk();
  const [late, setLate] = useState<ReadonlySet<string>>(new Set());
  const onLate = ({ key }: Item) => setLate((before) => new Set(before).add(key));
  const isOver = (item: Item) => item.end !== undefined || inbox.answered.has(item.key);
  const open = items.filter((item) => !isOver(item));
  const isAllowed = open.every((item) => whyNot(item, me) === undefined);
  useFocusAfterEnd(open.length);
  return (
    <>
      {items.filter(isOver).map((item) => (
        <article key={item.key} class="question">
          <QuestionText item={item} name={item.key} />
          <Ended item={item} isLate={late.has(item.key)} />
        </article>
      ))}
      {isAllowed && open.length > 0 && <AnswerForm items={open} onLate={onLate} />}
      {!isAllowed &&
        open.map((item) => (
          <article key={item.key} class="question">
            <QuestionText item={item} name={item.key} />
          </article>
        ))}
      {!isAllowed && (
        <Notice kind="hint">{[...new Set(open.map((item) => whyNot(item, me)))].join(" ")}</Notice>
      )}
    </>
  );
}

/** If someone else answers, the field that had the focus is gone. */
function useFocusAfterEnd(openCount: number): void {
  useEffect(() => {
    if (document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
  }, [openCount]);
}

interface EndedProps {
  readonly item: Item;
  /** The person has sent an answer, but was not the first. */
  readonly isLate: boolean;
}

function Ended({ item, isLate }: EndedProps): VNode {
  const { inbox } = useDesk();
  const end = useEnd(item);
  const by = end?.by ?? inbox.answered.get(item.key)?.by;
  return (
    <p class="notice hint" role="status">
      {end !== undefined && (
        <>
          <strong>
            <Line text={describeEnd(end)} />
          </strong>{" "}
        </>
      )}
      {by === undefined ? "No longer pending." : `Answered by ${describeBy(by)}.`}
      {isLate && " Your answer came later, and was not used."}
      {end?.note !== undefined && (
        <>
          {" "}
          Note: <Line text={end.note} />
        </>
      )}
    </p>
  );
}

/** How it ended. Events say only who has answered. */
function useEnd(item: Item): End | undefined {
  const { api } = useDesk();
  const [end, setEnd] = useState(item.end);
  useEffect(() => {
    if (item.end !== undefined) return;
    findItem(api, item).then(
      (found) => setEnd(found.end),
      () => undefined, // Who has answered is said anyway.
    );
  }, [item.key]);
  return item.end ?? end;
}
