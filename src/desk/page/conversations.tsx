/** The list of conversations, with search. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { JsonObject } from "../../util/index.ts";
import { useEvents } from "./session.ts";
import { stringOf, timeOf } from "./item.ts";
import { Pages, SearchBox } from "./pages.tsx";
import { Line, Time, Title } from "./parts.tsx";
import { conversationLink } from "./route.ts";

export function Conversations(): VNode {
  const [text, setText] = useState("");
  const [fresh, setFresh] = useState<ReadonlyMap<string, JsonObject>>(new Map());
  useEvents(({ type, data }) => {
    if (type === "conversation") setFresh((before) => new Map(before).set(keyOf(data), data));
  }, []);
  return (
    <>
      <Title>Conversations</Title>
      <SearchBox label="Search conversations" text={text} onText={setText} />
      <Pages
        what="conversations"
        query={{ text }}
        empty={text === "" ? "No conversations yet." : "No matching conversations."}
        arrange={(items) => arrange(items, fresh, text === "")}
        row={(json) => <Row key={keyOf(json)} json={fresh.get(keyOf(json)) ?? json} />}
      />
    </>
  );
}

/** New conversations come first, unless the list shows the result of a search. */
function arrange(
  items: readonly JsonObject[],
  fresh: ReadonlyMap<string, JsonObject>,
  isWhole: boolean,
): readonly JsonObject[] {
  if (!isWhole) return items;
  const listed = new Set(items.map(keyOf));
  const added = [...fresh.values()].filter((json) => !listed.has(keyOf(json))).toReversed();
  return [...added, ...items];
}

function keyOf(json: JsonObject): string {
  return JSON.stringify([json["workspace"] ?? "", json["id"] ?? ""]);
}

function Row({ json }: { readonly json: JsonObject }): VNode {
  const id = stringOf(json["id"]) ?? "";
  const state = stringOf(json["state"]);
  const last = timeOf(json["last_event_at"]) ?? timeOf(json["last_activated_at"]);
  const workspace = stringOf(json["workspace"]);
  return (
    <li>
      <a class="card" data-item href={conversationLink({ conversation: id, workspace })}>
        <strong class="card-text">
          <Line text={stringOf(json["title"]) ?? id} />
        </strong>
        <span class="facts">
          {state !== undefined && <StateBadge state={state} />}
          {last !== undefined && <Time at={last} />}
          <span>
            <Line text={id} />
          </span>
        </span>
      </a>
    </li>
  );
}

/** How the last turn stands, if it is not complete. */
export function StateBadge({ state }: { readonly state: string }): VNode {
  return (
    <span class="badge">
      <Line text={state.replaceAll(/[_-]/g, " ")} />
    </span>
  );
}
