/** A list that comes in pages, and the box that searches it. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { JsonObject } from "../../util/index.ts";
import type { ListPart, Query } from "./api.ts";
import { useDesk } from "./session.ts";
import { messageOf, Notice } from "./parts.tsx";

interface PagesProps {
  readonly what: "inquiries" | "conversations";
  readonly query: Query;
  /** Shown if nothing is found. */
  readonly empty: string;
  readonly row: (json: JsonObject) => VNode;
  readonly arrange?: (items: readonly JsonObject[]) => readonly JsonObject[];
}

export function Pages({ what, query, empty, row, arrange = (items) => items }: PagesProps): VNode {
  const { api, generation } = useDesk();
  const [part, setPart] = useState<ListPart>();
  const [problem, setProblem] = useState<string>();
  const wanted = JSON.stringify(query);
  const current = useRef(wanted);
  current.current = wanted;
  const load = async (before: ListPart | undefined) => {
    try {
      const { items, next } = await api.list(what, { ...query, limit: "50", cursor: before?.next });
      if (current.current !== wanted) return; // Something else is wanted by now.
      setProblem(undefined);
      setPart({ items: [...(before?.items ?? []), ...items], ...(next !== undefined && { next }) });
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  useEffect(() => void load(undefined), [what, wanted, generation]);
  const items = arrange(part?.items ?? []);
  return (
    <>
      {problem !== undefined && <Notice>{problem}</Notice>}
      {part === undefined && problem === undefined && <p>Loading …</p>}
      {part !== undefined && items.length === 0 && <p class="empty">{empty}</p>}
      <ul class="cards">{items.map(row)}</ul>
      {part?.next !== undefined && (
        <button type="button" onClick={() => void load(part)}>
          Show more
        </button>
      )}
    </>
  );
}

interface SearchProps {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** Searching waits until the person stops typing. */
const PAUSE_MS = 300;

export function SearchBox({ label, text, onText }: SearchProps): VNode {
  const [typed, setTyped] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => onText(typed.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <form
      role="search"
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        onText(typed.trim());
      }}
    >
      <label for="search">{label}</label>
      <input
        id="search"
        type="search"
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </form>
  );
}
