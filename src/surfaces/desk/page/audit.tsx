/** All recorded decisions: who asked, who decided, and the outcome. */
import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { DECIDERS, DECISION_KINDS } from "../../../record/conversation/index.ts";
import { describeVoidCause, INQUIRY_STATES, verbatimProse } from "../../render/index.ts";
import type { DecisionJson, InquiryQuery } from "../wire.ts";
import { Subject } from "./heading.tsx";
import { askerOf, describeBy, describeEnd, type Item, readItem, timeOf } from "./item.ts";
import { Pages, SearchBox } from "./pages.tsx";
import { Ago, Line, Title, useIsWide } from "./parts.tsx";
import { conversationLink, inquiryLink } from "./route.ts";
import { useDesk } from "./session.ts";

export function Audit(): VNode {
  const { client } = useDesk();
  const isWide = useIsWide();
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
        {...(isWide && { list: table })}
        row={(json) => {
          const key = JSON.stringify([json.workspace, json.conversation, json.turn, json.id]);
          return isWide ? <Row key={key} json={json} /> : <Card key={key} json={json} />;
        }}
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

const COLUMNS = ["When", "What", "Outcome", "Decided by", "Asked by", "Conversation"];

function table(rows: ComponentChildren): VNode {
  return (
    <table class="audit">
      <thead>
        <tr>
          {COLUMNS.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{rows}</tbody>
    </table>
  );
}

const UNKNOWN = "This version of the page cannot show this decision.";

function Row({ json }: { readonly json: DecisionJson }): VNode {
  const item = readItem(json);
  if (item === undefined) {
    return (
      <tr>
        <td colSpan={COLUMNS.length}>{UNKNOWN}</td>
      </tr>
    );
  }
  const { answered_by: by } = json;
  return (
    <tr>
      <td class="when">
        <When item={item} />
      </td>
      <td>
        <What item={item} />
      </td>
      <td>
        <Outcome json={json} />
      </td>
      <td class="prose">{by !== undefined && describeBy(by)}</td>
      <td>
        <Line text={askerOf(item)} />
      </td>
      <td>
        <Where item={item} />
      </td>
    </tr>
  );
}

function Card({ json }: { readonly json: DecisionJson }): VNode {
  const item = readItem(json);
  if (item === undefined) return <li class="card">{UNKNOWN}</li>;
  const { answered_by: by } = json;
  return (
    <li class="card">
      <What item={item} />
      <span class="outcome">
        <Outcome json={json} />
        {by !== undefined && <span class="prose"> by {describeBy(by)}</span>}
      </span>
      <span class="facts">
        <When item={item} />
        <span>
          asked by <Line text={askerOf(item)} />
        </span>
        <Where item={item} />
      </span>
    </li>
  );
}

function When({ item }: { readonly item: Item }): VNode | null {
  const at = timeOf(item.answered_at) ?? timeOf(item.asked_at);
  return at === undefined ? null : <Ago at={at} />;
}

function What({ item }: { readonly item: Item }): VNode {
  return (
    <a class="card-text" data-item href={inquiryLink(item)}>
      <Subject item={item} />
    </a>
  );
}

function Where({ item }: { readonly item: Item }): VNode {
  return (
    <a href={conversationLink(item)}>
      <Line text={item.title ?? item.conversation} />
    </a>
  );
}

/** The outcome, and whether it still counts. */
function Outcome({ json }: { readonly json: DecisionJson }): VNode {
  const { note, void: changed } = json;
  return (
    <span class="prose" dir="auto">
      <strong>{describeEnd(json)}</strong>
      {note !== undefined && ` with the note “${verbatimProse(note)}”`}
      {changed !== undefined && <span class="urgent">, void: {describeVoidCause(changed)}</span>}
    </span>
  );
}
