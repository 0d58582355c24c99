/** The whole page: login, the open view, and its frame. */
import type { ComponentChildren, VNode } from "preact";
import { useCallback, useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import { type Connection, DeskError } from "../client.ts";
import type { DeskUser } from "../wire.ts";
import { Audit } from "./audit.tsx";
import { ConversationView } from "./conversation.tsx";
import { Conversations } from "./conversations.tsx";
import { Inbox } from "./inbox.tsx";
import { toForms } from "./inbox-state.ts";
import { keyOf } from "./item.ts";
import { Login } from "./login.tsx";
import { AccountNotices } from "./account-notices.tsx";
import type { PageSession } from "./page-session.ts";
import { Line, messageOf, Notice, Title } from "./parts.tsx";
import { Passkeys } from "./passkeys.tsx";
import { People } from "./people.tsx";
import { Phone } from "./phone.tsx";
import { InquiryView } from "./question.tsx";
import { isOneTime, loginCode, parseRoute, passkeyCode, type Route } from "./route.ts";
import { DeskProvider, useSession } from "./session.ts";
import { Shortcuts } from "./shortcuts.tsx";

type Entry =
  | { readonly type: "starting" }
  | { readonly type: "out"; readonly problem?: string | undefined }
  | { readonly type: "in"; readonly me: DeskUser };

/** Logs in with the code in the address, if there is one, else with an earlier login's key. */
export function App({ session }: { readonly session: PageSession }): VNode {
  const [entry, setEntry] = useState<Entry>({ type: "starting" });
  const [link, setLink] = useState<string>();
  const enter = useCallback(
    async (login?: string) => {
      try {
        setEntry({ type: "in", me: await session.enter(login) });
      } catch (error) {
        const isUnknown = error instanceof DeskError && error.status === 401;
        const problem = login === undefined && isUnknown ? undefined : loginProblem(error);
        setEntry({ type: "out", problem });
      }
    },
    [session],
  );
  const onLoggedOut = useCallback(
    () => setEntry({ type: "out", problem: "You are no longer logged in." }),
    [],
  );
  useEffect(() => {
    const start = () => {
      const taken = takePasskeyCode();
      if (taken !== undefined) setLink(taken);
      const code = takeLoginCode();
      if (code !== undefined) void enter(code);
    };
    setLink(takePasskeyCode());
    void enter(takeLoginCode());
    window.addEventListener("hashchange", start);
    return () => window.removeEventListener("hashchange", start);
  }, [enter]);
  if (entry.type === "starting") return <p class="starting">Loading …</p>;
  if (entry.type === "out") {
    return <Login problem={entry.problem} hasLink={link !== undefined} onLogin={enter} />;
  }
  const logOut = async () => {
    await session.leave();
    setEntry({ type: "out" });
  };
  return (
    <LoggedIn
      session={session}
      me={entry.me}
      link={link}
      onLinkUsed={() => setLink(undefined)}
      onLoggedOut={onLoggedOut}
      onLogOut={() => void logOut()}
    />
  );
}

/** Removes the code from the address, so that it is neither kept in the history nor shared by accident. */
function takeLoginCode(): string | undefined {
  const code = loginCode(location.hash);
  if (code !== undefined) history.replaceState(null, "", "#/");
  return code !== undefined && isOneTime(code) ? code : undefined;
}

/** Removes a passkey link's code from the address, for the same reason. */
function takePasskeyCode(): string | undefined {
  const code = passkeyCode(location.hash);
  if (code !== undefined) history.replaceState(null, "", "#/");
  return code;
}

function loginProblem(error: unknown): string {
  if (error instanceof DeskError && (error.status === 401 || error.status === 403)) {
    return "This login is invalid, expired or already used.";
  }
  return messageOf(error);
}

interface LoggedInProps extends LinkProps {
  readonly session: PageSession;
  readonly me: DeskUser;
  readonly onLoggedOut: () => void;
  readonly onLogOut: () => void;
}

interface LinkProps {
  /** The code of a link that allows adding a passkey. */
  readonly link: string | undefined;
  readonly onLinkUsed: () => void;
}

function LoggedIn({ onLogOut, link, onLinkUsed, ...options }: LoggedInProps): VNode {
  const { me } = options;
  const { message, say } = useMessage();
  const desk = useSession({ ...options, say });
  const route = useRoute();
  const count = toForms(desk.inbox.items).length; // As many as the inbox has cards.
  useFocusOnChange(route);
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ""}${TITLES[route.view]} · jp desk`;
  }, [count, route.view]);
  return (
    <DeskProvider value={desk}>
      <a class="skip" href="#content" onClick={skipToContent}>
        Skip to content
      </a>
      <header>
        <Navigation view={route.view} count={count} />
        <ConnectionState connection={desk.connection} />
        <Account
          me={me}
          link={link}
          onLinkUsed={onLinkUsed}
          onLogOut={() => {
            desk.drafts.clear();
            onLogOut();
          }}
        />
      </header>
      <main id="content" class={`view-${route.view}`} tabIndex={-1}>
        <div class="above">
          <Back view={route.view} />
          <p class="message" role="status">
            {message}
          </p>
        </div>
        <AccountNotices me={me} />
        <Guarded key={JSON.stringify(route)}>
          <View route={route} />
        </Guarded>
      </main>
    </DeskProvider>
  );
}

const MESSAGE_MS = 5000;

/** Shows a short message for a moment. It has its own place, so that it neither covers nor moves anything. */
function useMessage() {
  const [shown, setShown] = useState({ text: "" });
  const say = useCallback((text: string | undefined) => {
    if (text !== undefined) setShown({ text });
  }, []);
  useEffect(() => {
    if (shown.text === "") return;
    const timer = setTimeout(() => setShown({ text: "" }), MESSAGE_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return { message: shown.text, say };
}

/** Leads from an item back to its list. */
function Back({ view }: { readonly view: Route["view"] }): VNode | null {
  if (view === "inquiry") return <a href="#/">← Inbox</a>;
  if (view === "conversation") return <a href="#/conversations">← Conversations</a>;
  return null;
}

/** The logged-in person, and the actions that concern them rather than a view. */
function Account({
  me,
  link,
  onLinkUsed,
  onLogOut,
}: LinkProps & {
  readonly me: DeskUser;
  readonly onLogOut: () => void;
}): VNode {
  const shortcuts = useRef<HTMLDialogElement>(null);
  const [openings, setOpenings] = useState(0);
  const [passkeys, setPasskeys] = useState(0);
  const [people, setPeople] = useState(0);
  useEffect(() => {
    if (link !== undefined) setPasskeys((count) => count + 1);
  }, [link]);
  return (
    <>
      <button type="button" class="quiet account" popovertarget="account">
        <Line text={me.name} />
      </button>
      <div id="account" popover="auto" role="group" aria-label="Account">
        <DialogButton onOpen={() => setOpenings((count) => count + 1)}>
          Open on your phone
        </DialogButton>
        <DialogButton onOpen={() => setPasskeys((count) => count + 1)}>Passkeys</DialogButton>
        {me.rights.includes("administer") && (
          <DialogButton onOpen={() => setPeople((count) => count + 1)}>People</DialogButton>
        )}
        <DialogButton onOpen={() => shortcuts.current?.showModal()}>
          Keyboard shortcuts
        </DialogButton>
        <button type="button" class="quiet" onClick={onLogOut}>
          Log out
        </button>
      </div>
      <Phone openings={openings} />
      <Passkeys openings={passkeys} link={link} onLinkUsed={onLinkUsed} />
      <People openings={people} />
      <Shortcuts dialog={shortcuts} />
    </>
  );
}

/** An account menu entry that opens a dialog. */
function DialogButton({
  onOpen,
  children,
}: {
  readonly onOpen: () => void;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <button type="button" class="quiet" aria-haspopup="dialog" onClick={onOpen}>
      {children}
    </button>
  );
}

/** Keeps a view that fails to render from taking the others with it. */
function Guarded({ children }: { readonly children: ComponentChildren }): VNode {
  const [error] = useErrorBoundary() as [unknown, () => void]; // Anything can be thrown.
  if (error === undefined) return <>{children}</>;
  return (
    <>
      <Title>Something went wrong</Title>
      <Notice>This page cannot show it: {messageOf(error)}</Notice>
      <p>
        <a href="#/">Go to the inbox</a>
      </p>
    </>
  );
}

const TITLES: Readonly<Record<Route["view"], string>> = {
  inbox: "Inbox",
  inquiry: "Question",
  conversations: "Conversations",
  conversation: "Conversation",
  audit: "Audit",
  unknown: "Not found",
};

/** The fragment is the route, so the link must not change it. */
function skipToContent(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("main")?.focus();
}

function Navigation({
  view,
  count,
}: {
  readonly view: Route["view"];
  readonly count: number;
}): VNode {
  const links = [
    { href: "#/", text: "Inbox", isHere: view === "inbox" || view === "inquiry" },
    { href: "#/conversations", text: "Conversations", isHere: view.startsWith("conversation") },
    { href: "#/audit", text: "Audit", isHere: view === "audit" },
  ];
  return (
    <nav aria-label="Main">
      <ul>
        {links.map(({ href, text, isHere }) => (
          <li key={href}>
            <a href={href} aria-current={isHere ? "page" : undefined}>
              {text}
              {href === "#/" && count > 0 && <span class="count">{count}</span>}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const CONNECTIONS: Readonly<Record<Connection, string>> = {
  connecting: "Connecting …",
  live: "Live",
  lost: "Connection lost, retrying …",
};

function ConnectionState({ connection }: { readonly connection: Connection }): VNode {
  return (
    <span class={`connection connection-${connection}`} role="status">
      {CONNECTIONS[connection]}
    </span>
  );
}

function View({ route }: { readonly route: Route }): VNode {
  switch (route.view) {
    case "inbox":
      return <Inbox />;
    case "inquiry":
      return <InquiryView key={keyOf(route)} address={route} />;
    case "conversations":
      return <Conversations />;
    case "conversation":
      return <ConversationView key={keyOf({ ...route, id: "" })} address={route} />;
    case "audit":
      return <Audit />;
    case "unknown":
      return (
        <>
          <Title>Not found</Title>
          <p>
            This page does not exist. <a href="#/">Go to the inbox</a>.
          </p>
        </>
      );
    default:
      return route satisfies never;
  }
}

function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const onChange = () => {
      const isCode = (loginCode(location.hash) ?? passkeyCode(location.hash)) !== undefined;
      if (!isCode) setRoute(parseRoute(location.hash));
    };
    window.addEventListener("hashchange", onChange);
    return () => window.removeEventListener("hashchange", onChange);
  }, []);
  return route;
}

/** Moves screen readers and the keyboard to the new view's heading. */
function useFocusOnChange(route: Route): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    window.scrollTo(0, 0);
    document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
  }, [JSON.stringify(route)]);
}
