/** The inbox: pending decisions, oldest first, and those answered while the page was open. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { isMine, whomText } from "./draft.ts";
import { areCalls, type EndedItem, type Form, toForms } from "./inbox-state.ts";
import { Asker, fileChangeOf, Subject } from "./heading.tsx";
import {
  argumentsLine,
  describeBy,
  type Item,
  summaryOf,
  showValue,
  timeOf,
  unsaidOf,
} from "./item.ts";
import { Deadline, Drawn, Line, SoFar, Title, Value, Waited } from "./parts.tsx";
import { inquiryLink } from "./route.ts";
import { useDesk } from "./session.ts";

/** Drawn at once; a button draws more. */
const STEP = 100;
/** How many answered items are listed, latest first. */
const MAX_ANSWERED = 5;
/** How many questions of a long form are listed. */
const MAX_LISTED = 4;

/** Labels by kind. */
const KIND_WORDS: Readonly<Record<Item["kind"], string>> = {
  question: "Question",
  permission: "Permission",
  delivery: "Result",
  in_doubt: "Interrupted call",
};

export function Inbox(): VNode {
  const { inbox, me, loadMore } = useDesk();
  const [count, setCount] = useState(STEP);
  const { items, isLoaded, answered, next } = inbox;
  const all = toForms(items);
  const own = all.filter(([item]) => isMine(item, me));
  // Decisions for others are listed below, to read.
  const forms = [...own, ...all.filter((form) => !own.includes(form))];
  const hasSeveral = new Set(items.map(({ workspace }) => workspace)).size > 1;
  return (
    <>
      <Title>Inbox</Title>
      {!isLoaded && <p>Loading …</p>}
      {isLoaded && items.length === 0 && next === undefined && (
        <div class="empty">
          <p>Nothing is waiting.</p>
          <p class="hint">New questions appear here automatically.</p>
        </div>
      )}
      {forms.length > 0 && (
        <ul class="cards">
          {forms.slice(0, count).map((form) => (
            <Card
              key={form[0].key}
              form={form}
              showsWorkspace={hasSeveral}
              isMine={own.includes(form)}
            />
          ))}
        </ul>
      )}
      {forms.length > count && (
        <button type="button" onClick={() => setCount(count + STEP)}>
          Show {Math.min(STEP, forms.length - count)} more
        </button>
      )}
      {forms.length <= count && next !== undefined && (
        <button type="button" onClick={() => void loadMore()}>
          Load more
        </button>
      )}
      <AnsweredList answered={[...answered.values()].slice(-MAX_ANSWERED).toReversed()} />
    </>
  );
}

interface CardProps {
  readonly form: Form;
  readonly showsWorkspace: boolean;
  readonly isMine: boolean;
}

function Card({ form, showsWorkspace, isMine: isOwn }: CardProps): VNode {
  const [item] = form;
  const { kind, title, conversation, workspace } = item;
  const deadline = timeOf(item.deadline);
  const isChange = fileChangeOf(item) !== undefined;
  const titles = new Set(form.map((each) => each.title ?? each.conversation));
  const whom = whomText(item);
  return (
    <li>
      <a class="card" data-item href={inquiryLink(item)}>
        <span class="card-top">
          <span class={`badge badge-${kind}`}>
            {form.length === 1
              ? KIND_WORDS[kind]
              : `${form.length} ${areCalls(form) ? "calls" : "questions"}`}
          </span>
          {deadline !== undefined && <Deadline at={deadline} />}
          <span class="card-time">
            <Waited since={timeOf(item.asked_at) ?? 0} />
          </span>
        </span>
        {form.slice(0, MAX_LISTED).map((each) => (
          <strong key={each.key} class="card-text">
            <Subject item={each} />
          </strong>
        ))}
        {form.length > MAX_LISTED && <span>and {form.length - MAX_LISTED} more</span>}
        {!isChange && kind !== "permission" && <Detail item={item} />}
        <span class="facts">
          {kind === "question" && !isChange && (
            <span>
              <Asker item={item} />
            </span>
          )}
          <span>
            <Line
              text={titles.size > 1 ? `${titles.size} conversations` : (title ?? conversation)}
            />
          </span>
          {showsWorkspace && (
            <span>
              <Value text={workspace} />
            </span>
          )}
          {whom !== undefined && (
            <span>
              for <Line text={whom} />
              {!isOwn && ", not for you"}
            </span>
          )}
          <SoFar item={item} />
        </span>
      </a>
    </li>
  );
}

/** A call's arguments, as far as its question does not show them, or its result. */
function Detail({ item }: { readonly item: Item }): VNode | null {
  const { result } = item;
  const line =
    result === undefined
      ? argumentsLine(unsaidOf(item) ?? {})
      : summaryOf(result.content, showValue);
  if (line === "") return null;
  return (
    <code class="card-detail">
      <Drawn text={line} />
    </code>
  );
}

function AnsweredList({ answered }: { readonly answered: readonly EndedItem[] }): VNode | null {
  const known = answered.flatMap(({ item, ...end }) =>
    item === undefined ? [] : [{ item, ...end }],
  );
  if (known.length === 0) return null;
  return (
    <section aria-labelledby="answered">
      <h2 id="answered">Recently answered</h2>
      <ul class="plain-list">
        {known.map(({ item, answered_by: by, void: changed }) => (
          <li key={item.key}>
            <a data-item href={inquiryLink(item)}>
              <Subject item={item} />
            </a>{" "}
            <span class="hint">
              {changed !== undefined && "asked again"}
              {changed === undefined &&
                (by === undefined ? "no longer pending" : `answered by ${describeBy(by)}`)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
