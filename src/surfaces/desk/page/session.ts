/** State shared by all views while someone is logged in: pending decisions, changes, and actions. */
import { createContext } from "preact";
import { useCallback, useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isSameName } from "../../../record/conversation/index.ts";
import type { Clock } from "../../../util/index.ts";
import type { Connection, DeskClient } from "../client.ts";
import type { DeskEvent, DeskUser } from "../wire.ts";
import { DraftStore } from "./draft.ts";
import {
  EMPTY_INBOX,
  type Ended,
  type InboxState,
  withAnswered,
  withEvent,
  withList,
  withMore,
} from "./inbox-state.ts";
import { describeItem } from "./heading.tsx";
import { describeBy, type Item } from "./item.ts";
import type { PageSession } from "./page-session.ts";

/** The page's state and the actions of its views. */
export interface DeskContext {
  readonly client: DeskClient;
  readonly me: DeskUser;
  readonly inbox: InboxState;
  readonly connection: Connection;
  /** Grows whenever changes may have been missed, so that views reload. */
  readonly generation: number;
  readonly drafts: DraftStore;
  /** Shows a short message and announces it to screen readers. */
  readonly say: (message: string) => void;
  readonly markAnswered: (item: Item, ended: Ended) => void;
  /** Loads more pending decisions, if there are more. */
  readonly loadMore: () => Promise<void>;
  /** Returns the unsubscribe function. */
  readonly subscribe: (listener: Listener) => () => void;
}

const Context = createContext<DeskContext | undefined>(undefined);

export const DeskProvider = Context.Provider;

/** Throws outside of `DeskProvider`. */
export function useDesk(): DeskContext {
  const desk = useContext(Context);
  if (desk === undefined) throw new Error("No one is logged in.");
  return desk;
}

/** Calls the listener for each event while the component is shown. */
export function useEvents(listener: Listener, inputs: readonly unknown[]): void {
  const { subscribe } = useDesk();
  useEffect(() => subscribe(listener), [subscribe, ...inputs]);
}

/** The input of a session. */
export interface SessionOptions {
  readonly session: PageSession;
  readonly me: DeskUser;
  readonly say: (message: string | undefined) => void;
  readonly onLoggedOut: () => void;
}

type Listener = (event: DeskEvent) => void;

/** Any request may find that the session has ended. */
function useLoggedOut(session: PageSession, onLoggedOut: () => void): void {
  useEffect(() => {
    session.onLoggedOut = onLoggedOut;
    return () => {
      session.onLoggedOut = undefined;
    };
  }, [session, onLoggedOut]);
}

/** Listens to the server and updates the inbox. */
function useInbox({ session, me, say }: SessionOptions, listeners: ReadonlySet<Listener>) {
  const { client } = session;
  const [inbox, setInbox] = useState(EMPTY_INBOX);
  const latest = useRef<InboxState>(EMPTY_INBOX);
  const [connection, setConnection] = useState<Connection>("connecting");
  const [generation, setGeneration] = useState(0);
  const update = useCallback((change: (state: InboxState) => InboxState) => {
    latest.current = change(latest.current);
    setInbox(latest.current);
  }, []);
  const loadMore = useCallback(async () => {
    const before = latest.current;
    const { next: cursor } = before;
    if (cursor === undefined) return;
    try {
      const page = await client.pendingPage({ cursor });
      update((state) => withMore(state, before, page));
    } catch {
      // The person can retry.
    }
  }, [client]);
  useEffect(() => {
    const stop = new AbortController();
    const reload = async () => {
      const before = latest.current;
      setGeneration((count) => count + 1);
      try {
        const page = await client.pendingPage();
        update((state) => withList(state, before, page));
      } catch {
        // The stream breaks as well, or no one is logged in.
      }
    };
    const onEvent = (event: DeskEvent) => {
      if (event.type === "reset") return void reload();
      const before = latest.current;
      update((state) => withEvent(state, event));
      say(newsOf(before, latest.current, me));
      for (const listener of listeners) listener(event);
    };
    const onConnection = (state: Connection) => {
      setConnection(state);
      if (state === "live") void reload(); // Changes may have been missed while disconnected.
    };
    const listen = async () => {
      for await (const event of client.events(stop.signal, onConnection)) onEvent(event);
    };
    listen().catch(() => setConnection("lost")); // Refused: the session may have ended.
    return () => stop.abort();
  }, [client]);
  return { inbox, connection, generation, update, loadMore };
}

/** The state shared by all views. */
export function useSession(options: SessionOptions): DeskContext {
  const { session, me, say, onLoggedOut } = options;
  const { client } = session;
  const listeners = useRef(new Set<Listener>());
  const drafts = useMemo(() => new DraftStore(sessionStorage, me.name), [me.name]);
  const { inbox, connection, generation, update, loadMore } = useInbox(options, listeners.current);
  useLoggedOut(session, onLoggedOut);

  const subscribe = useCallback((listener: Listener) => {
    listeners.current.add(listener);
    return () => void listeners.current.delete(listener);
  }, []);
  const markAnswered = useCallback(
    (item: Item, ended: Ended) => update((state) => withAnswered(state, item, ended)),
    [],
  );
  return useMemo(
    () => ({
      client,
      me,
      inbox,
      connection,
      generation,
      drafts,
      say,
      markAnswered,
      loadMore,
      subscribe,
    }),
    [client, me, inbox, connection, generation, drafts],
  );
}

/** The message for a change: a new decision, or someone else's answer. */
export function newsOf(before: InboxState, after: InboxState, me: DeskUser): string | undefined {
  const added = after.items.find((item) => !before.items.some(({ key }) => key === item.key));
  if (added !== undefined) return `New: ${describeItem(added)}`;
  const gone = before.items.find((item) => !after.items.some(({ key }) => key === item.key));
  const by = gone === undefined ? undefined : after.answered.get(gone.key)?.answered_by;
  const isOwn = by?.name !== undefined && isSameName(by.name, me.name);
  if (gone === undefined || by === undefined || isOwn) return undefined;
  return `Answered by ${describeBy(by)}: ${describeItem(gone)}`;
}

/** Wakes early when the network or the person comes back. */
export const pageClock: Clock = { now: () => new Date(), sleep: wait };

async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = new AbortController();
    const end = () => {
      if (document.visibilityState === "hidden" && !signal.aborted) return;
      finish();
    };
    const finish = () => {
      done.abort();
      clearTimeout(timer);
      resolve();
    };
    // Spreads out reconnects from a desk's pages.
    const timer = setTimeout(finish, milliseconds * (0.5 + Math.random()));
    const options = { signal: done.signal };
    window.addEventListener("online", end, options);
    document.addEventListener("visibilitychange", end, options);
    signal.addEventListener("abort", finish, options);
  });
  signal.throwIfAborted();
}
