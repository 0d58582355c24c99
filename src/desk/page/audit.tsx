/** Every question on record: who asked, who answered, and how it ended. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { oneLine } from "../../render/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { describeBy, describeEnd, type Item, readItem } from "./item.ts";
import { summaryOf } from "./markdown.tsx";
import { Pages, SearchBox } from "./pages.tsx";
import { Line, Time, Title } from "./parts.tsx";
import { conversationLink, inquiryLink } from "./route.ts";

const OUTCOMES = ["answered", "redacted", "cancelled", "unanswered"];
const DECIDERS = ["user", "assistant", "config", "remembered", "policy", "default", "answers_file"];

export function Audit(): VNode {
  const [text, setText] = useState("");
  const [outcome, setOutcome] = useState("");
  const [by, setBy] = useState("");
  const isFiltered = [text, outcome, by].some((filter) => filter !== "");
  return (
    <>
      <Title>Audit</Title>
      <div class="filters">
        <SearchBox label="Search questions" text={text} onText={setText} />
        <Filter
          name="outcome"
          label="Outcome"
          values={OUTCOMES}
          value={outcome}
          onValue={setOutcome}
        />
        <Filter name="by" label="Answered by" values={DECIDERS} value={by} onValue={setBy} />
      </div>
      <Pages
        what="inquiries"
        query={{ text, outcome, by }}
        empty={isFiltered ? "No matching questions." : "No questions yet."}
        row={(json) => (
          <Row
            key={JSON.stringify([
              json["workspace"],
              json["conversation"],
              json["turn"],
              json["id"],
            ])}
            json={json}
          />
        )}
      />
    </>
  );
}

interface FilterProps {
  readonly name: string;
  readonly label: string;
  readonly values: readonly string[];
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function Filter({ name, label, values, value, onValue }: FilterProps): VNode {
  return (
    <div class="field">
      <label for={`filter-${name}`}>{label}</label>
      <select
        id={`filter-${name}`}
        value={value}
        onChange={({ currentTarget }) => onValue(currentTarget.value)}
      >
        <option value="">any</option>
        {values.map((each) => (
          <option key={each} value={each}>
            {each.replaceAll("_", " ")}
          </option>
        ))}
      </select>
    </div>
  );
}

function Row({ json }: { readonly json: JsonObject }): VNode {
  const item = readItem(json);
  if (item === undefined)
    return <li class="card">This version of the page cannot show this question.</li>;
  const { question, asker, askedAt, conversation, title, end } = item;
  return (
    <li class="card">
      <a class="card-text" data-item href={inquiryLink(item)}>
        {summaryOf(question.text)}
      </a>
      <Outcome item={item} />
      <span class="facts">
        <span>
          asked by <Line text={asker} />
        </span>
        <Time at={end?.at ?? askedAt} />
        <a href={conversationLink(item)}>
          <Line text={title ?? conversation} />
        </a>
      </span>
    </li>
  );
}

function Outcome({ item: { end } }: { readonly item: Item }): VNode {
  if (end === undefined) return <span class="outcome">unanswered</span>;
  return (
    <span class="outcome" dir="auto">
      <strong>{oneLine(describeEnd(end))}</strong>
      {end.by !== undefined && ` by ${describeBy(end.by)}`}
      {end.note !== undefined && ` with the note “${oneLine(end.note)}”`}
    </span>
  );
}
