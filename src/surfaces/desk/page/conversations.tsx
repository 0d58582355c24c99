/** The list of conversations, with search. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ChangedConversation, ConversationJson } from "../wire.ts";
import { timeOf } from "./item.ts";
import { Pages, SearchBox } from "./pages.tsx";
import { Ago, Line, Title } from "./parts.tsx";
import { conversationLink } from "./route.ts";
import { useDesk, useEvents } from "./session.ts";

export function Conversations(): VNode {
  const { client } = useDesk();
  const [text, setText] = useState("");
  const [fresh, setFresh] = useState<ReadonlyMap<string, ChangedConversation>>(new Map());
  useEvents(({ type, data }) => {
    if (type === "conversation") setFresh((before) => new Map(before).set(keyOf(data), data));
  }, []);
  return (
    <>
      <Title>Conversations</Title>
      <SearchBox label="Search conversations" text={text} onText={setText} />
      <Pages
        wanted={text}
        load={(page) => client.conversations({ ...page, ...(text !== "" && { text }) })}
        empty={text === "" ? "No conversations yet." : "No matching conversations."}
        arrange={(items) => arrange(items, fresh, text === "")}
        row={(json) => <Row key={keyOf(json)} json={json} />}
      />
    </>
  );
}

/** Applies updates. New conversations come first, unless the list shows search results. */
function arrange(
  items: readonly ConversationJson[],
  fresh: ReadonlyMap<string, ChangedConversation>,
  isWhole: boolean,
): readonly ConversationJson[] {
  const listed = new Set(items.map(keyOf));
  const added = isWhole ? [...fresh.values()].filter((json) => !listed.has(keyOf(json))) : [];
  const all = [...added.toReversed(), ...items.map((json) => fresh.get(keyOf(json)) ?? json)];
  return all.filter((json) => !("removed" in json));
}

function keyOf({ workspace, id }: Pick<ConversationJson, "workspace" | "id">): string {
  return JSON.stringify([workspace, id]);
}

function Row({ json }: { readonly json: ConversationJson }): VNode {
  const { id, workspace, state, title } = json;
  const last = timeOf(json.last_event_at) ?? timeOf(json.last_activated_at);
  return (
    <li>
      <a class="card" data-item href={conversationLink({ conversation: id, workspace })}>
        <strong class="card-text">
          <Line text={title ?? id} />
        </strong>
        <span class="facts">
          {state !== undefined && <StateBadge state={state} />}
          {last !== undefined && <Ago at={last} />}
        </span>
      </a>
    </li>
  );
}

/** The last turn's state, if it is not complete. */
export function StateBadge({ state }: { readonly state: string }): VNode {
  return (
    <span class="badge">
      <Line text={state.replaceAll(/[_-]/g, " ")} />
    </span>
  );
}
