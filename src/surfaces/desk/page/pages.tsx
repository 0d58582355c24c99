/** A paged list, and its search box. */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Page } from "../wire.ts";
import { useDesk } from "./session.ts";
import { messageOf, Notice } from "./parts.tsx";

interface PagesProps<Item> {
  /** Identifies the query: if it changes, the list starts over. */
  readonly wanted: string;
  readonly load: (page: Paging) => Promise<Page<Item>>;
  /** Shown if there are no results. */
  readonly empty: string;
  readonly row: (item: Item) => VNode;
  readonly arrange?: (items: readonly Item[]) => readonly Item[];
  /** Draws the list around its rows. Defaults to cards. */
  readonly list?: (rows: ComponentChildren) => VNode;
}

/** A page of a list. */
export interface Paging {
  readonly limit: number;
  readonly cursor?: string;
}

const PAGE_SIZE = 50;

export function Pages<Item>(props: PagesProps<Item>): VNode {
  const { wanted, empty, row, arrange = (items) => items, list = cards } = props;
  const { generation } = useDesk();
  const [part, setPart] = useState<Page<Item>>();
  const [problem, setProblem] = useState<string>();
  const current = useRef(wanted);
  current.current = wanted;
  const load = async (before: Page<Item> | undefined) => {
    const cursor = before?.next;
    try {
      const page = { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
      const { items, next } = await props.load(page);
      if (current.current !== wanted) return; // The query has changed.
      setProblem(undefined);
      setPart({ items: [...(before?.items ?? []), ...items], ...(next !== undefined && { next }) });
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  useEffect(() => void load(undefined), [wanted, generation]);
  const items = arrange(part?.items ?? []);
  return (
    <>
      {problem !== undefined && <Notice>{problem}</Notice>}
      {part === undefined && problem === undefined && <p>Loading …</p>}
      {part !== undefined && items.length === 0 && <p class="empty">{empty}</p>}
      {items.length > 0 && list(items.map(row))}
      {part?.next !== undefined && (
        <button type="button" onClick={() => void load(part)}>
          Show more
        </button>
      )}
    </>
  );
}

function cards(rows: ComponentChildren): VNode {
  return <ul class="cards">{rows}</ul>;
}

interface SearchProps {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** The search starts once the person stops typing. */
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
