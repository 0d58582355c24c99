/** What all views share, for as long as someone is logged in: what waits and changes, and what can be done. */
import { createContext } from "preact";
import { useCallback, useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { oneLine } from "../../render/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { Api, Me } from "./api.ts";
import { DraftStore } from "./draft.ts";
import { EMPTY_INBOX, type InboxState, withAnswered, withEvent, withList } from "./inbox-state.ts";
import { describeBy, type Item } from "./item.ts";
import { summaryOf } from "./markdown.tsx";
import { type Connection, listen } from "./live.ts";
import type { StreamEvent } from "../event-parser.ts";

/** The state of the page, and what views can do. */
export interface DeskContext {
  readonly api: Api;
  readonly me: Me;
  readonly inbox: InboxState;
  readonly connection: Connection;
  /** Grows whenever changes may have been missed, so that views read again. */
  readonly generation: number;
  readonly drafts: DraftStore;
  /** Shows a short message, and reads it to those who cannot see it. */
  readonly say: (message: string) => void;
  readonly markAnswered: (key: string, by: JsonObject | undefined) => void;
  /** Returns what ends it. */
  readonly subscribe: (listener: (event: StreamEvent) => void) => () => void;
}

const Context = createContext<DeskContext | undefined>(undefined);

export const DeskProvider = Context.Provider;

/** Throws outside of `DeskProvider`. */
export function useDesk(): DeskContext {
  const desk = useContext(Context);
  if (desk === undefined) throw new Error("No one is logged in.");
  return desk;
}

/** Calls the listener for each event as long as the component is shown. */
export function useEvents(
  listener: (event: StreamEvent) => void,
  inputs: readonly unknown[],
): void {
  const { subscribe } = useDesk();
  useEffect(() => subscribe(listener), [subscribe, ...inputs]);
}

/** What a session needs. */
export interface SessionOptions {
  readonly api: Api;
  readonly me: Me;
  readonly say: (message: string | undefined) => void;
  readonly onLoggedOut: () => void;
}

type Listener = (event: StreamEvent) => void;

/** Whichever request finds out first. */
function useLoggedOut(api: Api, onLoggedOut: () => void): void {
  useEffect(() => {
    api.onLoggedOut = onLoggedOut;
    return () => {
      api.onLoggedOut = undefined;
    };
  }, [api, onLoggedOut]);
}

/** Listens to the server, and keeps the inbox. */
export function useSession({ api, me, say, onLoggedOut }: SessionOptions): DeskContext {
  const [inbox, setInbox] = useState(EMPTY_INBOX);
  const latest = useRef<InboxState>(EMPTY_INBOX);
  const [connection, setConnection] = useState<Connection>("connecting");
  const [generation, setGeneration] = useState(0);
  const listeners = useRef(new Set<Listener>());
  const drafts = useMemo(() => new DraftStore(sessionStorage, me.name), [me.name]);

  const update = useCallback((change: (state: InboxState) => InboxState) => {
    latest.current = change(latest.current);
    setInbox(latest.current);
  }, []);
  useEffect(() => {
    const stop = new AbortController();
    const reload = async () => {
      const before = latest.current;
      setGeneration((count) => count + 1);
      try {
        const list = await api.listPending();
        update((state) => withList(state, before, list));
      } catch {
        // The stream breaks too, or no one is logged in.
      }
    };
    const onEvent = (event: StreamEvent) => {
      if (event.type === "reset") return void reload();
      const before = latest.current;
      update((state) => withEvent(state, event));
      say(newsOf(before, latest.current, me));
      for (const listener of listeners.current) listener(event);
    };
    const onConnection = (state: Connection) => {
      setConnection(state);
      if (state === "live") void reload(); // Whatever happened while there was no connection.
    };
    void listen(api, { onEvent, onConnection, onLoggedOut, signal: stop.signal, wait });
    return () => stop.abort();
  }, [api]);
  useLoggedOut(api, onLoggedOut);

  const subscribe = useCallback((listener: Listener) => {
    listeners.current.add(listener);
    return () => void listeners.current.delete(listener);
  }, []);
  const markAnswered = useCallback(
    (key: string, by: JsonObject | undefined) => update((state) => withAnswered(state, key, by)),
    [],
  );
  return useMemo(
    () => ({
      api,
      me,
      inbox,
      connection,
      generation,
      drafts,
      say,
      markAnswered,
      subscribe,
    }),
    [api, me, inbox, connection, generation, drafts],
  );
}

/** What to tell about a change: something new, or that someone else has answered. */
export function newsOf(before: InboxState, after: InboxState, me: Me): string | undefined {
  const added = after.items.find((item) => !before.items.some(({ key }) => key === item.key));
  if (added !== undefined) return `New: ${nameOf(added)}`;
  const gone = before.items.find((item) => !after.items.some(({ key }) => key === item.key));
  const by = gone === undefined ? undefined : after.answered.get(gone.key)?.by;
  if (gone === undefined || by === undefined || by["name"] === me.name) return undefined;
  return `Answered by ${describeBy(by)}: ${nameOf(gone)}`;
}

function nameOf({ asker, question }: Item): string {
  return `${oneLine(asker)}: ${summaryOf(question.text)}`;
}

/** Resolves early if the network comes back, or the person comes back to the page. */
function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
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
    // Not all pages of a desk come back in the same moment.
    const timer = setTimeout(finish, milliseconds * (0.5 + Math.random()));
    const options = { signal: done.signal };
    window.addEventListener("online", end, options);
    document.addEventListener("visibilitychange", end, options);
    signal.addEventListener("abort", finish, options);
  });
}
