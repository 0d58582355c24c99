/** Every decision on record: who asked for it, who made it, and how it ended. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { DECIDERS, DECISION_KINDS } from "../../conversation/index.ts";
import { describeChanged, INQUIRY_STATES, verbatimProse } from "../../render/index.ts";
import type { DecisionJson, InquiryQuery } from "../wire.ts";
import { askerOf, describeBy, describeEnd, readItem, timeOf } from "./item.ts";
import { Pages, SearchBox } from "./pages.tsx";
import { Line, Summary, Time, Title, Value } from "./parts.tsx";
import { conversationLink, inquiryLink } from "./route.ts";
import { useDesk } from "./session.ts";

export function Audit(): VNode {
  const { client } = useDesk();
  const [query, setQuery] = useState<InquiryQuery>({});
  const set = <Name extends "text" | "kind" | "outcome" | "by">(
    name: Name,
    value: InquiryQuery[Name] | "",
  ) => {
    const { [name]: _before, ...others } = query;
    setQuery(value === "" ? others : { ...others, [name]: value });
  };
  const { text = "", kind = "", outcome = "", by = "" } = query;
  return (
    <>
      <Title>Audit</Title>
      <div class="filters">
        <SearchBox label="Search decisions" text={text} onText={(words) => set("text", words)} />
        <Filter
          label="Kind"
          values={DECISION_KINDS}
          value={kind}
          onValue={(one) => set("kind", one)}
        />
        <Filter
          label="Outcome"
          values={INQUIRY_STATES}
          value={outcome}
          onValue={(one) => set("outcome", one)}
        />
        <Filter label="Decided by" values={DECIDERS} value={by} onValue={(one) => set("by", one)} />
      </div>
      <Pages
        wanted={JSON.stringify(query)}
        load={(page) => client.inquiries({ ...query, ...page })}
        empty={Object.keys(query).length > 0 ? "No matching decisions." : "No decisions yet."}
        row={(json) => (
          <Row
            key={JSON.stringify([json.workspace, json.conversation, json.turn, json.id])}
            json={json}
          />
        )}
      />
    </>
  );
}

interface FilterProps<Value extends string> {
  readonly label: string;
  readonly values: readonly Value[];
  readonly value: string;
  readonly onValue: (value: Value | "") => void;
}

function Filter<Value extends string>({ label, values, value, onValue }: FilterProps<Value>) {
  const id = `filter-${label.toLowerCase().replaceAll(" ", "-")}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) =>
          onValue(values.find((each) => each === currentTarget.value) ?? "")
        }
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

/** Enough to tell two digests apart at a glance; the whole one is on the page of the decision. */
const DIGEST_DIGITS = 12;

function Row({ json }: { readonly json: DecisionJson }): VNode {
  const item = readItem(json);
  if (item === undefined)
    return <li class="card">This version of the page cannot show this decision.</li>;
  const { answered_digest: decided = item.digest } = item;
  const at = timeOf(item.answered_at) ?? timeOf(item.asked_at);
  return (
    <li class="card">
      <a class="card-text" data-item href={inquiryLink(item)}>
        <Summary text={item.question.text} acts={item.acts} />
      </a>
      <Outcome json={json} />
      <span class="facts">
        <span>{item.kind.replaceAll("_", " ")}</span>
        <span>
          asked by <Line text={askerOf(item)} />
        </span>
        {at !== undefined && <Time at={at} />}
        <a href={conversationLink(item)}>
          <Line text={item.conversation} />
        </a>
        {decided !== undefined && (
          <span title={decided}>
            digest <Value text={decided.slice(0, DIGEST_DIGITS)} />
          </span>
        )}
      </span>
    </li>
  );
}

/** How it ended, who decided, and whether it still counts. */
function Outcome({ json }: { readonly json: DecisionJson }): VNode {
  const { answered_by: by, note, void: changed } = json;
  return (
    <span class="outcome prose" dir="auto">
      <strong>{describeEnd(json)}</strong>
      {by !== undefined && ` by ${describeBy(by)}`}
      {note !== undefined && ` with the note “${verbatimProse(note)}”`}
      {changed !== undefined && (
        <span class="urgent">, void: {describeChanged(changed)} changed</span>
      )}
    </span>
  );
}
